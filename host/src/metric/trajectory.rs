//! `tool_trajectory_avg_score`.

use super::{
    MatchType, Metric, MetricInput, MetricSettings,
    align::{mean_over_turns, reference},
    call::Call,
};
use crate::{
    conversation::Turn,
    eval_set::ExpectedTurn,
    json::{Object, Value},
    verdict::Verdict,
};

/// Scores a turn 1 if the agent called the expected tools with the expected arguments, else 0.
///
/// Names and arguments count; ids and results do not. Arguments are equal as in Python: `1`, `1.0` and `true` are, an
/// object without arguments and no arguments at all are not. With `ignore_args` only the names count.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolTrajectory;

impl Metric for ToolTrajectory {
    fn name(&self) -> &str {
        "tool_trajectory_avg_score"
    }

    fn description(&self) -> &str {
        "Share of the turns that called the expected tools with the expected arguments."
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
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
            .map(|(turn, expected)| Comparison::new(turn, expected, input.settings))
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

/// A turn, its golden turn, and whether they match.
#[derive(Debug)]
struct Comparison<'a> {
    invocation_id: &'a str,
    actual: Vec<Call<'a>>,
    expected: Vec<Call<'a>>,
    matched: bool,
}

impl<'a> Comparison<'a> {
    fn new(turn: &'a Turn, expected: &'a ExpectedTurn, settings: &MetricSettings) -> Self {
        let actual: Vec<_> = turn.tool_calls.iter().map(Call::actual).collect();
        let expected: Vec<_> = expected.trajectory().map(Call::expected).collect();
        let matched =
            matches(settings.trajectory_match_type, settings.ignore_args, &actual, &expected);
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

    use super::*;
    use crate::{
        conversation::ToolCall,
        eval_set::{EvalCase, ExpectedCall, Unmatched},
        json::{parse_python, to_python},
        verdict::{Answer, Status},
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
        let vectors = include_str!("../../tests/data/trajectory/trajectory.jsonl");
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
                    assert_eq!(matched, score.as_i128(), "{match_type} {key}: {line}");
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
        Turn {
            trace_id: "t".into(),
            span_id: span_id.to_owned(),
            root_anchored: true,
            agent_name: None,
            user_text: None,
            final_text: None,
            llm_calls: Vec::new(),
            tool_calls: calls.iter().map(call).collect(),
            start_ns: 0,
            end_ns: 0,
            status: crate::trace::SpanStatus::Unset,
            judged: Default::default(),
        }
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
        EvalCase { id: "c".to_owned(), turns: turns.iter().map(turn).collect() }
    }

    fn evaluate(turns: &[Turn], golden: Result<&EvalCase, &Unmatched>) -> Answer {
        let settings = MetricSettings::default();
        let input = MetricInput { turns, golden, threshold: 0.5, settings: &settings };
        match ToolTrajectory.evaluate(&input) {
            Verdict::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_compared_as_one() {
        let turns = [turn("a", &[("f", "null")]), turn("b", &[("f", "5")])];
        let case = case(&[&[("f", "{}")], &[("f", "{\"value\": 5.0}")]]);
        let answer = evaluate(&turns, Ok(&case));
        assert_eq!((answer.score, answer.status), (Some(1.0), None));
        assert_eq!(answer.per_invocation_scores, [Some(1.0), Some(1.0)]);
    }

    #[test]
    fn turns_without_a_counterpart_are_only_counted() {
        let turns = [turn("a", &[("f", "{}")]), turn("b", &[]), turn("c", &[])];
        let case = case(&[&[("f", "{\"x\": 1}")]]);
        let answer = evaluate(&turns, Ok(&case));
        assert_eq!(answer.score, Some(0.0));
        assert_eq!(
            crate::json::to_string(
                &Value::Object(answer.details.unwrap()),
                crate::json::NonFinite::Null
            ),
            r#"{"comparisons":[{"invocation_id":"a","expected":[{"name":"f","args":{"x":1}}],"actual":[{"name":"f","args":{}}],"matched":false}],"missing_turns":0,"unexpected_turns":2}"#
        );
    }

    #[test]
    fn without_a_golden_case_nothing_is_evaluated() {
        let answer = evaluate(&[], Err(&Unmatched::NoEvalSet));
        assert_eq!((answer.score, answer.status), (None, Some(Status::NotEvaluated)));
        let details = to_python(&Value::Object(answer.details.unwrap()));
        assert_eq!(details, r#"{"reason": "no eval set provided"}"#);
    }
}
