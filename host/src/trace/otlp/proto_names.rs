//! Documents written with the field names of the protobuf definition.

use std::{borrow::Cow, mem};

use crate::json::{self, Object, Value};

/// Puts every `snake_case` key of the document into camel case. Attributes that are an object keep their keys: those
/// are names of the recording and not of the format.
///
/// Plain loops, because documents nest deep and the frames of iterator chains are large.
pub(super) fn camel_case(object: &mut Object) {
    let recorded = mem::take(object);
    object.reserve(recorded.len());
    for (key, mut value) in recorded {
        let key = match json::camel_case(&key) {
            Cow::Owned(renamed) => renamed,
            Cow::Borrowed(_) => key,
        };
        if key != "attributes" || value.as_object().is_none() {
            camel_value(&mut value);
        }
        object.insert(key, value);
    }
}

fn camel_value(value: &mut Value) {
    match value {
        Value::Object(object) => camel_case(object),
        Value::Array(items) => {
            for item in items {
                camel_value(item);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{NonFinite, ParseOptions, parse, to_string};

    #[test]
    fn keys_are_renamed_except_in_attribute_objects() {
        let text = r#"{"resource_spans": [{"scope_spans": [{"start_time_unix_nano": 1, "traceId": "a_b"}],
            "attributes": {"a_b": {"c_d": 1}}}], "attributes": [{"key": "a_b", "value": {"string_value": "x_y"}}]}"#;
        let Ok(Value::Object(mut object)) =
            parse(text, &ParseOptions::default()).map(|parsed| parsed.value)
        else {
            panic!("an object");
        };
        camel_case(&mut object);
        assert_eq!(
            to_string(&Value::Object(object), NonFinite::Null),
            r#"{"resourceSpans":[{"scopeSpans":[{"startTimeUnixNano":1,"traceId":"a_b"}],"attributes":{"a_b":{"c_d":1}}}],"attributes":[{"key":"a_b","value":{"stringValue":"x_y"}}]}"#
        );
    }
}
