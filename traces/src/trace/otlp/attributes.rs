//! Attributes and the values they hold.

use super::{super::bytes, super::coerce, part_items, proto_names::camel_keys, take, take_object};
use crate::{
    json::scalar_text,
    json::{Object, Value, to_python},
};

/// Values nested deeper than this are `null`.
const MAX_DEPTH: usize = 64;

/// Attributes: a list of keys and values, or an object, which some exporters write instead.
///
/// A later value of a key replaces an earlier one. In the object form, nested objects become dotted keys.
pub(in super::super) fn attributes(value: Value, odd: &mut Vec<String>) -> Object {
    let mut out = Object::default();
    match value {
        Value::Array(items) => {
            out.reserve(items.len());
            for item in items {
                let Value::Object(mut item) = item else { continue };
                let (Value::String(key), Value::Object(value)) =
                    (take(&mut item, "key"), take(&mut item, "value"))
                else {
                    continue;
                };
                if let Some(value) = any_value(value, odd) {
                    out.insert(key, value);
                }
            }
        }
        Value::Object(object) => flatten(&mut String::new(), object, &mut out),
        _ => {}
    }
    out
}

/// The value of an `AnyValue`; `None` when it has none of its fields.
pub(super) fn any_value(object: Object, odd: &mut Vec<String>) -> Option<Value> {
    any_value_at(object, 0, odd)
}

fn any_value_at(mut object: Object, depth: usize, odd: &mut Vec<String>) -> Option<Value> {
    if depth > MAX_DEPTH {
        return Some(Value::Null);
    }
    camel_keys(&mut object);
    if let Some(value) = object.swap_remove("stringValue") {
        return Some(Value::String(match value {
            Value::String(text) => text,
            other => scalar_text(&other).unwrap_or_else(|| to_python(&other)),
        }));
    }
    if let Some(value) = object.swap_remove("boolValue") {
        return Some(Value::Bool(match value.as_str() {
            // The one text that says the opposite of being there.
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            _ => value.is_truthy(),
        }));
    }
    if let Some(value) = object.swap_remove("intValue") {
        return Some(coerce::integer(&value).unwrap_or_else(|problem| {
            odd.push(format!("an intValue {problem}"));
            Value::Int(0)
        }));
    }
    if let Some(value) = object.swap_remove("doubleValue") {
        return Some(coerce::float(&value).map_or(Value::Null, Value::Float));
    }
    if let Some(value) = object.swap_remove("bytesValue") {
        return Some(match value {
            Value::String(recorded) => Value::String(bytes::text(recorded)),
            _ => Value::Null,
        });
    }
    if object.contains_key("arrayValue") {
        let values = take(&mut take_object(&mut object, "arrayValue"), "values");
        let mut out = Vec::new();
        for item in part_items(values, "arrayValue.values", odd) {
            if let Value::Object(item) = item {
                out.push(any_value_at(item, depth + 1, odd).unwrap_or_default());
            }
        }
        return Some(Value::Array(out));
    }
    if object.contains_key("kvlistValue") {
        let values = take(&mut take_object(&mut object, "kvlistValue"), "values");
        let mut out = Object::default();
        for item in part_items(values, "kvlistValue.values", odd) {
            let Value::Object(mut item) = item else { continue };
            let Value::String(key) = take(&mut item, "key") else { continue };
            let value = match take(&mut item, "value") {
                Value::Object(value) => any_value_at(value, depth + 1, odd).unwrap_or_default(),
                _ => Value::Null,
            };
            out.insert(key, value);
        }
        return Some(Value::Object(out));
    }
    None
}

