//! Every way to write an evaluator that the documentation allows, and some that only happen.

#![deny(warnings, unreachable_pub, missing_docs)]
mod arguments;
mod attributes;
mod futures;
mod own_argument;
mod paths;
mod patterns;
mod places;
mod returns;
mod turn_scores;
mod types;

use std::marker::PhantomData;

use evaluator_sdk::{
    Config, Context, EvalInput, EvalResult, Expected, Failure, FromInput, IntoOutcome, Invocations,
    MetricName, Rejection, Score, Threshold, evaluator, testing,
};
use serde_json::json;

fn input() -> testing::Input {
    testing::input("metric").turn("question", "answer")
}

fn score(evaluator: &evaluator_sdk::Evaluator) -> f64 {
    testing::run(evaluator, &input()).unwrap().score.get()
}

#[test]
fn reachable_from_two_modules_up() {
    assert_eq!(score(&places::inner::up_two::EVALUATOR), 1.0);
}

#[test]
fn documents_go_the_whole_way() {
    #[evaluator]
    fn count(input: &EvalInput) -> Score {
        Score::ratio(input.invocations.len(), 2)
    }

    let answer = testing::run_json(
        &count::EVALUATOR,
        r#"{"metric_name": "any", "invocations": [{"user_content": "a"}]}"#,
    );
    testing::assert_score(&answer.unwrap(), 0.5);
    let failure = testing::run_json(&count::EVALUATOR, "{}").unwrap_err();
    assert_eq!(failure.kind(), "input");
    assert!(failure.message().starts_with("missing field `metric_name`"), "{failure}");
}

#[test]
fn parts_of_the_document_can_be_printed() {
    assert_eq!(format!("{:>3}, {:.2}", MetricName("x"), Threshold(0.5)), "  x, 0.50");
}
