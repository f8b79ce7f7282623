//! Complaints of serde, in the terms of JSON.

/// Says "object" and "array" where serde, which knows more formats than JSON, says "map" and "sequence".
///
/// Only the two places are touched in which serde itself speaks of what it found and of what it expected. Between them may
/// stand a text of the document.
pub(crate) fn in_json(reason: String) -> String {
    let Some(rest) = reason.strip_prefix("invalid type: ") else { return reason };
    let Some((found, expected)) = rest.rsplit_once(", expected ") else { return reason };
    let found = match found {
        "map" => "object",
        "sequence" => "array",
        other => other,
    };
    format!("invalid type: {found}, expected {}", expected_in_json(expected))
}

fn expected_in_json(expected: &str) -> String {
    match expected {
        "a map" => "an object".to_owned(),
        "a sequence" => "an array".to_owned(),
        "unit" => "null".to_owned(),
        _ => {
            if let Some(name) = expected.strip_prefix("struct ").filter(|name| !name.contains(' '))
            {
                // Of a user's settings the type is worth knowing.
                return format!("an object (`{name}`)");
            }
            match expected.strip_prefix("a tuple of size ") {
                Some(size) => format!("an array of {size}"),
                None => expected.to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_json;

    #[test]
    fn only_words_of_serde_change() {
        for (serde, json) in [
            ("invalid type: map, expected a sequence", "invalid type: object, expected an array"),
            ("invalid type: sequence, expected a map", "invalid type: array, expected an object"),
            (
                "invalid type: null, expected struct Settings",
                "invalid type: null, expected an object (`Settings`)",
            ),
            (
                "invalid type: map, expected a tuple of size 2",
                "invalid type: object, expected an array of 2",
            ),
            (
                "invalid type: string \"map, expected a map\", expected a sequence",
                "invalid type: string \"map, expected a map\", expected an array",
            ),
            ("invalid type: map, expected a string", "invalid type: object, expected a string"),
            ("unknown field `map`, expected a map", "unknown field `map`, expected a map"),
            ("missing field `sequence`", "missing field `sequence`"),
        ] {
            assert_eq!(in_json(serde.to_owned()), json);
        }
    }

    #[test]
    fn what_serde_says_is_known() {
        let said = |error: serde_json::Error| in_json(error.to_string());
        let error = serde_json::from_value::<Vec<u8>>(serde_json::json!({}));
        assert_eq!(said(error.unwrap_err()), "invalid type: object, expected an array");
        let error =
            serde_json::from_value::<std::collections::BTreeMap<String, u8>>(serde_json::json!([
                1
            ]));
        assert_eq!(said(error.unwrap_err()), "invalid type: array, expected an object");
        let error = serde_json::from_value::<(u8, u8)>(serde_json::json!({}));
        assert_eq!(said(error.unwrap_err()), "invalid type: object, expected an array of 2");
    }
}
