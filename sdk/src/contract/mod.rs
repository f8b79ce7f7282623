//! Contracts: which document an evaluator is written against.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
pub(crate) mod outcome;

pub use adk::{Adk, AdkOutcome};
pub use agenta::Agenta;
pub use agentv::AgentV;

use std::borrow::Cow;

use evaluator_protocol::{Answer, Contract as Name, Document, EvalResult, JsonObject, Score};
use serde_json::Value;

use crate::failure::{CONFIG, Failure, Kind, Rejection};

/// A contract: the document that an evaluator written against it sees, and the answer that it gives.
///
/// `#[evaluator(contract = ..)]` chooses one; [`Agentevals`] is the default. The trait is sealed.
pub trait Contract: sealed::Sealed + Sized + 'static {
    /// Which one it is.
    const NAME: Name;

    /// The document.
    type Input;

    /// The answer.
    type Output;

    /// Returns the document as this contract has it.
    #[doc(hidden)]
    fn adopt(document: Document, evaluator: &str) -> Result<Self::Input, Rejection>;

    /// Number of turns, where an answer must not have another number of scores.
    #[doc(hidden)]
    fn turns(_input: &Self::Input) -> Option<usize> {
        None
    }

    /// Checks an answer to a document with that many turns.
    #[doc(hidden)]
    fn check(_output: &Self::Output, _turns: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns an answer that contains only a score.
    #[doc(hidden)]
    fn scored(score: Score) -> Self::Output;

    /// Returns the answer as one of any contract.
    #[doc(hidden)]
    fn answer(output: Self::Output) -> Answer;
}

/// The contract of agentevals: [`EvalInput`](crate::EvalInput) in, [`EvalResult`] out.
///
/// Documents of the other contracts are converted to its own, and answered in the terms of the host that sent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agentevals {}

/// A contract whose documents carry the evaluator's config.
pub trait HasConfig: Contract {
    /// Path in the document.
    #[doc(hidden)]
    const PATH: &'static str = CONFIG;

    /// Returns the config, if any.
    #[doc(hidden)]
    fn config(input: &Self::Input) -> Option<&JsonObject>;
}

/// A contract whose evaluators take their arguments by name, as its Python functions do.
pub trait HasParameters: Contract {
    /// Returns the value of that name, if any.
    #[doc(hidden)]
    fn parameter<'a>(input: &'a Self::Input, name: &str) -> Option<Cow<'a, Value>>;

    /// Returns the value to read the argument from if [`parameter`](Self::parameter) cannot be read.
    #[doc(hidden)]
    fn instead(_input: &Self::Input, _name: &str) -> Option<Value> {
        None
    }
}

/// Returns a document of the wrong contract.
fn foreign(document: &Document, expected: Name) -> Rejection {
    let reason = format!(
        "this evaluator is written against the contract `{expected}`, and the document is one of `{}`; an evaluator of the \
         default contract reads both",
        document.contract()
    );
    Rejection::new("", reason)
}

/// Checks that a result has a score for each turn, or none.
fn check_turns(result: &EvalResult, turns: usize) -> Result<(), Failure> {
    let wrong = |count| Failure::of(Kind::Answer, format!("per_invocation_scores: {count}"));
    result.check_turns(turns).map_err(wrong)
}

mod sealed {
    pub trait Sealed {}
}
