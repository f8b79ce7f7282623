//! The YAML files that describe the evaluators of a source: `index.yaml` and `evaluator.yaml`.

use std::path::Path;

use evaluator_document::{Field, Fields, NodeKind};

use super::{
    Entry, Listing, Reference, SourceError,
    model::is_sha256,
    reference::{is_file_path, join},
};

/// Name of the file.
pub(super) const FILE: &str = "index.yaml";

/// Maximum size of an index in bytes.
pub(super) const MAX_BYTES: u64 = 4 << 20;

/// Contents of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    entries: Vec<Indexed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Indexed {
    entry: Entry,
    files: Option<Vec<IndexedFile>>,
}

/// A file of an evaluator in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedFile {
    /// Path inside of the directory of the evaluator.
    pub(super) path: String,
    /// Hexadecimal.
    pub(super) sha256: String,
}

/// Directory of an evaluator with all its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedDirectory<'a> {
    /// Path inside the source.
    pub(super) directory: &'a str,
    pub(super) files: &'a [IndexedFile],
}

impl Index {
    /// Reads the text of an index; `place` is its name in messages.
    pub(super) fn parse(bytes: &[u8], place: &str) -> Result<Self, SourceError> {
        read(bytes, place, |root| {
            let what = "an index is a mapping with the key `evaluators`";
            mapping(root, "this index", what)?;
            let list = root.fields("this index")?.require("evaluators")?;
            // Generators write `null` for an index without evaluators.
            let items = if list.node.is_null() { Vec::new() } else { list.items()? };
            Some(Self { entries: items.into_iter().map(indexed).collect::<Option<_>>()? })
        })
    }

    /// Lists the evaluators. A path that is not a valid reference is a warning.
    pub(super) fn listing(&self) -> Listing {
        let mut listing = Listing::default();
        for Indexed { entry, .. } in &self.entries {
            let mut entry = entry.clone();
            if let Some(path) = &entry.reference
                && let Err(error) = Reference::parse(path)
            {
                let warning =
                    format!("`{}` cannot be fetched: `path` {error}: `{path}`", entry.name);
                listing.warnings.push(warning);
                entry.reference = None;
            }
            listing.entries.push(entry);
        }
        listing
    }

    /// Returns the directory of the evaluator at `reference`, if the index lists its files.
    ///
    /// An entry has the path of the entrypoint only. The directory is that path without the path that the entrypoint has
    /// among the files.
    pub(super) fn directory_of<'a>(&'a self, reference: &'a str) -> Option<IndexedDirectory<'a>> {
        let indexed =
            self.entries.iter().find(|it| it.entry.reference.as_deref() == Some(reference))?;
        let files = indexed.files.as_deref()?;
        let directory_by = |file: &IndexedFile| match reference.strip_suffix(file.path.as_str()) {
            Some("") => Some(""),
            Some(rest) => rest.strip_suffix('/'),
            None => None,
        };
        let directory =
            files.iter().filter_map(directory_by).min_by_key(|directory| directory.len())?;
        Some(IndexedDirectory { directory, files })
    }
}

fn indexed(item: Field<'_>) -> Option<Indexed> {
    let what = "an evaluator is a mapping with `name` and `path`";
    let mut fields = mapping(item, "this evaluator", what)?;
    let mut entry = entry_fields(&mut fields)?;
    if let Some(path) = fields.take("path") {
        entry.reference = Some(text(path)?.to_owned());
    }
    let files = match fields.take("files") {
        Some(field) => Some(files(field)?),
        None => None,
    };
    Some(Indexed { entry, files })
}

fn files(field: Field<'_>) -> Option<Vec<IndexedFile>> {
    let mut files: Vec<IndexedFile> = Vec::new();
    for item in field.items()? {
        let mut fields =
            mapping(item, "this file", "a file is a mapping with `path` and `sha256`")?;
        let path = text(fields.require("path")?)?.to_owned();
        let sha256 = text(fields.require("sha256")?)?.to_ascii_lowercase();
        if !is_file_path(&path) {
            return item
                .add(format!("`{path}` is not a plain path inside of the directory"))
                .none();
        }
        if !is_sha256(&sha256) {
            return item.add("`sha256` must be 64 hexadecimal digits").none();
        }
        if files.iter().any(|file| file.path == path) {
            return item.add(format!("`{path}` is listed twice")).none();
        }
        files.push(IndexedFile { path, sha256 });
    }
    Some(files)
}

/// Name of the file that describes an evaluator.
pub(super) const MANIFEST_FILE: &str = "evaluator.yaml";

/// Maximum size of the file in bytes.
pub(super) const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Reads a manifest; `directory` is the directory of the evaluator, as a path inside the source.
pub(super) fn read_manifest(
    bytes: &[u8],
    place: &str,
    directory: &str,
) -> Result<Entry, SourceError> {
    read(bytes, place, |root| {
        let mut fields =
            mapping(root, "this manifest", "a manifest is a mapping with `name` and `entrypoint`")?;
        let mut entry = entry_fields(&mut fields)?;
        let entrypoint = fields.require("entrypoint")?;
        let path = join(directory, text(entrypoint)?);
        if let Err(error) = Reference::parse(&path) {
            return entrypoint.add(format!("the path of its file {error}: `{path}`")).none();
        }
        entry.reference = Some(path);
        Some(entry)
    })
}

