//! Checks of documents, whatever the contract of the evaluator.

use std::fmt;

use evaluator_json::{self as json, ParseError, ParseErrorKind, ParseOptions};
use evaluator_protocol::{DecodeErrorKind, MAX_DEPTH, agenta::http::ErrorStatus, decode};
use memchr::memchr2_iter;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::Refusal;

/// Keys of AgentV documents that name a file with the answer.
const FILE_KEYS: [&str; 2] = ["output_path", "outputPath"];

/// Returns the error of a request body that no evaluator receives.
///
/// AgentV writes long answers to a file on the judge's machine. A client on the network does not have that file, and must not choose
/// which files of this machine are read.
pub(super) fn refusal(body: &[u8]) -> Option<Refusal> {
    let bad = |status, message| Some(Refusal::new(status, "bad_document", message));
    // Evaluators fail on malformed values of unknown keys, which `decode` skips unread.
    let text = match str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the document is not UTF-8 (byte {})", error.valid_up_to());
            return bad(ErrorStatus::BadRequest, message);
        }
    };
    if let Some(error) = too_deep(text) {
        return bad(ErrorStatus::BadRequest, error.to_string());
    }
    match decode::<NamedFile>(body) {
        Ok(NamedFile(None)) => None,
        Ok(NamedFile(Some(key))) => bad(
            ErrorStatus::NotEvaluated,
            format!("{key}: files are not read for requests; send the answer itself, as `output`"),
        ),
        Err(error) if error.kind == DecodeErrorKind::NotAnObject => {
            bad(ErrorStatus::NotEvaluated, error.to_string())
        }
        Err(error) => bad(ErrorStatus::BadRequest, error.to_string()),
    }
}

/// Returns the error of a document that is nested deeper than hosts write and evaluators read.
fn too_deep(text: &str) -> Option<ParseError> {
    // Most documents have fewer brackets than the limit.
    memchr2_iter(b'[', b'{', text.as_bytes()).nth(MAX_DEPTH)?;
    let options = ParseOptions { max_depth: MAX_DEPTH, ..ParseOptions::default() };
    json::parse(text, &options)
        .err()
        .filter(|error| matches!(error.kind, ParseErrorKind::TooDeep { .. }))
}

/// Key of a document that names a file.
struct NamedFile(Option<&'static str>);

impl<'de> Deserialize<'de> for NamedFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys).map(Self)
    }
}

/// Visits all keys, because a key may be repeated.
struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match FILE_KEYS.into_iter().find(|it| *it == key) {
                Some(key) if map.next_value::<Option<IgnoredAny>>()?.is_some() => found = Some(key),
                Some(_) => {}
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &[u8]) -> Option<(u16, String)> {
        refusal(body).map(|refusal| (refusal.status.code(), refusal.message))
    }

    #[test]
    fn a_file_is_named_however_it_is_written() {
        let nested = format!("{}{}", "[".repeat(300), "]".repeat(300));
        for document in [
            r#"{"output_path": "/etc/passwd"}"#.to_owned(),
            r#"{"outputPath": 1}"#.to_owned(),
            r#"{"output\u005fpath": "x"}"#.to_owned(),
            r#"{"output_path": "x", "output_path": null}"#.to_owned(),
            r#"{"output_path": null, "outputPath": "x"}"#.to_owned(),
            format!(r#"{{"config": {nested}, "output_path": null, "output_path": "x"}}"#),
        ] {
            let (status, message) = refused(document.as_bytes()).unwrap();
            assert_eq!(status, 422, "{document}");
            assert!(message.contains("files are not read for requests"), "{message}");
        }
        for document in [r#"{"output_path": null}"#, r#"{"config": {"output_path": "x"}}"#, "{}"] {
            assert_eq!(refused(document.as_bytes()), None, "{document}");
        }
    }

    #[test]
    fn what_is_no_json_is_no_document() {
        for (document, status) in [
            (&b""[..], 400),
            (b"{", 400),
            (b"{\"x\": NaN}", 400),
            (b"{\"x\": \"\xe9\"}", 400),
            (b"{\"x\": 1} {}", 400),
            (b"[1]", 422),
            (b"null", 422),
        ] {
            assert_eq!(refused(document).unwrap().0, status, "{}", document.escape_ascii());
        }
        let nested = |levels: usize| {
            format!(r#"{{"more": {}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        assert_eq!(refused(nested(512).as_bytes()), None);
        let (status, message) = refused(nested(513).as_bytes()).unwrap();
        assert_eq!(status, 400);
        assert!(message.contains("nested deeper than 512 levels at line 1"), "{message}");
        // Many brackets are not deep.
        let wide = format!(r#"{{"more": [{}1]}}"#, "[],".repeat(1000));
        assert_eq!(refused(wide.as_bytes()), None);
    }
}
