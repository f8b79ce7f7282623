//! `tool_trajectory_avg_score`.

use std::sync::Arc;

use evaluator_document::Fields;
use evaluator_json::{Value, object};

use super::{
    Metric, MetricInput, Outcome, Scored, Setting,
    turns::{Call, mean_over_turns},
};
use evaluator_traces::conversation::TurnPart;

/// Scores a turn 1 if the agent called the expected tools with the expected arguments, else 0.
///
/// Names and arguments count; ids and results do not. Arguments are compared as Python compares them: `1`, `1.0` and `true`
/// are equal; an object without members and absent arguments are not.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ToolTrajectory {
    /// How tool calls are compared.
    pub match_type: MatchType,
    /// Whether tool calls are equal if their names are; `false` by default.
    pub ignore_args: bool,
}

/// How the tool calls of a turn are compared with the expected ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatchType {
    /// The same calls in the same order, and no others.
    #[default]
    Exact,
    /// The expected calls in their order; there may be others between them.
    InOrder,
    /// The expected calls in any order; there may be others.
    AnyOrder,
}

const SETTINGS: [Setting; 2] = [
    Setting::new(
        MatchType::KEY,
        r#"{"description": "How tool calls are compared with the expected ones.",
            "enum": ["EXACT", "IN_ORDER", "ANY_ORDER"]}"#,
        "trajectory_match_type: EXACT  # or IN_ORDER, ANY_ORDER\n",
    )
    .alias(MatchType::ALIAS),
    Setting::new(
        "ignore_args",
        r#"{"description": "tool_trajectory_avg_score: compare the names of tools only.", "default": false}"#,
        "ignore_args: false  # true: only the names of the tools count\n",
    )
    .alias("ignoreArgs"),
];

impl Metric for ToolTrajectory {
    fn name(&self) -> &str {
        "tool_trajectory_avg_score"
    }

    fn description(&self) -> &str {
        "Share of the turns that called the expected tools with the expected arguments."
    }

    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        Some(Arc::new(Self::read(fields)))
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let parts: &[_] = match self.ignore_args {
            true => &[TurnPart::ToolCalls],
            false => &[TurnPart::ToolCalls, TurnPart::Arguments],
        };
        let mut comparisons = Vec::new();
        let mut outcome = mean_over_turns(input, parts, |(turn, expected)| {
            let actual: Vec<_> = turn.tool_calls.iter().map(Call::actual).collect();
            let expected: Vec<_> = expected.trajectory().map(Call::expected).collect();
            let matched = matches(self.match_type, self.ignore_args, &actual, &expected);
            let calls =
                |calls: &[Call<'_>]| Value::Array(calls.iter().map(Call::to_value).collect());
            comparisons.push(object([
                ("invocation_id", turn.span_id.as_str().into()),
                ("expected", calls(&expected)),
                ("actual", calls(&actual)),
                ("matched", matched.into()),
            ]));
            f64::from(u8::from(matched))
        });
        if let Outcome::Scored(Scored { details, .. }) = &mut outcome {
            let details = details.get_or_insert_default();
            details.shift_insert(0, "comparisons".to_owned(), comparisons.into());
        }
        outcome
    }
}

impl ToolTrajectory {
    fn read(fields: &mut Fields<'_>) -> Self {
        let match_type = MatchType::take(fields).unwrap_or_default();
        let ignore_args = fields.take_either("ignore_args", "ignoreArgs");
        let ignore_args = ignore_args.and_then(|field| field.flag()).unwrap_or_default();
        Self { match_type, ignore_args }
    }
}

impl MatchType {
    /// All match types.
    pub const ALL: [Self; 3] = [Self::Exact, Self::InOrder, Self::AnyOrder];

    /// Key that sets the match type.
    pub const KEY: &'static str = "trajectory_match_type";

    const ALIAS: &'static str = "trajectoryMatchType";

    /// Returns the name in configurations and arguments: `EXACT`, `IN_ORDER`, `ANY_ORDER`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "EXACT",
            Self::InOrder => "IN_ORDER",
            Self::AnyOrder => "ANY_ORDER",
        }
    }

    /// Returns the match type of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Takes the match type from the entry of a metric.
    pub fn take(fields: &mut Fields<'_>) -> Option<Self> {
        let field = fields.take_either(Self::KEY, Self::ALIAS)?;
        let choices = Self::ALL.map(|known| (known.as_str(), known));
        field.node.as_str().and_then(Self::named).or_else(|| field.choice(&choices))
    }
}

