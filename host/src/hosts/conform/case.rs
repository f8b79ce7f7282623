//! One thing that is played at a program.

use std::path::Path;

use super::{Host, settings};
use crate::json::Object;

/// A document as hosts send it, or one that no host should, and what is expected of a good program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// What reports call it.
    pub name: &'static str,
    /// What is expected.
    pub kind: Kind,
    /// The hosts that send these very bytes.
    pub hosts: &'static [Host],
    /// How many turns the document has.
    pub turns: usize,
    pub(super) body: Body,
}

/// What is expected of a good program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A document of the host: it is answered in the host's terms, or refused.
    Document,
    /// A document with keys that nobody knows yet: it is answered if it is answered without them.
    Additive,
    /// Something unusual that a program may understand or not: it is answered, or refused.
    Odd,
    /// What is no document: it is refused.
    Broken,
}

impl Kind {
    /// A stable name, e.g. `document`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Additive => "additive",
            Self::Odd => "odd",
            Self::Broken => "broken",
        }
    }
}

/// Stands in a document where the path of a file belongs that holds the answer.
const PATH: &str = "@OUTPUT_PATH@";

/// What a document becomes longer by: whole sentences, with characters of two and three bytes.
const FILLER: &str = "Zug fällt aus – bitte warten. ";

/// The bytes of a case; those of long ones are made when they are needed.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) text: String,
    /// A text of the document that becomes longer, and by how many bytes all its occurrences together.
    pub(super) grows: Option<(&'static str, usize)>,
    /// Breaks the document right after its first byte.
    pub(super) broken: bool,
}

impl Body {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), grows: None, broken: false }
    }

    pub(super) fn grown(text: impl Into<String>, at: &'static str, by: usize) -> Self {
        Self { grows: Some((at, by)), ..Self::new(text) }
    }

    /// The answer that belongs into a file of its own, if there is such a thing.
    pub(super) fn file(&self) -> Option<String> {
        self.text.contains(PATH).then(|| {
            let by = self.grows.map_or(0, |(_, by)| by);
            format!("\"{}\"", FILLER.repeat(by / FILLER.len()))
        })
    }

    /// The bytes that are sent to an evaluator with these settings.
    pub(super) fn bytes(&self, file: Option<&Path>, settings: &Object) -> Vec<u8> {
        let mut text = settings::put_into(&self.text, settings);
        if let Some(file) = file {
            let quoted = serde_json::Value::from(file.to_string_lossy()).to_string();
            text = text.replace(PATH, quoted.trim_matches('"'));
        }
        if let Some((at, by)) = self.grows {
            let filler = FILLER.repeat(by / FILLER.len() / text.matches(at).count().max(1));
            text = text.replace(at, &format!("{at} {filler}"));
        }
        if self.broken {
            text.insert(1, ']');
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_grows_in_all_its_places() {
        let body = Body::grown(r#"{"a": "x!", "b": "x!"}"#, "x!", 1000);
        let bytes = body.bytes(None, &Object::default());
        assert!((900..1100).contains(&bytes.len()), "{}", bytes.len());
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["a"], value["b"]);
        let broken = Body { broken: true, ..body }.bytes(None, &Object::default());
        assert!(broken.starts_with(b"{]"));
    }

    #[test]
    fn a_path_is_written_as_json_has_it() {
        let body = Body::grown(format!(r#"{{"p": "{PATH}"}}"#), "nothing", 100);
        assert!(serde_json::from_str::<String>(&body.file().unwrap()).unwrap().len() > 60);
        let bytes = body.bytes(Some(Path::new("/a \"b\"/c")), &Object::default());
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()["p"], "/a \"b\"/c");
        assert!(Body::new("{}").file().is_none());
    }
}
