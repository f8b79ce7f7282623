//! Does the agent say exactly what was expected? In the terms of Google's ADK.

use std::process::ExitCode;

use evaluator_sdk::{
    Score, evaluator,
    protocol::adk::{ConversationScenario, EvalMetric, EvalStatus, EvaluationResult, Invocation},
};

/// Compares the text of every final response with that of the expected one, and passes if enough of them are the same.
///
/// A turn without a response says nothing, which is the same only where nothing was expected.
#[evaluator(contract = adk)]
fn exact_match(
    eval_metric: &EvalMetric,
    actual_invocations: &[Invocation],
    expected_invocations: Option<Vec<Invocation>>,
    _conversation_scenario: Option<ConversationScenario>,
) -> Result<EvaluationResult, String> {
    let Some(expected) = expected_invocations else {
        // A scenario has no expected turns. ADK shows the 0 beside the status.
        return Ok(EvaluationResult::new(Score::ZERO, EvalStatus::NotEvaluated));
    };
    if expected.len() != actual_invocations.len() {
        let (actual, expected) = (actual_invocations.len(), expected.len());
        return Err(format!("{actual} turns cannot be compared with {expected} expected ones"));
    }
    let text = |turn: &Invocation| turn.final_text().unwrap_or_default();
    let pairs = actual_invocations.iter().zip(&expected);
    let scores = pairs.map(|(actual, expected)| Score::from(text(actual) == text(expected)));
    Ok(EvaluationResult::mean_of(scores, eval_metric))
}

fn main() -> ExitCode {
    exact_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{protocol::adk::Content, testing};
    use serde_json::json;

    use super::*;

    fn judge(turns: &[Invocation], expected: Vec<Invocation>) -> EvaluationResult {
        let metric = EvalMetric::new("exact_match").with_threshold(0.8);
        exact_match(&metric, turns, Some(expected), None).unwrap()
    }

    #[test]
    fn the_status_is_by_the_mean_over_the_turns() {
        let turns = [Invocation::new("When?", "At noon."), Invocation::new("Where?", "Here.")];

        let same = judge(&turns, turns.to_vec());
        let half = judge(
            &turns,
            vec![Invocation::new("When?", "At noon."), Invocation::new("Where?", "There.")],
        );

        assert_eq!(
            (same.overall_score, same.overall_eval_status),
            (Some(Score::ONE), EvalStatus::Passed)
        );
        assert_eq!(half.overall_score, Some(Score::ratio(1, 2)));
        assert_eq!(half.overall_eval_status, EvalStatus::Failed);
        let rows: Vec<_> = half.per_invocation_results.iter().map(|row| row.eval_status).collect();
        assert_eq!(rows, [EvalStatus::Passed, EvalStatus::Failed]);
    }

    #[test]
    fn parts_are_joined_before_they_are_compared() {
        let mut turn = Invocation::new("When?", "");
        let parts = ["At noon.", "Sharp."].map(evaluator_sdk::protocol::adk::Part::from_text);
        turn.final_response = Some(Content::from_parts(parts));

        let result = judge(&[turn], vec![Invocation::new("When?", "At noon.\nSharp.")]);

        assert_eq!(result.overall_eval_status, EvalStatus::Passed);
    }

    #[test]
    fn silence_is_not_the_expected_answer() {
        let silent = Invocation::new("When?", "").unanswered();

        let result = judge(&[silent], vec![Invocation::new("When?", "At noon.")]);

        assert_eq!(result.overall_eval_status, EvalStatus::Failed);
    }

    #[test]
    fn without_expected_turns_nothing_is_evaluated() {
        let metric = EvalMetric::new("exact_match").with_threshold(0.8);

        let result =
            exact_match(&metric, &[Invocation::new("When?", "At noon.")], None, None).unwrap();

        assert_eq!(result.overall_eval_status, EvalStatus::NotEvaluated);
        assert_eq!(result.overall_score, Some(Score::ZERO));
    }

    #[test]
    fn turns_that_do_not_belong_together_are_an_error() {
        let metric = EvalMetric::new("exact_match");

        let error = exact_match(&metric, &[], Some(vec![Invocation::default()]), None).unwrap_err();

        assert_eq!(error, "0 turns cannot be compared with 1 expected ones");
    }

    #[test]
    fn adk_gets_its_document_back_with_a_row_for_each_turn() {
        let turn = |answer: &str| json!({"user_content": {"parts": [{"text": "When?"}]}, "final_response": {"parts": [{"text": answer}]}});
        let document = json!({
            "eval_metric": {"metric_name": "exact_match", "criterion": {"threshold": 0.8}},
            "actual_invocations": [turn("At noon."), turn("At one.")],
            "expected_invocations": [turn("At noon."), turn("At two.")],
            "conversation_scenario": null,
        });

        let answer = testing::answer_json(&exact_match::EVALUATOR, document.to_string()).unwrap();

        assert_eq!(
            answer,
            json!({"overall_score": 0.5, "overall_eval_status": 2, "per_invocation_results": [
                {"score": 1.0, "eval_status": 1}, {"score": 0.0, "eval_status": 2}]})
        );
    }
}