/// Reads YAML with `read`, which returns `None` only after it has added a problem; `place` is its name in messages.
fn read<T>(
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

/// Returns the keys of a mapping; `what` describes the expected mapping in the error. The caller need not [`finish`](Fields::finish) them, as
/// newer generators write more keys.
fn mapping<'n>(field: Field<'n>, noun: &'static str, what: &str) -> Option<Fields<'n>> {
    if !field.is_mapping() {
        return field.add(format!("{what}, not {}", field.noun())).none();
    }
    let mut fields = field.fields(noun)?;
    fields.null_is_absent();
    Some(fields)
}

/// Takes the keys that manifests and indexes share.
fn entry_fields(fields: &mut Fields<'_>) -> Option<Entry> {
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
fn text(field: Field<'_>) -> Option<&str> {
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

    fn parse(text: &str) -> Result<Index, String> {
        Index::parse(text.as_bytes(), "index.yaml").map_err(|error| error.to_string())
    }

    #[test]
    fn an_index_as_the_community_generates_it_is_read() {
        let index = parse(
            "# generated\n\nevaluators:\n  - name: polite\n    description: \"Is it \\\"polite\\\"?\"\n    \
             language: python\n    path: evaluators/polite/polite.py\n    tags: [\"tone\",\"en\"]\n    author: me\n    \
             lastUpdated: 2026-03-19T23:51:20Z\n  - name: bare\n    path: evaluators/bare/bare.js\n    tags: null\n",
        )
        .unwrap();
        let entries = index.listing().entries;
        assert_eq!(entries[0].description, "Is it \"polite\"?");
        assert_eq!(entries[0].tags, ["tone", "en"]);
        assert_eq!(entries[1].reference.as_deref(), Some("evaluators/bare/bare.js"));
        assert_eq!(index.directory_of("evaluators/bare/bare.js"), None);
        assert_eq!(parse("evaluators:\n").unwrap(), Index::default());
    }

    #[test]
    fn the_directory_of_an_evaluator_follows_from_its_files() {
        let hash = "0".repeat(64);
        let text = format!(
            "evaluators:\n- name: a\n  path: e/a/src/main.rs\n  files:\n  - {{path: Cargo.toml, sha256: {hash}}}\n  - {{path: src/main.rs, sha256: '{hash}'}}\n  \
             - {{path: main.rs, sha256: '{hash}'}}\n"
        )
        // A number of zeros only is a number in YAML, too.
        .replace(&format!("sha256: {hash}"), &format!("sha256: '{hash}'"));
        let index = parse(&text).unwrap();
        let found = index.directory_of("e/a/src/main.rs").unwrap();
        assert_eq!((found.directory, found.files.len()), ("e/a", 3));
        assert_eq!(index.directory_of("e/a/src/other.rs"), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let hash = "a".repeat(64);
        let file = |path: &str, hash: &str| {
            format!(
                "evaluators:\n- name: a\n  path: a.py\n  files:\n  - {{path: {path}, sha256: {hash}}}\n"
            )
        };
        for (text, expected) in [
            ("", "index.yaml: an index is a mapping with the key `evaluators`, not nothing"),
            ("[]", "index.yaml:1:1: an index is a mapping with the key `evaluators`, not a list"),
            ("graders: []\n", "index.yaml:1:1: the key `evaluators` is missing in this index"),
            ("evaluators: 5", "index.yaml:1:13: `evaluators` must be a list, not a number"),
            (
                "evaluators:\n- 5\n",
                "index.yaml:2:3: an evaluator is a mapping with `name` and `path`, not a number",
            ),
            (
                "evaluators:\n- path: a.py\n",
                "index.yaml:2:3: the key `name` is missing in this evaluator",
            ),
            ("evaluators:\n- name: [a]\n", "index.yaml:2:9: `name` must be text, not a list"),
            (
                "evaluators:\n- {name: a, tags: 5}\n",
                "index.yaml:2:19: `tags` must be a list of texts, not a number",
            ),
            (
                &file("../a.py", &hash),
                "index.yaml:5:5: `../a.py` is not a plain path inside of the directory",
            ),
            (&file("a.py", "abc"), "index.yaml:5:5: `sha256` must be 64 hexadecimal digits"),
        ] {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
        assert!(parse("evaluators: [").unwrap_err().starts_with("index.yaml:1:"));
        let error = Index::parse(b"evaluators: \xff", "index.yaml").unwrap_err();
        assert_eq!(error.to_string(), "index.yaml: it is not UTF-8 (byte 12)");
    }

    #[test]
    fn a_manifest_gives_the_reference_of_its_evaluator() {
        let text = "name: polite\ndescription: Is it?\nlanguage: rust\nentrypoint: src/main.rs\ntags: []\nauthor: ''\nprotocol: 2\n";
        let entry = read_manifest(text.as_bytes(), "m", "polite").unwrap();
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
            assert_eq!(read_manifest(text.as_bytes(), "m", "f").unwrap_err().to_string(), expected);
        }
    }
}
