//! Values that stay text while what is around them is parsed.
//!
//! Recordings repeat large values, such as results of tools in the history of each model call, of which hardly any is
//! looked at. To pass over them costs a small part of what it costs to build them.

use super::{
    error::ParseErrorKind,
    parse::Open,
    scan::{ScanError, Scanner},
};

/// A step on the way from the top of a text to a value.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// To the items of an array.
    Items,
    /// To a member of an object.
    Member(&'static str),
    /// To the members of an object.
    Members,
}

/// Ways to values.
pub type Paths = &'static [&'static [Step]];

/// Bytes that are looked at together.
const PIECE: usize = 4 << 10;

/// Whether the next value of the innermost container is at one of these places.
pub(crate) fn is_opaque(open: &[Open], paths: Paths) -> bool {
    paths.iter().any(|path| {
        path.len() == open.len()
            && path.iter().zip(open).all(|(step, open)| match (step, open) {
                (Step::Items, Open::Array(_)) | (Step::Members, Open::Object(..)) => true,
                (Step::Member(name), Open::Object(_, key)) => name == key,
                _ => false,
            })
    })
}

/// Passes over the value that `text` starts with, in so many containers: its length and its lone surrogates.
pub(crate) fn pass(text: &str, depth: usize) -> Result<(usize, usize), (ParseErrorKind, usize)> {
    let mut scanner = Scanner::inside(text, PIECE, depth);
    match scanner.skip_value() {
        Ok(()) => Ok((scanner.offset(), scanner.lone_surrogates)),
        Err(ScanError::Json { kind, offset }) => Err((kind, offset)),
        // A text in memory can be read, and is text.
        Err(ScanError::Interrupted(_)) => Err((ParseErrorKind::UnexpectedEnd, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NonFinite, ParseOptions, Value, parse_leaving, parse_python, to_string};

    fn parse_python_leaving(text: &str, opaque: Paths) -> Option<Value> {
        parse_leaving(text, &ParseOptions::default(), opaque).ok().map(|parsed| parsed.value)
    }

    const PATHS: Paths = &[&[Step::Items, Step::Members, Step::Items, Step::Member("r")]];

    #[test]
    fn values_at_the_places_are_their_text() {
        let text = r#"[{"a": [{"r": {"x": [1, "\u00e9]"]}, "s": {"r": {}}, "q": 1}, {"r": 5}, {"r": "t"}], "r": {"r": []}}]"#;
        let value = parse_python_leaving(text, PATHS).unwrap();
        assert_eq!(
            to_string(&value, NonFinite::Literal),
            r#"[{"a":[{"r":"{\"x\": [1, \"\\u00e9]\"]}","s":{"r":{}},"q":1},{"r":5},{"r":"t"}],"r":{"r":[]}}]"#
        );
    }

    #[test]
    fn what_is_no_json_is_none_in_both_ways() {
        let deep = |levels: usize| {
            format!("[{{\"a\": [{{\"r\": {}{}}}]}}]", "[".repeat(levels), "]".repeat(levels))
        };
        for (text, is_json) in [
            (deep(996), true),
            (deep(997), false),
            ("[{\"a\": [{\"r\": [1,]}]}]".to_owned(), false),
            ("[{\"a\": [{\"r\": {\"\\x\": 1}}]}]".to_owned(), false),
            ("[{\"a\": [{\"r\": [1".to_owned(), false),
            ("[{\"a\": [{\"r\": []}]}] x".to_owned(), false),
            ("  \"r\"".to_owned(), true),
            ("prose".to_owned(), false),
        ] {
            assert_eq!(parse_python(&text).is_some(), is_json, "{text}");
            assert_eq!(parse_python_leaving(&text, PATHS).is_some(), is_json, "{text}");
        }
    }
}
