//! Does the agent's search rank what helps above what does not? A model of the host judges each result.
//!
//! The entry needs `models:` or `target:`, with at least as many calls as a conversation has results. In other hosts the
//! evaluator asks AgentV's target proxy.

use std::{collections::BTreeMap, process::ExitCode};

use evaluator_sdk::{
    Config, EvalResult, Failure, InvocationData, Score, Trajectory, evaluator,
    target::{Request, TargetClient, TargetError},
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The tools that search, each with the key of its results in the response.
    retrievers: BTreeMap<String, String>,
}

/// What the model is to answer.
#[derive(Deserialize)]
struct Verdict {
    /// From 0 (useless) to 1 (just what was needed).
    relevance: Score,
}

const INSTRUCTIONS: &str = "You judge search results. Answer with one JSON object and nothing else: \
    {\"relevance\": NUMBER}, from 0 (useless for the request) to 1 (just what the request needs).";

/// Scores the ranking of search results by their relevance: 1 when the most relevant results come first.
///
/// The score of a turn with the relevances `r1`, `r2`, .. is the mean, weighted by relevance, of the relevance found up to each
/// rank: the sum of `rk * (r1 + .. + rk) / k`, divided by the sum of `rk`. With relevances of 0 and 1 only, this is the usual
/// contextual precision. Results of which none is relevant score 0.
#[evaluator]
fn retrieval_precision(
    turns: Trajectory<'_>,
    Config(settings): Config<Settings>,
    target: Option<TargetClient>,
) -> Result<EvalResult, Failure> {
    let Some(target) = target else {
        return Ok(EvalResult::not_evaluated("the host offers no model to ask"));
    };
    let mut per_turn = Vec::new();
    let mut relevances = Vec::new();
    for turn in turns {
        let results = results(turn, &settings);
        let found = ask(&target, turn, &results).map_err(failed)?;
        per_turn.push((!found.is_empty()).then(|| precision(&found)));
        relevances.push(found);
    }
    Ok(match Score::mean(per_turn.iter().copied().flatten()) {
        Some(score) => {
            EvalResult::new(score).per_invocation_scores(per_turn).detail("relevance", relevances)
        }
        None => EvalResult::not_evaluated("nothing was searched for"),
    })
}

/// What the searches of a turn found, in order of rank. A result that is no list counts as one.
fn results(turn: &InvocationData, settings: &Settings) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let responses = turn.intermediate_steps.tool_responses.iter();
    let found = responses
        .filter_map(|response| response.response.get(settings.retrievers.get(&response.name)?));
    found
        .flat_map(|found| match found {
            Value::Array(results) => results.iter().map(text).collect(),
            one => vec![text(one)],
        })
        .collect()
}

/// Asks about all results in one go. A model that fails, or answers something else, has not judged: that is an error.
fn ask(
    target: &TargetClient,
    turn: &InvocationData,
    results: &[String],
) -> Result<Vec<f64>, TargetError> {
    let request = |result: &String| {
        let question = format!("Request: {}\n\nSearch result: {result}", turn.user_content);
        Request::new(question).system_prompt(INSTRUCTIONS)
    };
    let replies = target.invoke_batch(results.iter().map(request))?;
    replies.into_iter().map(|reply| Ok(reply?.json::<Verdict>()?.relevance.get())).collect()
}

fn precision(relevances: &[f64]) -> Score {
    let (mut found, mut sum) = (0.0, 0.0);
    for (rank, relevance) in (1_u32..).zip(relevances) {
        found += relevance;
        sum += relevance * found / f64::from(rank);
    }
    if found == 0.0 { Score::ZERO } else { Score::clamped(sum / found).unwrap_or(Score::ZERO) }
}

fn failed(error: TargetError) -> Failure {
    Failure::new("target", error.to_string())
}

