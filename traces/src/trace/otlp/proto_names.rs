//! Objects written with the field names of the protobuf definition.

use std::mem;

use crate::json::{self, Object, REPEATED_KEY, Value};

/// Puts the `snake_case` keys of an object into camel case; objects inside it keep theirs.
///
/// A field that is there in both spellings is marked as a repeated key, and the value of the camel case one counts: the
/// index, which reads members in the order of the text, decides the same.
pub(super) fn camel_keys(object: &mut Object) {
    if !object.keys().any(|key| is_snake_case(key)) {
        return;
    }
    let recorded = mem::take(object);
    object.reserve(recorded.len());
    for (key, value) in recorded {
        let is_snake = is_snake_case(&key);
        let key = if is_snake { json::camel_case(&key).into_owned() } else { key };
        let is_repeated = object.contains_key(&key);
        if !(is_snake && is_repeated) {
            object.insert(key.clone(), value);
        }
        if is_repeated {
            let repeated = object.entry(REPEATED_KEY.to_owned()).or_default();
            let mut keys = repeated.as_array().unwrap_or_default().to_vec();
            keys.push(Value::String(key));
            *repeated = Value::Array(keys);
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
