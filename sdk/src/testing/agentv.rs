//! Helpers for the tests of AgentV's judges.
//!
//! A [`CodeJudgeInput`] is made with [`CodeJudgeInput::new`] and its `with_` methods, in the terms of the documented contract.
//!
//! ```
//! use evaluator_sdk::{Score, agentv::{CodeJudgeInput, CodeJudgeResult}, evaluator, testing};
//!
//! /// Is the question taken up?
//! #[evaluator(contract = agentv)]
//! fn on_topic(input: &CodeJudgeInput) -> Result<CodeJudgeResult, &'static str> {
//!     let (question, answer) = input.question().zip(input.candidate_answer()).ok_or("there is nothing to compare")?;
//!     let words: Vec<&str> = question.split_whitespace().collect();
//!     let (hits, misses): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| answer.contains(**word));
//!     let score = Score::checked_ratio(hits.len(), words.len()).ok_or("the question is empty")?;
//!     Ok(CodeJudgeResult::new(score).with_hits(hits).with_misses(misses))
//! }
//!
//! let input = CodeJudgeInput::new("capital of France", "The capital of France is Paris.");
//! assert_eq!(on_topic(&input)?.hits(), ["capital", "of", "France"]);
//! testing::agentv::assert_score(&testing::agentv::run(&on_topic::EVALUATOR, &input)?, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use evaluator_protocol::{
    Contract,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    decode,
};

use super::{line_of, unwritable};
use crate::{
    evaluator::Evaluator,
    failure::{Failure, Kind},
    program::Choice,
};

/// Evaluates an input as the program would, in this process. Evaluators of the default contract are supported as well,
/// to test the conversion of their results.
///
/// # Errors
///
/// The errors of the program: [`Failure`] when an argument cannot be extracted from the input, the evaluator returns an
/// error or panics, its result cannot be written, or it does not judge this conversation.
pub fn run(evaluator: &Evaluator, input: &CodeJudgeInput) -> Result<CodeJudgeResult, Failure> {
    let document = serde_json::to_vec(input).map_err(|error| {
        Failure::of(Kind::Input, format!("the input cannot be written as JSON: {error}"))
    })?;
    // A document made for a test may lack the keys that its contract is detected by.
    let choice = Choice::one(evaluator).of_contract(Contract::AgentV);
    decode(&line_of(choice, &document)?).map_err(|error| unwritable(&error))
}

/// Asserts that a result has this score, but for rounding (1e-9).
///
/// # Panics
///
/// If the result has another score. The message has the hits, the misses and the reasoning.
#[track_caller]
pub fn assert_score(result: &CodeJudgeResult, expected: f64) {
    let score = result.score.get();
    assert!(
        (score - expected).abs() <= 1e-9,
        "the score is {score}, expected {expected}\n  hits: {:?}\n  misses: {:?}\n  reasoning: {}",
        result.hits(),
        result.misses(),
        result.reasoning.as_deref().unwrap_or("none"),
    );
}
