//! Cases: documents of hosts, and faults.

use std::path::Path;

use serde::Serialize;

/// Name of the documents that contain every key.
pub(super) const PLAIN: &str = "plain";

/// Bytes that a large document has more than a plain one.
const LARGE: usize = 1 << 20;

/// Bytes that a huge document has more than a plain one: more than any buffer on the way holds.
pub(super) const HUGE: usize = 20 << 20;

/// Bytes of an answer in a file. AgentV writes answers with more than 50,000 characters to a file.
const FILE_BACKED: usize = 80_000;

/// Placeholder in a document for the path of the file that contains the answer.
const PATH: &str = "@OUTPUT_PATH@";

/// Text by which documents grow: whole sentences, with characters of two and three bytes.
const FILLER: &str = "Zug fällt aus – bitte warten. ";

/// A document of a host, or a fault, and the expected behavior of a good program.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Name in reports.
    pub(super) name: &'static str,
    /// Expected behavior.
    pub(super) kind: Kind,
    /// Names of the releases that send these bytes.
    pub(super) releases: &'static [&'static str],
    /// Number of turns in the document.
    pub(super) turns: usize,
    /// The bytes.
    pub(super) body: Body,
}

/// Expected behavior of a good program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A document of the host: it is answered or refused.
    Document,
    /// A document with unknown keys: it is answered if it is answered without them.
    Additive,
    /// An unusual document, which a program need not understand: it is answered or refused.
    Odd,
    /// Not a document: it is refused.
    Broken,
}

impl Case {
    /// A document that releases of a host send.
    pub(crate) fn document(
        name: &'static str,
        releases: &'static [&'static str],
        turns: usize,
        text: impl Into<String>,
    ) -> Self {
        Self { name, kind: Kind::Document, releases, turns, body: Body::new(text) }
    }

    /// A document whose answer is in a file of its own.
    pub(crate) fn file_backed(
        name: &'static str,
        releases: &'static [&'static str],
        text: &str,
    ) -> Self {
        let body = Body::grown(text, "@ANSWER@", FILE_BACKED);
        Self { body, ..Self::document(name, releases, 1, "") }
    }
}

/// A plain document of a host.
#[derive(Debug)]
pub(crate) struct Base {
    /// Names of the releases that send it.
    pub(crate) releases: &'static [&'static str],
    /// Text of the document.
    pub(crate) text: &'static str,
    /// Number of turns in it.
    pub(crate) turns: usize,
    /// Text that the host writes after the document.
    pub(crate) end: &'static str,
    /// Text in the document that may be longer.
    pub(crate) grows: &'static str,
    /// A replacement in the text that makes an unusual document: name, from, to.
    pub(crate) odd: Option<[&'static str; 3]>,
}

impl Base {
    /// Returns the plain document and a large one.
    pub(crate) fn documents(&self) -> [Case; 2] {
        let whole = format!("{}{}", self.text, self.end);
        [
            self.case(PLAIN, Kind::Document, Body::new(&*whole)),
            self.case("large", Kind::Document, Body::grown(&*whole, self.grows, LARGE)),
        ]
    }

    fn case(&self, name: &'static str, kind: Kind, body: Body) -> Case {
        Case { name, kind, releases: self.releases, turns: self.turns, body }
    }

    pub(super) fn faults(&self) -> Vec<Case> {
        let whole = format!("{}{}", self.text, self.end);
        // A later release of the host may add keys.
        let additive =
            whole.replacen('{', r#"{"not_known_yet": {"nested": [1, null, "text"]}, "#, 1);
        let mut cases = vec![self.case("unknown keys", Kind::Additive, Body::new(additive))];
        if let Some([name, from, to]) = self.odd {
            cases.push(self.case(name, Kind::Odd, Body::new(whole.replacen(from, to, 1))));
        }
        let half = (0..=self.text.len() / 2).rev().find(|at| self.text.is_char_boundary(*at));
        let half = half.unwrap_or_default();
        cases.extend([
            self.case("byte order mark", Kind::Odd, Body::new(format!("\u{feff}{whole}"))),
            self.case("huge", Kind::Odd, Body::grown(whole, self.grows, HUGE)),
            self.case("cut short", Kind::Broken, Body::new(&self.text[..half])),
        ]);
        cases
    }
}

/// The bytes of a case; those of large ones are made when they are needed.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) text: String,
    /// A text in the document that grows, and the number of bytes by which all its occurrences grow together.
    pub(super) grows: Option<(&'static str, usize)>,
    /// Whether the document is broken after its first byte.
    pub(super) broken: bool,
}

impl Body {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), grows: None, broken: false }
    }

    pub(super) fn grown(text: impl Into<String>, at: &'static str, by: usize) -> Self {
        Self { grows: Some((at, by)), ..Self::new(text) }
    }

    /// Returns the content of the file with the answer, if the document names one.
    pub(super) fn file(&self) -> Option<String> {
        self.text.contains(PATH).then(|| {
            let by = self.grows.map_or(0, |(_, by)| by);
            format!("\"{}\"", FILLER.repeat(by / FILLER.len()))
        })
    }

    /// Returns the bytes that are sent; `file` is the path of the file with the answer.
    pub(super) fn bytes(&self, file: Option<&Path>) -> Vec<u8> {
        let mut text = self.text.clone();
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
    fn a_document_grows_at_every_occurrence() {
        let body = Body::grown(r#"{"a": "x!", "b": "x!"}"#, "x!", 1000);
        let bytes = body.bytes(None);
        assert!((900..1100).contains(&bytes.len()), "{}", bytes.len());
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["a"], value["b"]);
        let broken = Body { broken: true, ..body }.bytes(None);
        assert!(broken.starts_with(b"{]"));
    }

    #[test]
    fn a_path_is_escaped_as_json() {
        let body = Body::grown(format!(r#"{{"p": "{PATH}"}}"#), "nothing", 100);
        assert!(serde_json::from_str::<String>(&body.file().unwrap()).unwrap().len() > 60);
        let bytes = body.bytes(Some(Path::new("/a \"b\"/c")));
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()["p"], "/a \"b\"/c");
        assert!(Body::new("{}").file().is_none());
    }
}
