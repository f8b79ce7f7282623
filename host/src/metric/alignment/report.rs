//! What was found, for programs and for people.

use std::fmt::Write as _;

use super::{Alignment, AlignmentSettings, Comparator, Difference, Presence, Step};
use crate::{
    json::{Object, Value, to_python},
    metric::call::Call,
};

/// Characters of a value that are shown to people. The details hold all of it.
const SHOWN: usize = 200;

pub(super) fn details(turns: &[Alignment<'_>], settings: &AlignmentSettings) -> Object {
    let count = |presence| {
        let turns = turns.iter().filter(|turn| turn.calls.presence == presence).count();
        Value::Int(i64::try_from(turns).unwrap_or(i64::MAX))
    };
    let mut diff = String::new();
    for (index, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.score < 1.0) {
        write_diff(&mut diff, index, turn);
    }
    Object::from_iter([
        ("order".to_owned(), settings.order.as_str().into()),
        ("turns".to_owned(), Value::Array(turns.iter().map(turn_value).collect())),
        ("missing_turns".to_owned(), count(Presence::Missing)),
        ("unexpected_turns".to_owned(), count(Presence::Unexpected)),
        ("diff".to_owned(), diff.into()),
    ])
}

fn turn_value(turn: &Alignment<'_>) -> Value {
    let (mut pairs, mut missing, mut unexpected) = (Vec::new(), Vec::new(), Vec::new());
    for step in &turn.steps {
        match *step {
            Step::Paired { expected, actual, similarity } => {
                let differences = turn.differences(expected, actual);
                pairs.push(object([
                    ("name", turn.calls.actual[actual].name().into()),
                    ("expected", position(expected)),
                    ("actual", position(actual)),
                    ("similarity", similarity.into()),
                    ("differences", Value::Array(differences.iter().map(difference).collect())),
                ]));
            }
            Step::Missing(expected) => missing.push(turn.calls.expected[expected].to_value()),
            Step::Unexpected(actual) => unexpected.push(turn.calls.actual[actual].to_value()),
        }
    }
    object([
        ("invocation_id", turn.calls.invocation_id.map_or(Value::Null, Value::from)),
        ("score", turn.score.into()),
        ("pairs", pairs.into()),
        ("missing", missing.into()),
        ("unexpected", unexpected.into()),
    ])
}

/// A side without the argument is left out: `null` is a value.
fn difference(difference: &Difference<'_>) -> Value {
    let sides = [("expected", difference.expected), ("actual", difference.actual)];
    let head = [
        ("argument", difference.argument.into()),
        ("compare", difference.comparator.name().into()),
    ];
    let sides = sides.into_iter().filter_map(|(side, value)| Some((side, value?.clone())));
    object(head.into_iter().chain(sides))
}

fn object<'k>(members: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn position(index: usize) -> Value {
    Value::Int(i64::try_from(index).unwrap_or(i64::MAX))
}

/// Writing to a string cannot fail, here and below.
fn write_diff(text: &mut String, index: usize, turn: &Alignment<'_>) {
    let note = match turn.calls.presence {
        Presence::Both => "",
        Presence::Missing => " (there is no such turn)",
        Presence::Unexpected => " (no such turn was expected)",
    };
    let _ = writeln!(text, "turn {}: {:.4}{note}", index + 1, turn.score);
    for step in &turn.steps {
        match *step {
            Step::Paired { expected, actual, .. } => {
                let call = &turn.calls.actual[actual];
                let differences = turn.differences(expected, actual);
                if differences.is_empty() {
                    let _ = writeln!(text, "    {}", call_text(call));
                    continue;
                }
                let _ = writeln!(text, "  ~ {}", name(call.name()));
                for difference in differences {
                    write_difference(text, &difference);
                }
            }
            Step::Missing(expected) => {
                let _ = writeln!(text, "  - {}", call_text(&turn.calls.expected[expected]));
            }
            Step::Unexpected(actual) => {
                let _ = writeln!(text, "  + {}", call_text(&turn.calls.actual[actual]));
            }
        }
    }
}

fn write_difference(text: &mut String, difference: &Difference<'_>) {
    let side = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), value_text);
    let how = match difference.comparator {
        Comparator::Exact => String::new(),
        Comparator::Regex(Some(pattern)) => format!(" (regex {})", shorten(name(pattern.as_str()))),
        other => format!(" ({})", other.name()),
    };
    let _ = writeln!(
        text,
        "      {}: expected {}, got {}{how}",
        name(difference.argument),
        side(difference.expected),
        side(difference.actual),
    );
}

fn call_text(call: &Call<'_>) -> String {
    // An expected call without arguments.
    let args = if call.args.is_null() { "{}".to_owned() } else { value_text(&call.args) };
    format!("{}({args})", name(call.name()))
}

fn value_text(value: &Value) -> String {
    shorten(to_python(value))
}

/// Names are recorded too, and may hold what would break a line.
fn name(name: &str) -> String {
    if name.contains(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
