//! Tool calls.

use evaluator_json::{Object, Value};

use super::{Row, Score, share};
use crate::{
    json_text::{at, equal},
    model::{ArgsMatch, ExpectedCall, Trajectory, TrajectoryMode},
    output::{Output, ToolCall},
};

/// Compares the tool calls of an output.
pub fn grade(trajectory: &Trajectory, output: &Output) -> Score {
    let calls: Vec<ToolCall<'_>> = output.tool_calls().collect();
    let expected = &*trajectory.expected;
    let mut score = match trajectory.mode {
        TrajectoryMode::AnyOrder => at_least(&trajectory.minimums, &calls),
        TrajectoryMode::InOrder => found(expected, &in_order(expected, &calls), &calls),
        TrajectoryMode::Exact => found(expected, &by_position(expected, &calls), &calls),
        TrajectoryMode::Superset => found(expected, &each_once(expected, &calls), &calls),
        TrajectoryMode::Subset => allowed(expected, &calls),
    };
    score.reason = trajectory.default_args.map(|default| {
        format!("arguments are compared as `args_match: {default}`, the default of the file")
    });
    score
}

fn at_least(minimums: &[(String, u64)], calls: &[ToolCall<'_>]) -> Score {
    let row = |(tool, least): &(String, u64)| {
        let count = calls.iter().filter(|call| call.tool == tool).count() as u64;
        Row::new(format!("{tool}: {count} of at least {least} calls"), count >= *least)
    };
    of_rows(minimums.iter().map(row).collect())
}

/// Returns the share of rows that passed; 1 without rows.
fn of_rows(rows: Vec<Row>) -> Score {
    let passed = rows.iter().filter(|row| row.passed).count();
    let score = if rows.is_empty() { 1.0 } else { share(passed, rows.len()) };
    Score::new(score, rows)
}

/// Result of looking for an expected call: the index of the call of that name, and whether its arguments are the expected
/// ones.
type Found = Option<(usize, bool)>;

/// Walks forward. The first call of the name decides; a name that is not found uses up the rest.
fn in_order(expected: &[ExpectedCall], calls: &[ToolCall<'_>]) -> Vec<Found> {
    let mut next = 0;
    expected
        .iter()
        .map(|item| {
            let rest = calls.get(next..).unwrap_or_default();
            let found = rest.iter().position(|call| call.tool == item.tool);
            let index = found.map(|offset| next + offset);
            next = index.map_or(calls.len(), |index| index + 1);
            index.map(|index| (index, is_match(item, &calls[index])))
        })
        .collect()
}

fn by_position(expected: &[ExpectedCall], calls: &[ToolCall<'_>]) -> Vec<Found> {
    let compare = |(index, item): (usize, &ExpectedCall)| {
        let call = calls.get(index).filter(|call| call.tool == item.tool)?;
        Some((index, is_match(item, call)))
    };
    expected.iter().enumerate().map(compare).collect()
}

/// Finds a call of its own for each item.
fn each_once(expected: &[ExpectedCall], calls: &[ToolCall<'_>]) -> Vec<Found> {
    let mut used = vec![false; calls.len()];
    expected
        .iter()
        .map(|item| {
            let fits = |(index, call): &(usize, &ToolCall<'_>)| {
                !used[*index] && call.tool == item.tool && is_match(item, call)
            };
            let index = calls.iter().enumerate().find(fits).map(|(index, _)| index)?;
            used[index] = true;
            Some((index, true))
        })
        .collect()
}

/// Scores expected calls. A limit of the duration is one more point, unless the call that was found has no duration.
fn found(expected: &[ExpectedCall], found: &[Found], calls: &[ToolCall<'_>]) -> Score {
    let mut rows = Vec::new();
    for (item, found) in expected.iter().zip(found) {
        let text = match found {
            None => format!("{}: not called", item.tool),
            Some((_, false)) => format!("{}: other arguments", item.tool),
            Some((_, true)) => format!("{}: called", item.tool),
        };
        let is_found = matches!(found, Some((_, true)));
        rows.push(Row::new(text, is_found));
        let Some(limit) = item.max_duration_ms else { continue };
        let duration =
            found.filter(|(_, matches)| *matches).map(|(index, _)| calls[index].duration_ms);
        match duration {
            Some(Some(took)) => {
                rows.push(Row::new(
                    format!("{}: took {took} of {limit} ms", item.tool),
                    took <= limit,
                ));
            }
            Some(None) => {}
            None => {
                rows.push(Row::new(format!("{}: no duration, limit {limit} ms", item.tool), false))
            }
        }
    }
    of_rows(rows)
}

fn allowed(expected: &[ExpectedCall], calls: &[ToolCall<'_>]) -> Score {
    let row = |call: &ToolCall<'_>| {
        let is_allowed = expected.iter().any(|item| item.tool == call.tool && is_match(item, call));
        let text = if is_allowed { "allowed" } else { "not allowed" };
        Row::new(format!("{}: {text}", call.tool), is_allowed)
    };
    of_rows(calls.iter().map(row).collect())
}

/// Compares the arguments of a call.
fn is_match(item: &ExpectedCall, call: &ToolCall<'_>) -> bool {
    let Some(expected) = &item.args else { return true };
    let nothing = Value::Object(Object::default());
    let actual = call.input.filter(|input| !input.is_null()).unwrap_or(&nothing);
    let within = |inner: &Value, outer: &Value| match (inner, outer) {
        (Value::Object(inner), Value::Object(outer)) => {
            inner.iter().all(|(key, value)| outer.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => equal(inner, outer),
    };
    match &item.args_match {
        ArgsMatch::Exact => equal(expected, actual),
        ArgsMatch::Superset => within(expected, actual),
        ArgsMatch::Subset => within(actual, expected),
        ArgsMatch::Ignore => true,
        ArgsMatch::Fields(fields) => fields.iter().all(|path| {
            let Some(expected) = at(expected, path.split('.')) else { return true };
            at(actual, path.split('.')).is_some_and(|actual| equal(expected, actual))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, args: Option<&str>, limit: Option<f64>) -> ExpectedCall {
        ExpectedCall {
            tool: tool.to_owned(),
            args: args.map(|args| evaluator_json::parse_python(args).unwrap()),
            args_match: ArgsMatch::Exact,
            max_duration_ms: limit,
        }
    }

    fn score(mode: TrajectoryMode, expected: Vec<ExpectedCall>) -> f64 {
        scored(mode, expected, Vec::new())
    }

    fn scored(
        mode: TrajectoryMode,
        expected: Vec<ExpectedCall>,
        minimums: Vec<(String, u64)>,
    ) -> f64 {
        let output = Output::read(
            r#"{"output": [{"role": "assistant", "tool_calls": [
                {"tool": "search", "input": {"q": "paris", "limit": 5}, "duration_ms": 100},
                {"tool": "fetch", "input": {"url": "u"}, "duration_ms": 900},
                {"tool": "search", "input": {"q": "france"}},
                {"tool": "done", "input": {}}]}]}"#,
        )
        .unwrap();
        grade(&Trajectory { mode, minimums, expected, default_args: None }, &output).score
    }

    #[test]
    fn the_first_call_of_a_name_decides_in_order() {
        use TrajectoryMode::InOrder;
        let france = call("search", Some(r#"{"q": "france"}"#), None);
        assert_eq!(score(InOrder, vec![france.clone()]), 0.0);
        // The first search is used up; the second item finds the second one.
        assert_eq!(score(InOrder, vec![france.clone(), france]), 0.5);
        let nothing =
            vec![call("fetch", None, None), call("none", None, None), call("done", None, None)];
        assert_eq!(score(InOrder, nothing), 1.0 / 3.0);
        assert_eq!(score(InOrder, Vec::new()), 1.0);
    }

    #[test]
    fn limits_of_durations_are_points_unless_nothing_was_measured() {
        use TrajectoryMode::Superset;
        let within = call("search", None, Some(100.0));
        let slow = call("fetch", None, Some(100.0));
        let unmeasured = call("done", None, Some(1.0));
        let missing = call("none", None, Some(1.0));
        assert_eq!(score(Superset, vec![within.clone()]), 1.0);
        assert_eq!(score(Superset, vec![slow]), 0.5);
        assert_eq!(score(Superset, vec![unmeasured]), 1.0);
        assert_eq!(score(Superset, vec![within, missing]), 0.5);
    }

    #[test]
    fn positions_and_extra_calls() {
        use TrajectoryMode::{AnyOrder, Exact, Subset};
        assert_eq!(score(Exact, vec![call("search", None, None), call("done", None, None)]), 0.5);
        assert_eq!(score(Exact, vec![call("search", None, None)]), 1.0);
        assert_eq!(
            scored(AnyOrder, Vec::new(), vec![("search".to_owned(), 2), ("done".to_owned(), 2)]),
            0.5
        );
        assert_eq!(score(AnyOrder, Vec::new()), 1.0);
        assert_eq!(score(Subset, Vec::new()), 0.0);
        assert_eq!(score(Subset, vec![call("search", None, None)]), 0.5);
    }
}
