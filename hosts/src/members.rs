//! Builds JSON values.

use crate::json::{Object, Value};
pub(super) use crate::json::{count, object};

/// Returns an object with those members that have a value.
pub(super) fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(members.collect::<Object>())
}

pub(super) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Returns the time between two instants, in units of `unit` nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "durations are floats in these documents")]
pub(super) fn elapsed(start_ns: i128, end_ns: i128, unit: f64) -> Value {
    Value::Float(end_ns.saturating_sub(start_ns).max(0) as f64 / unit)
}
