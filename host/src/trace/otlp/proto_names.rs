//! Documents written with the field names of the protobuf definition.

use crate::json::{Object, Value};

/// The document with every `snake_case` key in camel case. Attributes that are an object keep their keys: those are
/// names of the recording and not of the format.
pub(super) fn camel_case(object: Object) -> Object {
    object
        .into_iter()
        .map(|(key, value)| {
            let key = camel_case_key(key);
            let value = if key == "attributes" && value.as_object().is_some() {
                value
            } else {
                camel_value(value)
            };
            (key, value)
        })
        .collect()
}

fn camel_value(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(camel_case(object)),
        Value::Array(items) => Value::Array(items.into_iter().map(camel_value).collect()),
        scalar => scalar,
    }
}

fn camel_case_key(key: String) -> String {
    let mut words = key.split('_');
    let Some(first) = words.next().filter(|first| first.len() < key.len()) else { return key };
    let mut out = first.to_owned();
    for word in words {
        let mut characters = word.chars();
        out.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(characters.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{NonFinite, ParseOptions, parse, to_string};

    #[test]
    fn keys_are_renamed_except_in_attribute_objects() {
        let text = r#"{"resource_spans": [{"scope_spans": [{"start_time_unix_nano": 1, "traceId": "a_b"}],
            "attributes": {"a_b": {"c_d": 1}}}], "attributes": [{"key": "a_b", "value": {"string_value": "x_y"}}]}"#;
        let Ok(Value::Object(object)) =
            parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
        else {
            panic!("an object");
        };
        assert_eq!(
            to_string(&Value::Object(camel_case(object)), NonFinite::Null),
            r#"{"resourceSpans":[{"scopeSpans":[{"startTimeUnixNano":1,"traceId":"a_b"}],"attributes":{"a_b":{"c_d":1}}}],"attributes":[{"key":"a_b","value":{"stringValue":"x_y"}}]}"#
        );
    }
}
