//! Extractors: the arguments of evaluators.

mod config;
mod parts;

pub use config::{Config, ConfigType};
pub use parts::{Expected, Invocations, MetricName, Threshold, Trajectory};

use std::borrow::Borrow;

use evaluator_protocol::{EvalInput, agentv::CodeJudgeInput};
use serde_core::de::DeserializeOwned;

use crate::{
    context::Context,
    contract::{AgentV, Agentevals, Contract},
    failure::Rejection,
};

/// A type that an evaluator may take as an argument, under the contract `C`.
///
/// | type | value |
/// |---|---|
/// | `&EvalInput` | the document |
/// | `EvalInput` | the document, owned; costs a copy when there are other arguments |
/// | [`Config<T>`](Config) | the document's config as a type of yours |
/// | [`Invocations`] | the turns |
/// | [`Trajectory`] | the turns, to judge their tool calls; "not evaluated" if the host does not report tool calls |
/// | [`Expected`] | the golden turns; "not evaluated" without any |
/// | [`Threshold`] | the score from which on the host counts a pass |
/// | [`MetricName`] | the name of the evaluator in the host's configuration |
/// | `TargetClient` | a model that the host offers (feature `target`); an error where it offers none |
/// | `Option<T>` of these | `None` if the document has no value: no golden turns, unknown tool calls, an empty config, no model |
///
/// Judges of AgentV (`contract = agentv`) take `&CodeJudgeInput`, `CodeJudgeInput`, `Config<T>` and `Option<Config<T>>`, see
/// [`agentv`](crate::agentv).
///
/// Implement it for your own types, to share code between evaluators:
///
/// ```
/// use evaluator_sdk::{Context, EvalInput, FromInput, Rejection, evaluator};
///
/// /// The agent's last answer.
/// struct Answer<'a>(&'a str);
///
/// impl<'a> FromInput<'a> for Answer<'a> {
///     fn from_input(context: &'a Context) -> Result<Self, Rejection> {
///         let last = context.input().invocations.last().and_then(|turn| turn.final_response.as_deref());
///         last.map(Self).ok_or_else(|| Rejection::new("invocations", "the last turn has no answer"))
///     }
/// }
///
/// #[evaluator]
/// fn polite(answer: Answer<'_>) -> bool {
///     answer.0.contains("please")
/// }
/// # assert!(polite(Answer("please wait")));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument that an evaluator can take",
    label = "not a part of the document",
    note = "take `&EvalInput` (under `contract = agentv`: `&CodeJudgeInput`), `Config<T>`, `Invocations`, `Trajectory`, `Expected`, `Threshold`, `MetricName`, an `Option` of one of \
            these, or a type of your own that implements `FromInput`"
)]
pub trait FromInput<'a, C: Contract = Agentevals>: Sized {
    /// Takes the argument from the document.
    ///
    /// # Errors
    ///
    /// [`Rejection`] when the document does not have it or not in the right form.
    fn from_input(context: &'a Context<C>) -> Result<Self, Rejection>;

    /// Extracts the argument if the document has a value for it, for `Option<Self>`.
    ///
    /// # Errors
    ///
    /// [`Rejection`] when the document has it, but not in the right form.
    fn from_input_if_present(context: &'a Context<C>) -> Result<Option<Self>, Rejection> {
        Self::from_input(context).map(Some)
    }

    /// Extracts the only argument of an evaluator. It may take any part out of the document.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FromInput::from_input`].
    fn from_only_input(context: &'a mut Context<C>) -> Result<Self, Rejection> {
        Self::from_input(context)
    }
}

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a> for &'a EvalInput {
    fn from_input(context: &'a Context) -> Result<Self, Rejection> {
        Ok(context.input())
    }
}

#[diagnostic::do_not_recommend]
impl FromInput<'_> for EvalInput {
    fn from_input(context: &Context) -> Result<Self, Rejection> {
        Ok(context.input().clone())
    }

    fn from_only_input(context: &mut Context) -> Result<Self, Rejection> {
        Ok(std::mem::take(context.input_mut()))
    }
}

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a, AgentV> for &'a CodeJudgeInput {
    fn from_input(context: &'a Context<AgentV>) -> Result<Self, Rejection> {
        Ok(context.input())
    }
}

#[diagnostic::do_not_recommend]
impl FromInput<'_, AgentV> for CodeJudgeInput {
    fn from_input(context: &Context<AgentV>) -> Result<Self, Rejection> {
        Ok(context.input().clone())
    }

    fn from_only_input(context: &mut Context<AgentV>) -> Result<Self, Rejection> {
        Ok(std::mem::take(context.input_mut()))
    }
}

impl<'a, C: Contract, T: FromInput<'a, C>> FromInput<'a, C> for Option<T> {
    fn from_input(context: &'a Context<C>) -> Result<Self, Rejection> {
        T::from_input_if_present(context)
    }
}

/// The type of an argument that is matched by name: any type that implements `serde::Deserialize` and borrows nothing,
/// and with a `&` before it also `str` and `[T]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the document",
    label = "does not implement `serde::Deserialize`, or borrows",
    note = "take the contract's own type, `serde_json::Value`, or a type of yours with `#[derive(serde::Deserialize)]` that \
            owns its texts"
)]
pub trait ParameterType: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ParameterType for T {}

/// The type behind the `&` of an argument that is matched by name. It is read as `Owned` and borrowed.
pub trait Referred {
    /// The type that is read.
    type Owned: Borrow<Self>;
}

#[diagnostic::do_not_recommend]
impl<T> Referred for T {
    type Owned = T;
}

#[diagnostic::do_not_recommend]
impl Referred for str {
    type Owned = String;
}

#[diagnostic::do_not_recommend]
impl<T> Referred for [T] {
    type Owned = Vec<T>;
}
