//! Attributes and values, and the members of an object that hold them.

use std::mem;

use super::super::values;
use crate::json::{Object, Value, camel_case, mark_repeated, scalar_text, to_python};

/// Takes a member out of an object; `null` if it is absent.
pub(in crate::trace) fn take(object: &mut Object, key: &str) -> Value {
    object.swap_remove(key).unwrap_or_default()
}

/// Takes these members out of an object; `null` where one is absent. Faster than to take one after the other.
pub(in crate::trace) fn take_all<const N: usize>(object: Object, keys: [&str; N]) -> [Value; N] {
    let mut values = [const { Value::Null }; N];
    for (key, value) in object {
        if let Some(at) = keys.iter().position(|wanted| *wanted == key) {
            values[at] = value;
        }
    }
    values
}

/// Takes the first of two members that is truthy.
pub(in crate::trace) fn take_either(object: &mut Object, key: &str, other: &str) -> Value {
    let value = take(object, key);
    if value.is_truthy() { value } else { take(object, other) }
}

/// Takes a string, empty when it is not one.
pub(in crate::trace) fn take_text(object: &mut Object, key: &str) -> String {
    text_or_empty(take(object, key))
}

/// Returns a string, empty when the value is not one.
pub(super) fn text_or_empty(value: Value) -> String {
    match value {
        Value::String(text) => text,
        _ => String::new(),
    }
}

/// Returns an object, empty when the value is not one.
pub(super) fn object_or_empty(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::default(),
    }
}

/// Returns the items of an array; `None` for strings, objects and falsy values.
///
/// # Errors
///
/// The value is a number or `true`, so the document has another format. The error is the type of the value.
pub(in crate::trace) fn items_or_kind(value: Value) -> Result<Option<Vec<Value>>, &'static str> {
    match value {
        Value::Array(items) => Ok(Some(items)),
        Value::String(_) | Value::Object(_) => Ok(None),
        other if other.is_truthy() => Err(other.kind()),
        _ => Ok(None),
    }
}

/// Returns the items of an array inside a span. A value of the wrong type is ignored with a warning.
pub(in crate::trace) fn part_items(
    value: Value,
    name: &str,
    problems: &mut Vec<String>,
) -> Vec<Value> {
    items_or_kind(value).map(Option::unwrap_or_default).unwrap_or_else(|found| {
        problems.push(format!("{name} is {found} instead of an array; ignored"));
        Vec::new()
    })
}

/// Maximum depth of values; deeper ones are `null`.
const MAX_DEPTH: usize = 64;

/// Decodes attributes: a list of keys and values, or an object, which some exporters write instead.
///
/// A later value of a key replaces an earlier one. In the object form, nested objects become dotted keys.
pub(in crate::trace) fn attributes(value: Value, problems: &mut Vec<String>) -> Object {
    let mut out = Object::default();
    match value {
        Value::Array(items) => {
            out.reserve(items.len());
            for item in items {
                let Value::Object(item) = item else { continue };
                let [Value::String(key), Value::Object(value)] = take_all(item, ["key", "value"])
                else {
                    continue;
                };
                if let Some(value) = any_value(value, problems) {
                    out.insert(key, value);
                }
            }
        }
        Value::Object(object) => flatten(&mut String::new(), object, &mut out),
        _ => {}
    }
    out
}

/// Returns the value of an `AnyValue`; `None` if it has none of its fields.
pub(super) fn any_value(object: Object, problems: &mut Vec<String>) -> Option<Value> {
    any_value_at(object, 0, problems)
}

