//! Conversions of the return types of evaluators.

use std::error::Error;

use evaluator_protocol::Score;

use super::{Agentevals, Contract};
use crate::failure::{Failure, Kind};

/// A type that an evaluator may return.
///
/// | type | meaning |
/// |---|---|
/// | [`EvalResult`](crate::EvalResult) | the answer itself; under another contract [`CodeJudgeResult`](crate::agentv::CodeJudgeResult), [`EvaluationResult`](crate::protocol::adk::EvaluationResult), [`EvaluateResult`](crate::agenta::EvaluateResult) |
/// | `EvalResult` under the contract of ADK | the result of an evaluator of the default contract |
/// | [`Outputs`](crate::agenta::Outputs), [`JsonObject`](crate::JsonObject), [`serde_json::Value`] | under the contract of Agenta: metrics of your own, a text or a list |
/// | [`Score`] | the score and nothing else |
/// | `f64` | the same, checked: anything but a finite number in `0.0..=1.0` is an error |
/// | `bool` | 1 or 0 |
/// | `Result<T, E>` | one of these, or any error: the evaluator could not judge, which is neither a pass nor a score of 0 |
///
/// `M` distinguishes implementations; leave it out when you implement the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an evaluator returns",
    label = "cannot be turned into an answer",
    note = "return `EvalResult` (under `contract = agentv`: `CodeJudgeResult`, `adk`: `EvaluationResult`, `agenta`: \
            `EvaluateResult`), `Score`, `f64`, `bool`, or a `Result` of one of these with any error type"
)]
pub trait IntoOutcome<C: Contract = Agentevals, M = ()> {
    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the evaluator could not judge or its result cannot be written.
    fn into_outcome(self) -> Result<C::Output, Failure>;
}

#[diagnostic::do_not_recommend]
impl<C: Contract> IntoOutcome<C> for Score {
    fn into_outcome(self) -> Result<C::Output, Failure> {
        Ok(C::scored(self))
    }
}

#[diagnostic::do_not_recommend]
impl<C: Contract> IntoOutcome<C> for f64 {
    fn into_outcome(self) -> Result<C::Output, Failure> {
        match Score::new(self) {
            Ok(score) => Ok(C::scored(score)),
            Err(error) => Err(Failure::of(Kind::Answer, error.to_string())),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: Contract> IntoOutcome<C> for bool {
    fn into_outcome(self) -> Result<C::Output, Failure> {
        Ok(C::scored(Score::from(self)))
    }
}

impl<C: Contract, T: IntoOutcome<C, A>, E: IntoFailure<B>, A, B> IntoOutcome<C, (A, B)>
    for Result<T, E>
{
    fn into_outcome(self) -> Result<C::Output, Failure> {
        self.map_err(E::into_failure)?.into_outcome()
    }
}

/// A type that an evaluator may return as its error.
///
/// That is every type that `?` turns into a `Box<dyn Error + Send + Sync>` (all error types, `String`, `&str`,
/// `anyhow::Error`), and `Box<dyn Error>` itself. [`Failure`] keeps its kind.
///
/// `M` distinguishes implementations; leave it out when you implement the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that an evaluator can return",
    label = "not an error type",
    note = "return a type that implements `std::error::Error`, or `Box<dyn Error>`, `anyhow::Error` or `String`"
)]
pub trait IntoFailure<M = ()> {
    /// Returns the error as a message with its causes.
    fn into_failure(self) -> Failure;
}

/// Marks errors that can be sent to other threads.
#[doc(hidden)]
#[derive(Debug)]
pub enum Sendable {}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> IntoFailure<Sendable> for E {
    fn into_failure(self) -> Failure {
        Failure::from_error(&*self.into())
    }
}

#[diagnostic::do_not_recommend]
impl IntoFailure for Box<dyn Error> {
    fn into_failure(self) -> Failure {
        Failure::from_error(&*self)
    }
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::EvalResult;

    use super::*;

    fn outcome<T: IntoOutcome<Agentevals, M>, M>(value: T) -> Result<f64, String> {
        judged(value).map(|result| result.score.get()).map_err(|failure| failure.to_string())
    }

    fn judged<T: IntoOutcome<Agentevals, M>, M>(value: T) -> Result<EvalResult, Failure> {
        value.into_outcome()
    }

    #[test]
    fn converts_every_listed_type() {
        assert_eq!(outcome(0.25), Ok(0.25));
        assert_eq!(outcome(true), Ok(1.0));
        assert_eq!(outcome(Score::ratio(1, 2)), Ok(0.5));
        assert_eq!(outcome(EvalResult::new(Score::ONE)), Ok(1.0));
        assert_eq!(outcome(Ok::<_, std::fmt::Error>(false)), Ok(0.0));
    }

    #[test]
    fn converts_every_kind_of_error() {
        let text = |message: &str| Err(message.to_owned());
        assert_eq!(outcome(Err::<bool, _>("text")), text("text"));
        assert_eq!(outcome(Err::<bool, _>(String::from("owned"))), text("owned"));
        assert_eq!(outcome(Err::<bool, Box<dyn Error>>("boxed".into())), text("boxed"));
        assert_eq!(outcome(Err::<bool, Box<dyn Error + Send + Sync>>("sent".into())), text("sent"));
        assert_eq!(outcome("x".parse::<f64>()), text("invalid float literal"));
    }

    #[test]
    fn a_failure_keeps_its_kind_through_a_box() {
        let boxed: Box<dyn Error> = Failure::new("own", "why").into();
        let failure = judged(Err::<bool, _>(boxed)).unwrap_err();
        assert_eq!((failure.kind(), failure.message()), ("own", "why"));
    }

    #[test]
    fn numbers_that_are_no_scores_are_errors_of_the_answer() {
        for value in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            assert_eq!(judged(value).unwrap_err().kind(), "answer", "{value}");
        }
    }
}
