//! Keys as AgentV writes them.

use crate::json::Value;

/// The value with every key in snake_case, as AgentV rewrites what it passes on: each upper-case letter becomes `_` and its
/// lower-case form, unless the key begins with one.
pub(super) fn snake_case(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(snake_case).collect()),
        Value::Object(object) => Value::Object(
            object.iter().map(|(key, value)| (in_snake_case(key), snake_case(value))).collect(),
        ),
        other => other.clone(),
    }
}

fn in_snake_case(key: &str) -> String {
    if key.starts_with(|first: char| first.is_ascii_uppercase()) {
        return key.to_owned();
    }
    let mut written = String::with_capacity(key.len());
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            written.push('_');
        }
        written.push(letter.to_ascii_lowercase());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_rewritten_as_agentv_does() {
        for (key, written) in [
            ("filePath", "file_path"),
            ("minLength", "min_length"),
            ("Tags", "Tags"),
            ("Read", "Read"),
            ("aBC", "a_b_c"),
            ("snake_case", "snake_case"),
            ("été", "été"),
        ] {
            assert_eq!(in_snake_case(key), written);
        }
    }
}