fn any_value_at(mut object: Object, depth: usize, problems: &mut Vec<String>) -> Option<Value> {
    if depth > MAX_DEPTH {
        return Some(Value::Null);
    }
    // What most values are, without a search.
    if let (1, Some((key, Value::String(text)))) = (object.len(), object.get_index_mut(0))
        && key == "stringValue"
    {
        return Some(Value::String(mem::take(text)));
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
            // The only non-empty text that means false.
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            _ => value.is_truthy(),
        }));
    }
    if let Some(value) = object.swap_remove("intValue") {
        return Some(values::integer(&value).unwrap_or_else(|problem| {
            problems.push(format!("an intValue {problem}"));
            Value::Int(0)
        }));
    }
    if let Some(value) = object.swap_remove("doubleValue") {
        return Some(values::float(&value).map_or(Value::Null, Value::Float));
    }
    if let Some(value) = object.swap_remove("bytesValue") {
        let text = value.as_str().map(|recorded| values::base64_text(recorded.to_owned()));
        return Some(text.map_or(Value::Null, Value::String));
    }
    if object.contains_key("arrayValue") {
        let values = take(&mut object_or_empty(take(&mut object, "arrayValue")), "values");
        let mut out = Vec::new();
        for item in part_items(values, "arrayValue.values", problems) {
            if let Value::Object(item) = item {
                out.push(any_value_at(item, depth + 1, problems).unwrap_or_default());
            }
        }
        return Some(Value::Array(out));
    }
    if object.contains_key("kvlistValue") {
        let values = take(&mut object_or_empty(take(&mut object, "kvlistValue")), "values");
        let mut out = Object::default();
        for item in part_items(values, "kvlistValue.values", problems) {
            let Value::Object(item) = item else { continue };
            let [Value::String(key), value] = take_all(item, ["key", "value"]) else { continue };
            let value = match value {
                Value::Object(value) => {
                    any_value_at(value, depth + 1, problems).unwrap_or_default()
                }
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

/// Renames the `snake_case` keys of an object to camel case. Objects inside it keep their keys.
///
/// A field in both spellings is marked as a repeated key, and the value of the camel case one counts, as in the index.
pub(super) fn camel_keys(object: &mut Object) {
    if !object.keys().any(|key| is_snake_case(key)) {
        return;
    }
    let recorded = mem::take(object);
    object.reserve(recorded.len());
    for (key, value) in recorded {
        let is_snake = is_snake_case(&key);
        let key = if is_snake { camel_case(&key).into_owned() } else { key };
        let is_repeated = object.contains_key(&key);
        if !(is_snake && is_repeated) {
            object.insert(key.clone(), value);
        }
        if is_repeated {
            mark_repeated(object, key);
        }
    }
}

/// Returns true for a key of several words in lower case.
fn is_snake_case(key: &str) -> bool {
    key.contains('_')
        && key.split('_').all(|word| !word.is_empty())
        && !key.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{NonFinite, ParseOptions, parse, take_repeated_key, to_string};

    fn decoded(text: &str) -> (String, Vec<String>) {
        let value = parse(text, &ParseOptions::default()).expect("valid").value;
        let mut problems = Vec::new();
        let attributes = attributes(value, &mut problems);
        (to_string(&Value::Object(attributes), NonFinite::Literal), problems)
    }

    fn value(text: &str) -> String {
        let (attributes, problems) = decoded(&format!(r#"[{{"key": "k", "value": {text}}}]"#));
        assert_eq!(problems, Vec::<String>::new());
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
        let (attributes, problems) = decoded(
            r#"[{"key": "a", "value": {"intValue": "inf"}}, {"key": "b", "value": {"arrayValue": {"values": 5}}}]"#,
        );
        assert_eq!(attributes, r#"{"a":0,"b":[]}"#);
        assert_eq!(
            problems,
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

    #[test]
    fn keys_of_the_object_itself_are_renamed() {
        let text = r#"{"start_time_unix_nano": 1, "traceId": "a_b", "attributes": {"a_b": 1}}"#;
        let Ok(Value::Object(mut object)) =
            parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
        else {
            panic!("an object");
        };
        camel_keys(&mut object);
        assert_eq!(
            to_string(&Value::Object(object.clone()), NonFinite::Null),
            r#"{"startTimeUnixNano":1,"traceId":"a_b","attributes":{"a_b":1}}"#
        );
        for text in [r#"{"traceId": "a", "trace_id": "b"}"#, r#"{"trace_id": "b", "traceId": "a"}"#]
        {
            let Ok(Value::Object(mut object)) =
                parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
            else {
                panic!("an object");
            };
            camel_keys(&mut object);
            assert_eq!(object["traceId"].as_str(), Some("a"), "{text}");
            assert_eq!(take_repeated_key(&mut object).as_deref(), Some("traceId"));
        }
    }
}
