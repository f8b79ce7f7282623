//! OTLP JSON: export documents, bare spans, and either per line.

mod attributes;
mod document;
mod lines;
mod proto_names;
mod span;

pub(super) use attributes::attributes;
pub(super) use document::{decode, scope};
pub(super) use lines::{decode_lines, read_line};
pub(super) use span::{log_record, span};

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

/// The items of an array. What has no items in JSON is empty, unless it is a number or `true`: then something else
/// was meant, and its kind is the error.
pub(super) fn items(value: Value) -> Result<Vec<Value>, &'static str> {
    match value {
        Value::Array(items) => Ok(items),
        Value::String(_) | Value::Object(_) => Ok(Vec::new()),
        other if other.is_truthy() => Err(other.kind()),
        _ => Ok(Vec::new()),
    }
}

/// The items of an array that is only a part of a span: a wrong type loses the part with a note, not the span.
pub(super) fn part_items(value: Value, name: &str, odd: &mut Vec<String>) -> Vec<Value> {
    items(value).unwrap_or_else(|found| {
        odd.push(format!("{name} is {found} instead of an array; ignored"));
        Vec::new()
    })
}
