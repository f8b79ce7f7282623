//! Repeated keys in a value that was read with [`RepeatedKeys::Mark`](super::RepeatedKeys::Mark).

use super::{
    ParseOptions, REPEATED_KEY, RepeatedKeys, Surrogates,
    parse::MAX_DEPTH,
    value::{Object, Value},
};

/// The default options with [`RepeatedKeys::Mark`].
pub const MARKED: ParseOptions = ParseOptions {
    max_depth: MAX_DEPTH,
    non_finite: true,
    surrogates: Surrogates::Replace,
    repeated_keys: RepeatedKeys::Mark,
};

/// Removes the mark of an object, not of those inside it, and returns the first of `keys` that is repeated.
pub fn take_repeated_among(object: &mut Object, keys: &[&'static str]) -> Option<&'static str> {
    let Some(Value::Array(repeated)) = object.shift_remove(REPEATED_KEY) else { return None };
    keys.iter()
        .find(|key| repeated.iter().any(|repeated| repeated.as_str() == Some(**key)))
        .copied()
}

/// Removes all marks of repeated keys, and returns the first such key in the order of the text.
pub fn take_repeated_key(object: &mut Object) -> Option<String> {
    let own = match object.shift_remove(REPEATED_KEY) {
        Some(Value::Array(keys)) => keys.first().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let mut inside = None;
    for value in object.values_mut() {
        inside = take_from(value, inside);
    }
    own.or(inside)
}

fn take_from(value: &mut Value, found: Option<String>) -> Option<String> {
    match value {
        Value::Object(object) => {
            let own = take_repeated_key(object);
            found.or(own)
        }
        Value::Array(items) => items.iter_mut().fold(found, |found, item| take_from(item, found)),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn marks_are_found_at_any_depth_and_removed() {
        let text = r#"{"a": [{"b": 1, "b": {"c": 2}}], "d": {"e": 1, "e": 2}}"#;
        let Ok(Value::Object(mut object)) = parse(text, &MARKED).map(|parsed| parsed.value) else {
            panic!("an object");
        };
        assert_eq!(take_repeated_key(&mut object).as_deref(), Some("b"));
        assert_eq!(take_repeated_key(&mut object), None);
        let plain = crate::to_python_in_order(&Value::Object(object));
        assert_eq!(plain, r#"{"a": [{"b": {"c": 2}}], "d": {"e": 2}}"#);
    }

    #[test]
    fn rejected_keys_have_a_position() {
        let options =
            ParseOptions { repeated_keys: RepeatedKeys::Reject, ..ParseOptions::default() };
        let error = parse("{\"a\": 1,\n \"b\": 2, \"a\": 3}", &options).expect_err("repeated");
        assert_eq!((error.line, error.column), (2, 10));
        assert!(parse(r#"[{"a": 1}, {"a": 2}]"#, &options).is_ok());
    }
}
