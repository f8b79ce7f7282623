//! Keys in the two spellings that protobuf's and pydantic's JSON have.

use std::borrow::Cow;

/// The camel-case spelling of a `snake_case` key; a key without `_` as it is.
pub fn camel_case(key: &str) -> Cow<'_, str> {
    let mut words = key.split('_');
    let Some(first) = words.next().filter(|first| first.len() < key.len()) else {
        return Cow::Borrowed(key);
    };
    let mut out = first.to_owned();
    for word in words {
        let mut characters = word.chars();
        out.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(characters.as_str());
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::camel_case;

    #[test]
    fn words_are_joined() {
        for (key, expected) in [
            ("start_time_unix_nano", "startTimeUnixNano"),
            ("traceId", "traceId"),
            ("", ""),
            ("_", ""),
            ("_a__b_", "AB"),
            ("a_é_1", "aÉ1"),
        ] {
            assert_eq!(camel_case(key), expected, "{key:?}");
        }
    }
}
