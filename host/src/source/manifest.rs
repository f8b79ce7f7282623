//! The YAML files that describe the evaluators of a source.

use std::path::Path;

use evaluator_document::{Field, Fields, NodeKind};

use super::{Entry, Reference, SourceError, reference::join};

/// Name of the file that describes an evaluator.
pub(super) const FILE: &str = "evaluator.yaml";

/// Maximum size of the file in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Reads a manifest; `folder` is the directory of the evaluator, as a path inside the source.
pub(super) fn entry(bytes: &[u8], place: &str, folder: &str) -> Result<Entry, SourceError> {
    read(bytes, place, |root| {
        let mut fields =
            mapping(root, "this manifest", "a manifest is a mapping with `name` and `entrypoint`")?;
        let mut entry = entry_fields(&mut fields)?;
        let entrypoint = fields.require("entrypoint")?;
        let path = join(folder, text(entrypoint)?);
        if let Err(error) = Reference::parse(&path) {
            return entrypoint.add(format!("the path of its file {error}: `{path}`")).none();
        }
        entry.reference = Some(path);
        Some(entry)
    })
}

/// Reads YAML with `read`, which returns `None` only after it has added a problem; `place` is its name in messages.
pub(super) fn read<T>(
    bytes: &[u8],
    place: &str,
    read: impl FnOnce(Field<'_>) -> Option<T>,
) -> Result<T, SourceError> {
    let malformed = |place: String, reason| SourceError::Malformed { place, reason };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        malformed(place.to_owned(), format!("it is not UTF-8 (byte {})", error.valid_up_to()))
    })?;
    let empty = evaluator_document::Node::from(&crate::json::Value::Null);
    let parsed = evaluator_document::parse(text, Path::new(place), |root, problems| {
        read(root.unwrap_or(&empty).field("", problems))
    });
    parsed.map_err(|mut error| {
        let first = error.problems.swap_remove(0);
        let at = first.place.filter(|_| !text.is_empty());
        let at = at.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        malformed(format!("{place}{at}"), first.message)
    })
}

/// Returns the keys of a mapping; `what` says what it should be. The caller need not [`finish`](Fields::finish) them, as
/// newer generators write more keys.
pub(super) fn mapping<'n>(field: Field<'n>, noun: &'static str, what: &str) -> Option<Fields<'n>> {
    if !field.is_mapping() {
        return field.add(format!("{what}, not {}", field.noun())).none();
    }
    let mut fields = field.fields(noun)?;
    fields.null_is_absent();
    Some(fields)
}

/// Takes the keys that manifests and indexes share.
pub(super) fn entry_fields(fields: &mut Fields<'_>) -> Option<Entry> {
    let name = text(fields.require("name")?)?.to_owned();
    let mut optional = |key| match fields.take(key) {
        Some(field) => text(field).map(str::to_owned),
        None => Some(String::new()),
    };
    let (description, language) = (optional("description")?, optional("language")?);
    let author = optional("author")?;
    let tags = fields.take("tags").map_or(Some(Vec::new()), texts)?;
    Some(Entry { name, description, language, tags, author, reference: None })
}

/// Returns text, which may be empty.
pub(super) fn text(field: Field<'_>) -> Option<&str> {
    field.node.as_str().or_else(|| field.expected("text").none())
}

fn texts(field: Field<'_>) -> Option<Vec<String>> {
    let NodeKind::Sequence(items) = &field.node.kind else {
        return field.expected("a list of texts").none();
    };
    let texts: Option<_> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.or_else(|| field.add("`tags` must be a list of texts, not a list of other things").none())
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
            ("name: a\n", "m:1:1: the key `entrypoint` is missing in this manifest"),
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
