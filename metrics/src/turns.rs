//! Tool calls and turns as metrics compare them.

use std::borrow::Cow;

use evaluator_json::{Object, Value, count, object, python_eq};

use super::{MetricInput, Outcome, Scored};
use evaluator_traces::{
    conversation::{ToolCall, Turn, TurnPart},
    eval_set::{ExpectedCall, ExpectedTurn},
};

/// Name and arguments of a tool call. Ids and results are not compared.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    /// `None` if an eval set does not name the tool.
    pub(super) name: Option<&'a str>,
    pub(super) args: Cow<'a, Value>,
}

impl<'a> Call<'a> {
    /// Converts a recorded call.
    pub(super) fn actual(call: &'a ToolCall) -> Self {
        Self { name: Some(&call.name), args: arguments(call) }
    }

    /// Converts an expected call. Its arguments are an object, or `Null` if the eval set has none.
    pub(super) fn expected(call: &'a ExpectedCall) -> Self {
        Self { name: call.name.as_deref(), args: Cow::Borrowed(&call.args) }
    }

    /// Returns the name, empty if the tool is not named.
    pub(super) fn name(&self) -> &'a str {
        self.name.unwrap_or_default()
    }

    pub(super) fn is_same(&self, other: &Self, ignore_args: bool) -> bool {
        self.name == other.name && (ignore_args || python_eq(&self.args, &other.args))
    }

    pub(super) fn to_value(&self) -> Value {
        let name = self.name.map_or(Value::Null, Value::from);
        object([("name", name), ("args", self.args.clone().into_owned())])
    }
}

/// Returns the arguments of a recorded call as an object: none as an empty one, any other value as its member `value`.
pub fn arguments(call: &ToolCall) -> Cow<'_, Value> {
    match &call.arguments {
        arguments @ Value::Object(_) => Cow::Borrowed(arguments),
        Value::Null => Cow::Owned(object([])),
        other => Cow::Owned(object([("value", other.clone())])),
    }
}

/// Scores each turn that has a golden turn of the same number; the score is their mean.
///
/// It is not evaluated if a producer did not record one of the `parts` that are compared. Turns without a counterpart are counted in the details and do not change the score.
pub(super) fn mean_over_turns<'a>(
    input: &MetricInput<'a>,
    parts: &[TurnPart],
    score: impl FnMut((&'a Turn, &'a ExpectedTurn)) -> f64,
) -> Outcome {
    let expected = match input.comparable_turns(parts) {
        Ok(expected) => expected,
        Err(not_evaluated) => return not_evaluated,
    };
    let scores: Vec<f64> = input.turns.iter().zip(expected).map(score).collect();
    if scores.is_empty() {
        return Outcome::not_evaluated("no turns to compare");
    }
    let mut details = Object::default();
    let (recorded, golden) = (input.turns.len(), expected.len());
    if recorded != golden {
        details.insert("missing_turns".to_owned(), count(golden.saturating_sub(recorded)));
        details.insert("unexpected_turns".to_owned(), count(recorded.saturating_sub(golden)));
    }
    Outcome::Scored(Scored {
        per_turn: scores.iter().copied().map(Some).collect(),
        details: (!details.is_empty()).then_some(details),
        ..Scored::new(mean(&scores))
    })
}

/// Returns the mean of the scores of at least one turn.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 turns")]
pub(super) fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}
