//! Evaluators in a crate of an older edition.

use evaluator_sdk::{evaluator, testing, Config, EvalInput, Invocations, Score};

mod core {}
mod std {}

#[evaluator]
fn plain(input: &EvalInput, Config(limit): Config<Option<u8>>) -> Result<bool, String> {
    Ok(input.invocations.len() < usize::from(limit.unwrap_or(2)))
}

#[evaluator]
async fn waits(turns: Invocations<'_>) -> Score {
    Score::ratio(turns.len(), 2)
}

#[test]
fn both_run() {
    let input = testing::input("m").turn("a", "b");
    let failure = testing::run(&plain::EVALUATOR, &input).unwrap_err();
    assert!(failure.message().starts_with("config: "), "{failure}");
    testing::assert_score(&testing::run(&waits::EVALUATOR, &input).unwrap(), 0.5);
}
