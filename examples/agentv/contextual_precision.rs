//! Scores how high a retriever ranks what is relevant, by asking the host's model about each of its results.
//!
//! Written against AgentV's contract: the entry needs `target: {max_calls: 10}` (`provider:` since version 5), with as many calls
//! as there are results.

use std::process::ExitCode;

use evaluator_sdk::{
    Failure, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    evaluator,
    target::{Request, TargetClient},
};
use serde_json::Value;

/// What the model is to answer.
#[derive(serde::Deserialize)]
struct Verdict {
    relevant: bool,
}

/// Weighs the relevant results by their ranks: 1 when they come first, less the later they come, 0 when there are none.
#[evaluator(contract = agentv)]
fn contextual_precision(
    input: &CodeJudgeInput,
    target: Option<TargetClient>,
) -> Result<CodeJudgeResult, Failure> {
    let Some(target) = target else {
        // A score, so that the case fails in the host's report with the reason as its miss.
        return Ok(CodeJudgeResult::new(Score::ZERO).miss("Target not configured"));
    };
    let contexts = contexts(input);
    if contexts.is_empty() {
        // Versions from 5 on send no expected messages. Nothing was ranked, so no ranking is bad.
        let message = "there are no results of a retriever in the expected messages";
        return Err(Failure::new("not_evaluated", message));
    }
    let requests = contexts.iter().map(|context| request(input, context));
    let replies = target.invoke_batch(requests).map_err(failed)?;
    let mut relevant = Vec::with_capacity(contexts.len());
    for reply in replies {
        // A model that failed said nothing of the result. One that says something else than it was asked does not find it relevant.
        relevant.push(reply.map_err(failed)?.json().is_ok_and(|verdict: Verdict| verdict.relevant));
    }
    let mut result =
        CodeJudgeResult::new(precision(&relevant)).detail("relevant", relevant.clone());
    for ((rank, context), relevant) in (1..).zip(contexts).zip(&relevant) {
        let context: String = context.chars().take(80).collect();
        result = match relevant {
            true => result.hit(format!("Result {rank} is relevant: {context}")),
            false => result.miss(format!("Result {rank} is not relevant: {context}")),
        };
    }
    Ok(result)
}

/// What the tools of the expected messages found, in order of rank.
fn contexts(input: &CodeJudgeInput) -> Vec<&str> {
    let calls = input.expected_messages().iter().flat_map(|message| &message.tool_calls);
    let results = calls.filter_map(|call| call.output.as_ref()?.get("results")?.as_array());
    results.flatten().filter_map(Value::as_str).collect()
}

fn request(input: &CodeJudgeInput, context: &str) -> Request {
    let question = input.question().unwrap_or_default();
    let outcome = input.expected_outcome().unwrap_or_default();
    Request::new(format!(
        "Does this search result help to answer the question as expected?\n\n\
         Question: {question}\n\nExpected: {outcome}\n\nSearch result: {context}"
    ))
    .system_prompt(r#"Answer with one JSON object and nothing else: {"relevant": true} or {"relevant": false}."#)
}

/// The mean, over the relevant ranks, of the share of relevant results up to there.
fn precision(relevant: &[bool]) -> Score {
    let mut found = 0.0;
    let mut sum = 0.0;
    for (rank, relevant) in (1_u32..).zip(relevant) {
        if *relevant {
            found += 1.0;
            sum += found / f64::from(rank);
        }
    }
    if found == 0.0 { Score::ZERO } else { Score::clamped(sum / found).unwrap_or(Score::ZERO) }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new("target", error.to_string())
}

fn main() -> ExitCode {
    contextual_precision::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{
        agentv::{Message, ToolCall},
        target::{FakeTarget, TargetError},
        testing,
    };
    use serde_json::json;

    use super::*;

    const YES: &str = r#"{"relevant": true}"#;
    const NO: &str = r#"{"relevant": false}"#;

    fn input(results: &[&str]) -> CodeJudgeInput {
        let call = ToolCall::new("search").output(json!({"results": results}));
        CodeJudgeInput::new("Capital of France?", "Paris")
            .with_expected_outcome("Names Paris")
            .with_expected_message(Message::assistant("Searching").tool_call(call))
    }

    fn judged(answers: &[&str]) -> CodeJudgeResult {
        let model = answers.iter().fold(testing::target(), |model, answer| model.answer(*answer));
        let results: Vec<&str> = answers.iter().map(|_| "some text").collect();
        contextual_precision(&input(&results), Some(model.client())).unwrap()
    }

    fn score(answers: &[&str]) -> f64 {
        judged(answers).score.get()
    }

    #[test]
    fn relevant_results_count_more_the_earlier_they_come() {
        assert_eq!(score(&[YES, YES]), 1.0);
        assert_eq!(score(&[YES, NO]), 1.0);
        assert_eq!(score(&[NO, YES]), 0.5);
        assert!((score(&[YES, NO, YES]) - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-9);
        assert_eq!(score(&[NO, NO]), 0.0);
    }

    #[test]
    fn each_result_is_a_row() {
        let result = judged(&[NO, YES]);
        assert_eq!(result.hits(), ["Result 2 is relevant: some text"]);
        assert_eq!(result.misses(), ["Result 1 is not relevant: some text"]);
    }

    #[test]
    fn a_reply_that_cannot_be_read_is_not_relevant() {
        for odd in ["Certainly!", "{}", r#"{"relevant": "yes"}"#, "true", ""] {
            assert_eq!(score(&[odd, YES]), 0.5, "{odd}");
        }
        assert_eq!(score(&["```json\n{\"relevant\": true}\n```"]), 1.0);
    }

    #[test]
    fn all_results_are_asked_about_in_one_batch() {
        let calls = [
            ToolCall::new("search").output(json!({"results": ["a", {"not": "text"}, "b"]})),
            ToolCall::new("search").output(json!({"results": "no list"})),
            ToolCall::new("search").output(json!("nothing")),
            ToolCall::new("search"),
            ToolCall::new("lookup").output(json!({"results": ["c"]})),
        ];
        let message = calls.into_iter().fold(Message::assistant(""), Message::tool_call);
        let input = CodeJudgeInput::new("Question?", "").with_expected_message(message);
        let model = testing::target().answer(YES).answer(YES).answer(YES).max_calls(3);
        contextual_precision(&input, Some(model.client())).unwrap();
        let asked = model.requests();
        assert_eq!(asked.len(), 3);
        for (request, context) in asked.iter().zip(["a", "b", "c"]) {
            assert!(request.question.contains("Question: Question?"), "{}", request.question);
            assert!(request.question.ends_with(&format!("Search result: {context}")));
        }
    }

    #[test]
    fn without_a_target_there_is_a_miss_that_says_so() {
        let result = contextual_precision(&input(&["a"]), None).unwrap();
        assert_eq!((result.score, result.misses()), (Score::ZERO, vec!["Target not configured"]));
    }

    #[test]
    fn what_the_model_did_not_answer_is_an_error() {
        let failure = |model: &FakeTarget, results: &[&str]| {
            contextual_precision(&input(results), Some(model.client())).unwrap_err()
        };
        let boom = TargetError::ProviderFailed { message: "boom".to_owned() };
        let error = failure(&testing::target().answer(YES).fail(boom), &["a", "b"]);
        assert_eq!(error.to_string(), "the target failed: boom");
        let error = failure(&testing::target().max_calls(1), &["a", "b"]);
        assert!(error.to_string().contains("limit of 1 calls"), "{error}");
        let error = failure(&testing::target(), &[]);
        assert_eq!(error.kind(), "not_evaluated");
    }
}
