//! Reads the YAML files that sources are described by, with the place of what is wrong.

use super::{Entry, Reference, SourceError, reference::join};
use evaluator_document::{Node, NodeKind, Place, Span, read_yaml};

/// Name of the file that describes an evaluator.
pub(super) const FILE: &str = "evaluator.yaml";

/// Bytes it may have.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Reads a manifest; `folder` is the evaluator's, as a path inside the source.
pub(super) fn entry(bytes: &[u8], place: &str, folder: &str) -> Result<Entry, SourceError> {
    let reader = Reader::new(bytes, place)?;
    let root = reader.root("a manifest is a mapping with `name` and `entrypoint`")?;
    let required = |key: &str| {
        reader
            .text(&root, key)?
            .ok_or_else(|| reader.error_at(0, &format!("the key `{key}` is missing")))
    };
    let name = required("name")?;
    let path = join(folder, &required("entrypoint")?);
    if let Err(error) = Reference::parse(&path) {
        let node = reader.value(&root, "entrypoint");
        let span = node.map_or(Span { start: 0, end: 0 }, |node| node.span);
        return Err(reader.error_in(span, &format!("the path of its file {error}: `{path}`")));
    }
    Ok(Entry {
        name,
        reference: Some(path),
        description: reader.text(&root, "description")?.unwrap_or_default(),
        language: reader.text(&root, "language")?.unwrap_or_default(),
        tags: reader.texts(&root, "tags")?,
        author: reader.text(&root, "author")?.unwrap_or_default(),
    })
}

/// A YAML text, and what to call it in messages. Unknown keys are left alone: newer generators write them.
pub(super) struct Reader<'a> {
    text: &'a str,
    place: &'a str,
}

/// The entries of a mapping.
pub(super) type Entries = [(Node, Node)];

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], place: &'a str) -> Result<Self, SourceError> {
        let text = std::str::from_utf8(bytes).map_err(|error| SourceError::Malformed {
            place: place.to_owned(),
            reason: format!("it is not UTF-8 (byte {})", error.valid_up_to()),
        })?;
        Ok(Self { text, place })
    }

    /// The entries of the text; `what` says what it must be.
    pub(super) fn root(&self, what: &str) -> Result<Vec<(Node, Node)>, SourceError> {
        match read_yaml(self.text) {
            Ok(Some(node)) => self.mapping(&node, what).map(<[_]>::to_vec),
            Ok(None) => Err(SourceError::Malformed {
                place: self.place.to_owned(),
                reason: format!("{what}, not nothing"),
            }),
            Err(error) => Err(self.error_in(error.span, &error.message)),
        }
    }

    pub(super) fn mapping<'n>(
        &self,
        node: &'n Node,
        what: &str,
    ) -> Result<&'n Entries, SourceError> {
        match &node.kind {
            NodeKind::Mapping(entries) => Ok(entries),
            _ => Err(self.error(node, &format!("{what}, not {}", node.noun()))),
        }
    }

    /// The value of a key.
    pub(super) fn find<'n>(&self, entries: &'n Entries, key: &str) -> Option<&'n Node> {
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// The value of a key; `null` counts as absent.
    pub(super) fn value<'n>(&self, entries: &'n Entries, key: &str) -> Option<&'n Node> {
        self.find(entries, key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, entries: &Entries, key: &str) -> Result<Option<String>, SourceError> {
        let Some(node) = self.value(entries, key) else { return Ok(None) };
        match node.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.error(node, &format!("`{key}` must be text, not {}", node.noun()))),
        }
    }

    pub(super) fn texts(&self, entries: &Entries, key: &str) -> Result<Vec<String>, SourceError> {
        let Some(node) = self.value(entries, key) else { return Ok(Vec::new()) };
        let texts = match &node.kind {
            NodeKind::Sequence(items) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        };
        texts.ok_or_else(|| {
            self.error(node, &format!("`{key}` must be a list of texts, not {}", noun_of(node)))
        })
    }

    pub(super) fn error(&self, node: &Node, message: &str) -> SourceError {
        self.error_in(node.span, message)
    }

    pub(super) fn error_at(&self, offset: usize, message: &str) -> SourceError {
        self.error_in(Span { start: offset, end: offset }, message)
    }

    fn error_in(&self, span: Span, message: &str) -> SourceError {
        let place = Place::new(self.text, span);
        SourceError::Malformed {
            place: format!("{}:{}:{}", self.place, place.line, place.column),
            reason: message.to_owned(),
        }
    }
}

/// What a person calls it, where a list was expected or one of other things.
pub(super) fn noun_of(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Sequence(_) => "a list of other things",
        _ => node.noun(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_gives_the_reference_of_its_evaluator() {
        let text = "name: polite\ndescription: Is it?\nlanguage: rust\nentrypoint: src/main.rs\ntags: []\nauthor: ''\nprotocol: 2\n";
        let entry = entry(text.as_bytes(), "m", "polite").unwrap();
        assert_eq!(entry.reference.as_deref(), Some("polite/src/main.rs"));
        assert_eq!((entry.name.as_str(), entry.author.as_str()), ("polite", ""));
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("name: a\n", "m:1:1: the key `entrypoint` is missing"),
            ("name: 5\nentrypoint: a.py\n", "m:1:7: `name` must be text, not a number"),
            (
                "name: a\nentrypoint: a.py\ntags: [a, 1]\n",
                "m:3:7: `tags` must be a list of texts, not a list of other things",
            ),
            ("- a\n", "m:1:1: a manifest is a mapping with `name` and `entrypoint`, not a list"),
        ] {
            assert_eq!(entry(text.as_bytes(), "m", "f").unwrap_err().to_string(), expected);
        }
    }
}