/// Puts the leaves of `object` into `out` under dotted keys that start with `prefix`.
fn flatten(prefix: &mut String, object: Object, out: &mut Object) {
    let length = prefix.len();
    for (key, value) in object {
        prefix.truncate(length);
        prefix.push_str(&key);
        match value {
            Value::Object(inner) => {
                prefix.push('.');
                flatten(prefix, inner, out);
            }
            leaf => {
                out.insert(prefix.clone(), leaf);
            }
        }
    }
    prefix.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{NonFinite, ParseOptions, parse, to_string};

    fn decoded(text: &str) -> (String, Vec<String>) {
        let value = parse(text, &ParseOptions::default()).expect("valid").value;
        let mut odd = Vec::new();
        let attributes = attributes(value, &mut odd);
        (to_string(&Value::Object(attributes), NonFinite::Literal), odd)
    }

    fn value(text: &str) -> String {
        let (attributes, odd) = decoded(&format!(r#"[{{"key": "k", "value": {text}}}]"#));
        assert_eq!(odd, Vec::<String>::new());
        attributes
            .strip_prefix("{\"k\":")
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or("absent")
            .to_owned()
    }

    #[test]
    fn kinds_of_values() {
        for (text, expected) in [
            (r#"{"stringValue": "x"}"#, r#""x""#),
            (r#"{"stringValue": true}"#, r#""True""#),
            (r#"{"stringValue": null}"#, r#""None""#),
            (r#"{"stringValue": 12.5}"#, r#""12.5""#),
            (r#"{"stringValue": [1, "a"]}"#, r#""[1, \"a\"]""#),
            (r#"{"boolValue": "false"}"#, "false"),
            (r#"{"boolValue": 1}"#, "true"),
            (r#"{"intValue": "12.7"}"#, "12"),
            (r#"{"intValue": null}"#, "0"),
            (r#"{"intValue": 100000000000000000000}"#, "100000000000000000000"),
            (r#"{"doubleValue": "9"}"#, "9.0"),
            (r#"{"doubleValue": "Infinity"}"#, "Infinity"),
            (r#"{"doubleValue": "oops"}"#, "null"),
            (r#"{"bytesValue": "aGk="}"#, r#""hi""#),
            (r#"{"bytesValue": "/w=="}"#, r#""/w==""#),
            (
                r#"{"arrayValue": {"values": [{"intValue": 1}, "junk", {}, {"arrayValue": null}]}}"#,
                "[1,null,[]]",
            ),
            (
                r#"{"kvlistValue": {"values": [{"key": "a", "value": {"doubleValue": 1.5}}, {"key": 5}, {"key": "n"}, 7]}}"#,
                r#"{"a":1.5,"n":null}"#,
            ),
            (r#"{"intValue": 1, "stringValue": "first in order"}"#, r#""first in order""#),
            (r#"{"unknownValue": 1}"#, "absent"),
            ("null", "absent"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn deep_values_end_in_null() {
        let nested = |levels: usize| {
            let text = "{\"arrayValue\": {\"values\": [".repeat(levels)
                + "{\"intValue\": 1}"
                + &"]}}".repeat(levels);
            value(&text)
        };
        assert_eq!(nested(64), format!("{}1{}", "[".repeat(64), "]".repeat(64)));
        assert_eq!(nested(65), format!("{}null{}", "[".repeat(65), "]".repeat(65)));
    }

    #[test]
    fn odd_values_are_noted() {
        let (attributes, odd) = decoded(
            r#"[{"key": "a", "value": {"intValue": "inf"}}, {"key": "b", "value": {"arrayValue": {"values": 5}}}]"#,
        );
        assert_eq!(attributes, r#"{"a":0,"b":[]}"#);
        assert_eq!(
            odd,
            [
                "an intValue is infinite; 0 is used",
                "arrayValue.values is an integer instead of an array; ignored"
            ]
        );
    }

    #[test]
    fn objects_are_flattened() {
        let (attributes, _) =
            decoded(r#"{"a": {"b": {"c": [1, {"d": 2}]}, "e": null}, "a.e": 3, "f": {}}"#);
        assert_eq!(attributes, r#"{"a.b.c":[1,{"d":2}],"a.e":3}"#);
        assert_eq!(decoded("5").0, "{}");
    }
}
