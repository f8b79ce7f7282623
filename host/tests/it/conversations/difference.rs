//! Comparing JSON values, with a path for every difference.

use evaluator_host::json::{Value, to_python};

/// Adds how `actual` differs from `expected`; floats may differ by 1e-9 of their size.
///
/// Performance metrics of an invocation are those of its conversation and are compared there.
pub(crate) fn compare(actual: &Value, expected: &Value, path: &str, found: &mut Vec<String>) {
    match (actual, expected) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(a, b, &format!("{path}[{index}]"), found);
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            for (key, b) in b {
                let a = match a.get(key) {
                    Some(a) => a,
                    None if key == "performance_metrics" => continue,
                    None => &Value::Null,
                };
                compare(a, b, &format!("{path}.{key}"), found);
            }
            for key in a.keys().filter(|key| !b.contains_key(*key)) {
                found.push(format!("{path}.{key} should not be there"));
            }
        }
        (Value::Float(a), Value::Float(b)) => {
            let close = (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
            if !close && a.to_bits() != b.to_bits() {
                found.push(format!("{path} is {a}, not {b}"));
            }
        }
        _ => {
            let (actual, expected) = (to_python(actual), to_python(expected));
            if actual != expected {
                found.push(format!("{path} is {actual}, not {expected}"));
            }
        }
    }
}
