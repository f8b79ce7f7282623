//! Does the agent say exactly what was expected? The first custom metric of ADK's guide.

use std::process::ExitCode;

use evaluator_sdk::{
    Score, evaluator,
    protocol::adk::{
        ConversationScenario, EvalMetric, EvalStatus, EvaluationResult, Invocation,
        PerInvocationResult,
    },
};

/// Compares the text of every final response with that of the expected one, and passes if enough of them are the same.
#[evaluator(contract = adk)]
fn exact_match(
    eval_metric: &EvalMetric,
    actual_invocations: &[Invocation],
    expected_invocations: Option<Vec<Invocation>>,
    _conversation_scenario: Option<ConversationScenario>,
) -> Result<EvaluationResult, String> {
    let expected = expected_invocations.unwrap_or_default();
    if expected.is_empty() {
        // A scenario has no expected turns. ADK shows the 0 next to the status.
        return Ok(EvaluationResult::new(Score::ZERO, EvalStatus::NotEvaluated));
    }
    if expected.len() != actual_invocations.len() {
        let (actual, expected) = (actual_invocations.len(), expected.len());
        return Err(format!("{actual} turns cannot be compared with {expected} expected ones"));
    }
    let mut rows = Vec::new();
    for (actual, expected) in actual_invocations.iter().zip(&expected) {
        rows.push(match text(actual)? == text(expected)? {
            true => PerInvocationResult::new(Score::ONE, EvalStatus::Passed),
            false => PerInvocationResult::new(Score::ZERO, EvalStatus::Failed),
        });
    }
    let mean = Score::mean(rows.iter().filter_map(|row| row.score)).unwrap_or(Score::ZERO);
    Ok(EvaluationResult::new(mean, eval_metric.status_of(mean)).rows(rows))
}

/// The parts of the final response in one. A picture, or no response at all, cannot be compared with a text.
fn text(turn: &Invocation) -> Result<String, String> {
    let id = &turn.invocation_id;
    let response = turn.final_response.as_ref();
    let parts = response.ok_or_else(|| format!("the turn `{id}` has no final response"))?.parts();
    let texts: Option<String> = parts.iter().map(|part| part.text.as_deref()).collect();
    texts.ok_or_else(|| format!("the final response of the turn `{id}` is not all text"))
}

fn main() -> ExitCode {
    exact_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::protocol::adk::{Content, FunctionCall, Part};

    use super::*;

    fn judge(
        threshold: f64,
        turns: &[Invocation],
        expected: Option<&[Invocation]>,
    ) -> Result<EvaluationResult, String> {
        let metric = EvalMetric::new("exact_match").with_threshold(threshold);
        exact_match(&metric, turns, expected.map(<[_]>::to_vec), None)
    }

    fn said(parts: impl IntoIterator<Item = Part>) -> Invocation {
        let mut turn = Invocation::new("When?", "");
        turn.invocation_id = "when".to_owned();
        turn.final_response = Some(Content::from_parts(parts));
        turn
    }

    #[test]
    fn the_status_is_by_the_mean_over_the_turns() {
        let turns = [Invocation::new("When?", "At noon."), Invocation::new("Where?", "Here.")];
        let others = [Invocation::new("When?", "At noon."), Invocation::new("Where?", "There.")];

        let same = judge(0.8, &turns, Some(&turns)).unwrap();
        let half = judge(0.8, &turns, Some(&others)).unwrap();

        assert_eq!(
            (same.overall_score, same.overall_eval_status),
            (Some(Score::ONE), EvalStatus::Passed)
        );
        assert_eq!(half.overall_score, Some(Score::ratio(1, 2)));
        assert_eq!(half.overall_eval_status, EvalStatus::Failed);
        assert_eq!(
            judge(0.5, &turns, Some(&others)).unwrap().overall_eval_status,
            EvalStatus::Passed
        );
    }

    #[test]
    fn a_turn_passes_by_itself_whatever_the_threshold_is() {
        let turns = [Invocation::new("When?", "At noon."), Invocation::new("Where?", "Here.")];
        let others = [Invocation::new("When?", "At noon."), Invocation::new("Where?", "There.")];
        for threshold in [-1.0, 0.0, 1.0, 2.0] {
            let rows = judge(threshold, &turns, Some(&others)).unwrap().per_invocation_results;
            let statuses: Vec<EvalStatus> = rows.iter().map(|row| row.eval_status).collect();
            assert_eq!(statuses, [EvalStatus::Passed, EvalStatus::Failed], "{threshold}");
        }
    }

    #[test]
    fn parts_are_joined_as_they_are() {
        let parts = said(["At ", "noon.", ""].map(Part::from_text));

        let result = judge(1.0, &[parts], Some(&[said([Part::from_text("At noon.")])])).unwrap();

        assert_eq!(result.overall_eval_status, EvalStatus::Passed);
    }

    #[test]
    fn without_expected_turns_nothing_is_evaluated() {
        for expected in [None, Some(&[][..])] {
            let result = judge(0.8, &[Invocation::new("When?", "At noon.")], expected).unwrap();

            assert_eq!(result.overall_eval_status, EvalStatus::NotEvaluated);
            assert_eq!(result.overall_score, Some(Score::ZERO));
        }
    }

    #[test]
    fn what_is_no_text_cannot_be_compared() {
        let expected = [said([Part::from_text("At noon.")])];
        let mut silent = said([]);
        silent.final_response = None;
        let calls = said([Part::from_function_call(FunctionCall::new("clock"))]);

        assert_eq!(
            judge(0.8, &[silent], Some(&expected)).unwrap_err(),
            "the turn `when` has no final response"
        );
        assert_eq!(
            judge(0.8, &[calls], Some(&expected)).unwrap_err(),
            "the final response of the turn `when` is not all text"
        );
        let nothing = judge(0.8, &[said([])], Some(&[said([])])).unwrap();
        assert_eq!(nothing.overall_eval_status, EvalStatus::Passed);
    }

    #[test]
    fn turns_that_do_not_belong_together_are_an_error() {
        let error = judge(0.8, &[], Some(&[Invocation::default()])).unwrap_err();

        assert_eq!(error, "0 turns cannot be compared with 1 expected ones");
    }
}
