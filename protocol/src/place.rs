//! Places in the text of a document: the path of a field, and an excerpt.

/// The path of the value that ends with, or is about to follow, the first `consumed` bytes, e.g.
/// `invocations[0].final_response`; empty for the document itself.
///
/// Walks the text instead of following the deserializer, which would have to be compiled a second time for every type
/// in order to be followed. Only called for text that was read as JSON up to there.
pub(crate) fn path_at(bytes: &[u8], consumed: usize) -> String {
    let mut open: Vec<Container<'_>> = Vec::new();
    let mut string_start = None;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().take(consumed) {
        match (string_start, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                string_start = None;
                if let Some(Container::Object { key: key @ None }) = open.last_mut() {
                    *key = Some(&bytes[start..=at]);
                }
            }
            (Some(_), _) => {}
            (None, b'"') => string_start = Some(at),
            (None, b'{') => open.push(Container::Object { key: None }),
            (None, b'[') => open.push(Container::Array { index: 0 }),
            (None, b'}' | b']') => drop(open.pop()),
            (None, b',') => match open.last_mut() {
                Some(Container::Object { key }) => *key = None,
                Some(Container::Array { index }) => *index += 1,
                None => {}
            },
            (None, _) => {}
        }
    }
    let mut path = String::new();
    for container in open {
        match container {
            Container::Object { key: None } => {}
            Container::Object { key: Some(key) } => {
                if !path.is_empty() {
                    path.push('.');
                }
                // A key that was read once can be read again.
                path.push_str(&serde_json::from_slice::<String>(key).unwrap_or_default());
            }
            Container::Array { index } => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

enum Container<'a> {
    /// With the key of the current value, in its quotes.
    Object {
        key: Option<&'a [u8]>,
    },
    Array {
        index: usize,
    },
}

/// How many bytes come before the end of a position as `serde_json` gives it: columns count bytes, from 1.
pub(crate) fn bytes_to(bytes: &[u8], line: usize, column: usize) -> usize {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(previous) => bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(previous)
            .map_or(bytes.len(), |(newline, _)| newline + 1),
    };
    (start + column).min(bytes.len())
}

/// Up to 40 characters before and 20 after an offset, on one line.
pub(crate) fn excerpt_at(bytes: &[u8], offset: usize) -> String {
    let (before, after) = bytes.split_at(offset.min(bytes.len()));
    let before = String::from_utf8_lossy(&before[before.len().saturating_sub(160)..]);
    let after = String::from_utf8_lossy(&after[..after.len().min(80)]);
    let before: Vec<char> = before.chars().collect();
    let excerpt: String = before[before.len().saturating_sub(40)..]
        .iter()
        .copied()
        .chain(after.chars().take(20))
        .collect();
    excerpt.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::path_at;

    #[test]
    fn the_path_follows_the_text() {
        let text = r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}], "e": 2}"#;
        for (last, path) in [
            (r#"{"#, ""),
            (r#"{"a": "#, "a"),
            (r#"{"a": ["#, "a[0]"),
            (r#"{"a": [1"#, "a[0]"),
            (r#"{"a": [1, "#, "a[1]"),
            (r#"{"a": [1, {"b \"c\"": "x,]""#, "a[1].b \"c\""),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": "#, "a[1].d"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}"#, "a[1].d"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}"#, "a[1]"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}]"#, "a"),
            (r#"{"a": [1, {"b \"c\"": "x,]", "d": {}}], "e": 2"#, "e"),
            (text, ""),
        ] {
            assert!(text.starts_with(last), "{last}");
            assert_eq!(path_at(text.as_bytes(), last.len()), path, "{last}");
        }
    }
}
