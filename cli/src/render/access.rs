//! The log of a server, on stderr: a line per request.

use evaluator_serve::Access;
use serde_json::{Map, Value, json};

use super::{
    plain::one_line,
    stderr::{Level, line_with},
};

/// Writes the line of a request. `is_broken` is true if the response reports an error of the server or of an evaluator.
pub(crate) fn access(access: &Access, is_broken: bool) {
    let level = if is_broken { Level::Error } else { Level::Info };
    line_with(level, &one_line(&access.to_string()), keys(access));
}

/// Returns the request as keys of an object, without those that do not apply.
fn keys(access: &Access) -> Map<String, Value> {
    let Access { method, path, status, took, remarks, .. } = access;
    let milliseconds = (took.as_secs_f64() * 10_000.0).round() / 10.0;
    let list = |texts: &[String]| -> Value {
        let texts: Vec<_> = texts.iter().map(|text| one_line(text)).collect();
        if texts.is_empty() { Value::Null } else { json!(texts) }
    };
    let error = remarks.error.as_deref().and_then(|error| error.lines().next());
    let keys = [
        ("method", json!(one_line(method))),
        ("path", json!(one_line(path))),
        ("status", json!(status)),
        ("duration_ms", json!(milliseconds)),
        ("evaluator", json!(remarks.evaluator.as_deref().map(one_line))),
        ("contract", json!(remarks.contract)),
        ("error", json!(error.map(one_line))),
        ("dropped", list(&remarks.dropped)),
        ("warnings", list(&remarks.warnings)),
    ];
    let keys = keys.into_iter().filter(|(_, value)| !value.is_null());
    keys.map(|(key, value)| (key.to_owned(), value)).collect()
}
