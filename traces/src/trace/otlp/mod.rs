//! OTLP JSON: export documents, bare spans, and either per line.

mod attributes;
mod document;
mod lines;
mod proto_names;
mod span;

pub(super) use attributes::attributes;
pub(super) use document::{
    LOG_LIST, LOGS, Names, SPAN_LISTS, SPANS, decode, no_list, no_repeated, none_repeated, scope,
};
pub(super) use lines::{decode_lines, read_line};
pub(super) use span::{log_record, odd_trace_id, repeated_key, span, take_repeated};

use crate::json::{Object, Value};

/// Takes a member out of an object, `null` when it is not there.
pub(super) fn take(object: &mut Object, key: &str) -> Value {
    object.swap_remove(key).unwrap_or_default()
}

/// Takes the first of two members that says something.
pub(super) fn take_either(object: &mut Object, key: &str, other: &str) -> Value {
    let value = take(object, key);
    if value.is_truthy() { value } else { take(object, other) }
}

/// Takes a string, empty when it is not one.
pub(super) fn take_text(object: &mut Object, key: &str) -> String {
    match take(object, key) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Takes an object, empty when it is not one.
pub(super) fn take_object(object: &mut Object, key: &str) -> Object {
    match take(object, key) {
        Value::Object(object) => object,
        _ => Object::default(),
    }
}

/// The items of an array; `None` for other values.
///
/// # Errors
///
/// The value is a number or `true`, so the document has another format; the error is its kind.
pub(super) fn items_or_kind(value: Value) -> Result<Option<Vec<Value>>, &'static str> {
    match value {
        Value::Array(items) => Ok(Some(items)),
        Value::String(_) | Value::Object(_) => Ok(None),
        other if other.is_truthy() => Err(other.kind()),
        _ => Ok(None),
    }
}

/// The items of an array that is only a part of a span: a wrong type loses the part with a note, not the span.
pub(super) fn part_items(value: Value, name: &str, odd: &mut Vec<String>) -> Vec<Value> {
    items_or_kind(value).map(Option::unwrap_or_default).unwrap_or_else(|found| {
        odd.push(format!("{name} is {found} instead of an array; ignored"));
        Vec::new()
    })
}
