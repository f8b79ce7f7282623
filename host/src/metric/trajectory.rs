//! `tool_trajectory_avg_score`.

use super::{
    MatchType, Metric, MetricInput,
    align::{mean_over_turns, reference},
};
use crate::{
    conversation::{ToolCall, Turn},
    eval_set::{ExpectedCall, ExpectedTurn},
    json::{Object, Value, python_eq},
    verdict::Verdict,
};

/// Scores a turn 1 if the agent called the expected tools with the expected arguments, else 0.
///
/// Names and arguments count; ids and results do not. Arguments are equal as in Python: `1`, `1.0` and `true` are, an
/// object without arguments and no arguments at all are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolTrajectory;

impl Metric for ToolTrajectory {
    fn name(&self) -> &str {
        "tool_trajectory_avg_score"
    }

    fn description(&self) -> &str {
        "Share of the turns that called the expected tools with the expected arguments."
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        let expected = match reference(input) {
            Ok(expected) => expected,
            Err(not_evaluated) => return Verdict::Answer(not_evaluated),
        };
        let comparisons: Vec<Comparison<'_>> = input
            .turns
            .iter()
            .zip(expected)
            .map(|(turn, expected)| {
                Comparison::new(turn, expected, input.settings.trajectory_match_type)
            })
            .collect();
        let mut matched = comparisons.iter().map(|comparison| comparison.matched);
        let details = Object::from_iter([(
            "comparisons".to_owned(),
            Value::Array(comparisons.iter().map(Comparison::to_value).collect()),
        )]);
        Verdict::Answer(mean_over_turns(input.turns, expected, details, |_| {
            if matched.next() == Some(true) { 1.0 } else { 0.0 }
        }))
    }
}

/// A call by what counts.
#[derive(Debug)]
struct Call<'a> {
    name: &'a str,
    args: Value,
}

impl<'a> Call<'a> {
    /// An actual call. Arguments are always an object: none become an empty one, anything else its member `value`.
    fn actual(call: &'a ToolCall) -> Self {
        let args = match &call.arguments {
            Value::Null => Value::Object(Object::new()),
            arguments @ Value::Object(_) => arguments.clone(),
            other => Value::Object(Object::from_iter([("value".to_owned(), other.clone())])),
        };
        Self { name: &call.name, args }
    }

    fn expected(call: &'a ExpectedCall) -> Self {
        Self { name: &call.name, args: call.args.clone() }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && python_eq(&self.args, &other.args)
    }

    fn to_value(&self) -> Value {
        Value::Object(Object::from_iter([
            ("name".to_owned(), Value::String(self.name.to_owned())),
            ("args".to_owned(), self.args.clone()),
        ]))
    }
}

/// A turn, its golden turn, and whether they match.
#[derive(Debug)]
struct Comparison<'a> {
    invocation_id: &'a str,
    actual: Vec<Call<'a>>,
    expected: Vec<Call<'a>>,
    matched: bool,
}

impl<'a> Comparison<'a> {
    fn new(turn: &'a Turn, expected: &'a ExpectedTurn, match_type: MatchType) -> Self {
        let actual: Vec<_> = turn.tool_calls.iter().map(Call::actual).collect();
        let expected: Vec<_> = expected.tool_calls.iter().map(Call::expected).collect();
        let matched = matches(match_type, &actual, &expected);
        Self { invocation_id: &turn.span_id, actual, expected, matched }
    }

    fn to_value(&self) -> Value {
        let calls = |calls: &[Call<'_>]| Value::Array(calls.iter().map(Call::to_value).collect());
        Value::Object(Object::from_iter([
            ("invocation_id".to_owned(), Value::String(self.invocation_id.to_owned())),
            ("expected".to_owned(), calls(&self.expected)),
            ("actual".to_owned(), calls(&self.actual)),
            ("matched".to_owned(), Value::Bool(self.matched)),
        ]))
    }
}

fn matches(match_type: MatchType, actual: &[Call<'_>], expected: &[Call<'_>]) -> bool {
    match match_type {
        MatchType::Exact => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(actual, expected)| actual.is_same(expected))
        }
        MatchType::InOrder => {
            let mut rest = actual.iter();
            expected.iter().all(|expected| rest.any(|actual| actual.is_same(expected)))
        }
        MatchType::AnyOrder => {
            let mut open: Vec<&Call<'_>> = actual.iter().collect();
            expected.iter().all(|expected| {
                let found = open.iter().position(|actual| actual.is_same(expected));
                found.map(|position| open.remove(position)).is_some()
            })
        }
    }
}
