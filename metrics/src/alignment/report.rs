//! Details of an alignment, as data and as text.

use std::fmt::Write as _;

use evaluator_json::{Object, Value, count, object, to_python};

use super::{
    compare::Comparator,
    expectation::Difference,
    settings::Order,
    turn::{Alignment, Presence, Step},
};
use crate::turns::Call;

/// Characters of a value in the text. The details have the whole value.
const SHOWN: usize = 200;

pub(super) fn details(turns: &[Alignment<'_>], order: Order) -> Object {
    let having =
        |presence| count(turns.iter().filter(|turn| turn.calls.presence == presence).count());
    let mut diff = String::new();
    for (index, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.score < 1.0) {
        write_diff(&mut diff, index, turn);
    }
    Object::from_iter([
        ("order".to_owned(), Order::NAMED[order as usize].0.into()),
        ("turns".to_owned(), Value::Array(turns.iter().map(turn_value).collect())),
        ("missing_turns".to_owned(), having(Presence::Missing)),
        ("unexpected_turns".to_owned(), having(Presence::Unexpected)),
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
                    ("expected", count(expected)),
                    ("actual", count(actual)),
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

/// Converts a difference. A side without the argument is absent; `null` is a value.
fn difference(difference: &Difference<'_>) -> Value {
    let sides = [("expected", difference.expected), ("actual", difference.actual)];
    let head = [
        ("argument", difference.argument.into()),
        ("compare", difference.comparator.name().into()),
    ];
    let sides = sides.into_iter().filter_map(|(side, value)| Some((side, value?.clone())));
    object(head.into_iter().chain(sides))
}

/// Writes the text of a turn. Writing to a string cannot fail.
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
        Comparator::Regex(Some(pattern)) => format!(" (regex {})", shorten(name(&pattern.source))),
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
    let args = if call.args.is_null() { "{}".to_owned() } else { value_text(&call.args) };
    format!("{}({args})", name(call.name()))
}

fn value_text(value: &Value) -> String {
    shorten(to_python(value))
}

/// Escapes a name that has control characters, such as line feeds.
fn name(name: &str) -> String {
    if name.contains(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
