//! Single parts of the document.

use std::{fmt, ops::Deref};

use evaluator_protocol::InvocationData;

use super::FromInput;
use crate::{context::Context, failure::Rejection};

/// The score from which on the host counts the evaluation as passed; 0.5 when the document has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold(
    /// The threshold.
    pub f64,
);

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[diagnostic::do_not_recommend]
impl FromInput<'_> for Threshold {
    fn from_input(context: &Context) -> Result<Self, Rejection> {
        Ok(Self(context.input().threshold))
    }
}

/// The name of the evaluator in the host's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricName<'a>(
    /// The name.
    pub &'a str,
);

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a> for MetricName<'a> {
    fn from_input(context: &'a Context) -> Result<Self, Rejection> {
        Ok(Self(&context.input().metric_name))
    }
}

impl fmt::Display for MetricName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Deref for MetricName<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

/// The turns of the conversation, in order.
///
/// ```
/// use evaluator_sdk::{EvalResult, Invocations, Score, evaluator};
///
/// #[evaluator]
/// fn answered(turns: Invocations<'_>) -> EvalResult {
///     EvalResult::mean_of(turns.iter().map(|turn| {
///         let answer = turn.final_response.as_deref().unwrap_or_default();
///         Score::from(!answer.trim().is_empty())
///     }))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Invocations<'a>(
    /// The turns.
    pub &'a [InvocationData],
);

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a> for Invocations<'a> {
    fn from_input(context: &'a Context) -> Result<Self, Rejection> {
        Ok(Self(&context.input().invocations))
    }
}

/// The turns of the conversation, in order, for evaluators that judge which tools were called in them.
///
/// A document of another host that does not report tool calls is "not evaluated", because turns without calls do not show
/// what the agent did there. `Option<Trajectory>` is `None` for such a document.
///
/// ```
/// use evaluator_sdk::{Trajectory, evaluator};
///
/// #[evaluator]
/// fn frugal(turns: Trajectory<'_>) -> bool {
///     turns.iter().all(|turn| turn.intermediate_steps.tool_calls.len() <= 3)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trajectory<'a>(
    /// The turns.
    pub &'a [InvocationData],
);

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a> for Trajectory<'a> {
    fn from_input(context: &'a Context) -> Result<Self, Rejection> {
        Self::from_input_if_present(context)?.ok_or_else(|| {
            Rejection::absence(
                "invocations",
                "this evaluator judges tool calls, which the host does not report",
            )
        })
    }

    fn from_input_if_present(context: &'a Context) -> Result<Option<Self>, Rejection> {
        let input = context.input();
        Ok(input.tool_calls_known.then_some(Self(&input.invocations)))
    }
}

/// The golden turns, in order.
///
/// A conversation without golden turns is "not evaluated": there is nothing to compare it with. `Option<Expected>` is `None`
/// then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected<'a>(
    /// The golden turns.
    pub &'a [InvocationData],
);

#[diagnostic::do_not_recommend]
impl<'a> FromInput<'a> for Expected<'a> {
    fn from_input(context: &'a Context) -> Result<Self, Rejection> {
        Self::from_input_if_present(context)?.ok_or_else(|| {
            Rejection::absence(
                "expected_invocations",
                "this evaluator compares with golden turns, and the document has none (they come from an eval set)",
            )
        })
    }

    fn from_input_if_present(context: &'a Context) -> Result<Option<Self>, Rejection> {
        Ok(context.input().expected_invocations.as_deref().map(Self))
    }
}

macro_rules! turns {
    ($($name:ident),*) => {$(
        impl Deref for $name<'_> {
            type Target = [InvocationData];

            fn deref(&self) -> &[InvocationData] {
                self.0
            }
        }

        impl<'a> IntoIterator for $name<'a> {
            type Item = &'a InvocationData;
            type IntoIter = std::slice::Iter<'a, InvocationData>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }
    )*};
}

turns!(Invocations, Trajectory, Expected);