fn matches(
    match_type: MatchType,
    ignore_args: bool,
    actual: &[Call<'_>],
    expected: &[Call<'_>],
) -> bool {
    let is_same = |actual: &Call<'_>, expected: &Call<'_>| actual.is_same(expected, ignore_args);
    match match_type {
        MatchType::Exact => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(actual, expected)| is_same(actual, expected))
        }
        MatchType::InOrder => {
            let mut rest = actual.iter();
            expected.iter().all(|expected| rest.any(|actual| is_same(actual, expected)))
        }
        MatchType::AnyOrder => {
            let mut open: Vec<&Call<'_>> = actual.iter().collect();
            expected.iter().all(|expected| {
                let found = open.iter().position(|actual| is_same(actual, expected));
                found.map(|position| open.remove(position)).is_some()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use evaluator_json::{NonFinite, parse_python, to_python, to_string};

    use super::*;
    use crate::testing::{self, not_evaluated, scored};
    use evaluator_traces::{
        conversation::{ToolCall, Turn},
        eval_set::{EvalCase, ExpectedCall, ExpectedTurn, Unmatched},
    };

    /// The calls in intermediate data of either shape.
    fn calls(data: &Value) -> Vec<Call<'_>> {
        fn items_of(value: Option<&Value>) -> impl Iterator<Item = &Value> {
            value.and_then(Value::as_array).unwrap_or_default().iter()
        }
        let in_events = items_of(data.get("invocation_events"))
            .filter_map(|event| event.get("content"))
            .flat_map(|content| items_of(content.get("parts")))
            .filter_map(|part| part.get("function_call"));
        items_of(data.get("tool_uses"))
            .chain(in_events)
            .map(|call| Call {
                name: call.get("name").and_then(Value::as_str),
                args: Cow::Owned(call.get("args").cloned().unwrap_or_default()),
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_reference_implementation() {
        let vectors = include_str!("../tests/data/trajectory/trajectory.jsonl");
        for line in vectors.lines() {
            let vector = parse_python(line).unwrap();
            let side = |key| vector.get(key).map(calls).unwrap_or_default();
            let (actual, expected) = (side("actual"), side("expected"));
            for (key, ignore_args) in [("args", false), ("ignore_args", true)] {
                let scores = vector.get(key).and_then(Value::as_array).unwrap();
                assert_eq!(scores.len(), MatchType::ALL.len());
                for (match_type, score) in MatchType::ALL.into_iter().zip(scores) {
                    let matched = matches(match_type, ignore_args, &actual, &expected);
                    let matched = Some(i128::from(matched));
                    assert_eq!(matched, score.as_i128(), "{match_type:?} {key}: {line}");
                }
            }
        }
    }

    fn turn(span_id: &str, calls: &[(&str, &str)]) -> Turn {
        let call = |(name, arguments): &(&str, &str)| ToolCall {
            name: (*name).to_owned(),
            arguments: parse_python(arguments).unwrap(),
            ..ToolCall::default()
        };
        let tool_calls = calls.iter().map(call).collect();
        Turn { span_id: span_id.to_owned(), ..testing::turn(tool_calls) }
    }

    fn case(turns: &[&[(&str, &str)]]) -> EvalCase {
        let call = |(name, args): &(&str, &str)| ExpectedCall {
            id: None,
            name: Some((*name).to_owned()),
            args: parse_python(args).unwrap(),
        };
        let turn = |calls: &&[(&str, &str)]| ExpectedTurn {
            tool_calls: calls.iter().map(call).collect(),
            ..ExpectedTurn::default()
        };
        EvalCase {
            id: "c".to_owned(),
            turns: turns.iter().map(turn).collect(),
            ..EvalCase::default()
        }
    }

    fn evaluate(turns: &[Turn], golden: Result<&EvalCase, &Unmatched>) -> Outcome {
        ToolTrajectory::default().evaluate(&MetricInput::new(turns, golden, 0.5))
    }

    #[test]
    fn settings_are_read() {
        let ignore_args = |given: &str| {
            let yaml = format!("{{ignore_args: {given}, trajectoryMatchType: in_order}}");
            let metric = testing::configured(&yaml, ToolTrajectory::read);
            assert_eq!(metric.match_type, MatchType::InOrder);
            metric.ignore_args
        };
        for (given, expected) in [
            ("true", true),
            ("yes", true),
            ("1", true),
            ("'T'", true),
            ("off", false),
            ("0.0", false),
        ] {
            assert_eq!(ignore_args(given), expected, "{given}");
        }
        assert!(testing::configured("ignoreArgs: on", ToolTrajectory::read).ignore_args);
        let default = testing::configured("{}", ToolTrajectory::read);
        assert_eq!((default.match_type, default.ignore_args), (MatchType::Exact, false));
    }

    #[test]
    fn arguments_that_are_no_object_are_compared_as_one() {
        let turns = [turn("a", &[("f", "null")]), turn("b", &[("f", "5")])];
        let case = case(&[&[("f", "{}")], &[("f", "{\"value\": 5.0}")]]);
        let answer = scored(evaluate(&turns, Ok(&case)));
        assert_eq!((answer.score, answer.passed), (1.0, None));
        assert_eq!(answer.per_turn, [Some(1.0), Some(1.0)]);
    }

    #[test]
    fn turns_without_a_counterpart_are_only_counted() {
        let turns = [turn("a", &[("f", "{}")]), turn("b", &[]), turn("c", &[])];
        let case = case(&[&[("f", "{\"x\": 1}")]]);
        let answer = scored(evaluate(&turns, Ok(&case)));
        assert_eq!(answer.score, 0.0);
        assert_eq!(
            to_string(&Value::Object(answer.details.unwrap()), NonFinite::Null),
            r#"{"comparisons":[{"invocation_id":"a","expected":[{"name":"f","args":{"x":1}}],"actual":[{"name":"f","args":{}}],"matched":false}],"missing_turns":0,"unexpected_turns":2}"#
        );
    }

    #[test]
    fn without_a_golden_case_nothing_is_evaluated() {
        let details = not_evaluated(evaluate(&[], Err(&Unmatched::NoEvalSet)));
        let details = to_python(&Value::Object(details));
        assert_eq!(details, r#"{"reason": "no eval set provided"}"#);
    }
}