fn main() -> ExitCode {
    retrieval_precision::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalInput, EvalStatus, testing};
    use serde_json::json;

    use super::*;

    fn settings() -> Config<Settings> {
        Config(Settings { retrievers: [("search".to_owned(), "hits".to_owned())].into() })
    }

    fn input(response: Value) -> EvalInput {
        testing::input("retrieval_precision")
            .turn("When does it leave?", "At six.")
            .tool_response("search", response)
            .turn("Thanks!", "You are welcome.")
            .into()
    }

    fn judged(hits: Value, relevances: &[f64]) -> Result<EvalResult, Failure> {
        let model = relevances.iter().fold(testing::target(), |model, relevance| {
            model.answer(json!({"relevance": relevance}).to_string())
        });
        let input = input(json!({"hits": hits}));
        retrieval_precision(Trajectory(&input.invocations), settings(), Some(model.client()))
    }

    #[test]
    fn relevant_results_count_more_the_earlier_they_come() {
        for (relevances, expected) in [
            (&[1.0, 0.0][..], 1.0),
            (&[0.0, 1.0], 0.5),
            (&[1.0, 0.0, 1.0], (1.0 + 2.0 / 3.0) / 2.0),
            (&[1.0, 0.5], 1.375 / 1.5),
            (&[0.5, 1.0], (0.25 + 0.75) / 1.5),
            (&[0.2], 0.2),
            (&[0.0, 0.0], 0.0),
        ] {
            let hits = relevances.iter().map(|_| "text").collect::<Vec<_>>();
            let result = judged(json!(hits), relevances).unwrap();
            testing::assert_score(&result, expected);
            assert_eq!(result.per_invocation_scores.len(), 2);
            assert_eq!(result.per_invocation_scores[1], None);
            assert_eq!(result.details.unwrap()["relevance"], json!([relevances, []]));
        }
    }

    #[test]
    fn every_result_of_a_turn_is_asked_about() {
        let model = testing::target().answer(r#"{"relevance": 1}"#).answer(r#"{"relevance": 0}"#);
        let input = input(json!({"hits": ["at six", {"at": 7}], "other": ["no"]}));
        let client = Some(model.client());
        retrieval_precision(Trajectory(&input.invocations), settings(), client).unwrap();
        let questions: Vec<_> = model.requests().into_iter().map(|it| it.question).collect();
        let question = |result| format!("Request: When does it leave?\n\nSearch result: {result}");
        assert_eq!(questions, [question("at six"), question(r#"{"at":7}"#)]);
    }

    #[test]
    fn what_is_not_a_list_is_one_result() {
        testing::assert_score(&judged(json!("at six"), &[0.75]).unwrap(), 0.75);
    }

    #[test]
    fn what_the_model_did_not_judge_is_an_error() {
        for odd in ["Certainly!", "{}", r#"{"relevance": "high"}"#, r#"{"relevance": 1.5}"#] {
            let (model, input) = (testing::target().answer(odd), input(json!({"hits": ["x"]})));
            let client = Some(model.client());
            let failure = retrieval_precision(Trajectory(&input.invocations), settings(), client)
                .unwrap_err();
            assert_eq!(failure.kind(), "target", "{odd}");
        }
        let exhausted = testing::target().max_calls(1);
        let input = input(json!({"hits": ["x", "y"]}));
        let client = Some(exhausted.client());
        let failure =
            retrieval_precision(Trajectory(&input.invocations), settings(), client).unwrap_err();
        assert!(failure.to_string().contains("limit of 1 calls"), "{failure}");
    }

    #[test]
    fn without_a_model_or_results_there_is_no_score() {
        let searched = input(json!({"hits": ["x"]}));
        let result = retrieval_precision(Trajectory(&searched.invocations), settings(), None);
        assert_eq!(result.unwrap().status, Some(EvalStatus::NotEvaluated));
        let client = Some(testing::target().client());
        let idle = input(json!({"hits": []}));
        let result = retrieval_precision(Trajectory(&idle.invocations), settings(), client);
        assert_eq!(result.unwrap().status, Some(EvalStatus::NotEvaluated));
    }
}
