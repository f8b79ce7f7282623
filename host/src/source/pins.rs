//! `evaluators.lock`: the content of fetched evaluators that a project runs.
//!
//! All files of an evaluator are pinned by one hash in `evaluators.lock` next to the configuration. The first run
//! pins, `evaluator update` moves pins, `--locked` adds none. A cached copy that differs from its pin is fetched again
//! only if it is the copy that was fetched; a copy that was changed since is refused.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use evaluator_document::{Place, Span};
use toml_edit::{Item, Table, Value};

use super::{ContentHash, Reference, SourceError, Wanted, disk, reference::is_plain};

/// Name of the file, next to the configuration.
pub const LOCK_FILE: &str = "evaluators.lock";

/// Version of the format.
const VERSION: i64 = 1;

/// Larger lock files are not read.
const MAX_BYTES: u64 = 16 << 20;

const HEADER: &str = "# Written by `evaluator`: the content of fetched evaluators that may run here.\n\
                      # Keep it under version control; `evaluator update` changes it.\n";

/// Pins of a project, sorted by source and reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    pins: BTreeMap<Wanted, Pin>,
}

/// The content of an evaluator that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Content.
    pub hash: ContentHash,
    /// Origin when it was pinned; `None` if it was found in the cache without a record.
    pub origin: Option<String>,
}

impl Pins {
    /// Returns the lock file of a configuration: next to its file, or in the working directory.
    pub fn file_of(config: Option<&Path>) -> PathBuf {
        let directory = config.and_then(Path::parent).unwrap_or(Path::new(""));
        directory.join(LOCK_FILE)
    }

    /// Reads a lock file; an absent one has no pins.
    ///
    /// # Errors
    ///
    /// [`SourceError`] with the position of the problem.
    pub fn load(file: &Path) -> Result<Self, SourceError> {
        let unreadable = |reason: String| SourceError::Disk {
            action: format!("read {}", file.display()),
            reason,
        };
        match file.metadata() {
            // Reading a pipe could block.
            Ok(found) if !found.is_file() => {
                return Err(unreadable("it is not a regular file".to_owned()));
            }
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(unreadable(format!("it is larger than {MAX_BYTES} bytes")));
            }
            _ => {}
        }
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(&text, file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// Reads the text of a lock file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// [`SourceError`] with the position of the problem.
    pub fn parse(text: &str, file: &Path) -> Result<Self, SourceError> {
        Parser { text, file }.pins()
    }

    /// Writes the lock file atomically.
    ///
    /// # Errors
    ///
    /// [`SourceError::Disk`].
    pub fn save(&self, file: &Path) -> Result<(), SourceError> {
        disk::write_shared(file, self.to_text().as_bytes())
    }

    /// Returns the pin of an evaluator.
    pub fn get(&self, wanted: &Wanted) -> Option<&Pin> {
        self.pins.get(wanted)
    }

    /// Pins an evaluator, or changes its pin.
    pub fn set(&mut self, wanted: Wanted, pin: Pin) {
        self.pins.insert(wanted, pin);
    }

    /// Returns all pins, sorted by source and reference.
    pub fn iter(&self) -> impl Iterator<Item = (&Wanted, &Pin)> {
        self.pins.iter()
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}version = {VERSION}\n");
        for (wanted, pin) in &self.pins {
            let quoted = |text: &str| Value::from(text).to_string();
            text.push_str(&format!(
                "\n[[evaluator]]\nsource = {}\nref = {}\nhash = {}\n",
                quoted(&wanted.source),
                quoted(wanted.reference.as_str()),
                quoted(pin.hash.as_str())
            ));
            if let Some(origin) = &pin.origin {
                text.push_str(&format!("from = {}\n", quoted(origin)));
            }
        }
        text
    }
}

struct Parser<'a> {
    text: &'a str,
    file: &'a Path,
}

impl Parser<'_> {
    fn pins(&self) -> Result<Pins, SourceError> {
        let document = toml_edit::Document::parse(self.text)
            .map_err(|error| self.error(error.span(), error.message()))?;
        // The version decides what the rest means, so it comes first.
        match document.get("version").map(|item| (item, item.as_integer())) {
            Some((_, Some(VERSION))) => {}
            Some((item, _)) => {
                let version = item.as_value().map_or("?".to_owned(), |value| value.to_string());
                let (file, version) = (self.file.display(), version.trim());
                let reason = format!(
                    "{file} has the unknown version {version}; this program knows version {VERSION}"
                );
                return Err(SourceError::Pinned { reason });
            }
            None => return Err(self.error(None, "the key `version` is missing")),
        }
        self.only(document.as_table(), &["version", "evaluator"])?;
        let mut pins = Pins::default();
        let tables = match document.get("evaluator") {
            None => return Ok(pins),
            Some(Item::ArrayOfTables(tables)) => tables,
            Some(item) => {
                return Err(self.error(item.span(), "`evaluator` must be a list of tables"));
            }
        };
        for table in tables {
            let (wanted, pin) = self.pin(table)?;
            if pins.pins.insert(wanted, pin).is_some() {
                return Err(self.error(table.span(), "this evaluator is pinned twice; keep one"));
            }
        }
        Ok(pins)
    }

    fn pin(&self, table: &Table) -> Result<(Wanted, Pin), SourceError> {
        self.only(table, &["source", "ref", "hash", "from"])?;
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(item) => item
                .as_str()
                .map(Some)
                .ok_or_else(|| self.error(item.span(), &format!("`{key}` must be text"))),
        };
        let required = |key: &str| {
            text(key)?
                .ok_or_else(|| self.error(table.span(), &format!("the key `{key}` is missing")))
        };
        let span = |key: &str| table.get(key).and_then(Item::span);
        let reference = Reference::parse(required("ref")?)
            .map_err(|error| self.error(span("ref"), &format!("`ref` {error}")))?;
        let hash = ContentHash::parse(required("hash")?).ok_or_else(|| {
            self.error(span("hash"), "`hash` must be `sha256:` and 64 hexadecimal digits")
        })?;
        let source = required("source")?.to_owned();
        if !is_plain(&source) {
            let reason = "`source` must be a plain name (letters, digits, `_`, `-`)";
            return Err(self.error(span("source"), reason));
        }
        let wanted = Wanted { source, reference };
        Ok((wanted, Pin { hash, origin: text("from")?.map(str::to_owned) }))
    }

    /// Refuses unknown keys, which would be lost when the file is written again.
    fn only(&self, table: &Table, known: &[&str]) -> Result<(), SourceError> {
        match table.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, item)) => {
                let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
                Err(self.error(span, &format!("unknown key `{key}`")))
            }
        }
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, reason: &str) -> SourceError {
        let span = span.unwrap_or_default();
        let place = Place::new(self.text, Span { start: span.start, end: span.end });
        SourceError::Malformed {
            place: format!("{}:{}:{}", self.file.display(), place.line, place.column),
            reason: reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(source: &str, reference: &str) -> Wanted {
        Wanted { source: source.to_owned(), reference: Reference::parse(reference).unwrap() }
    }

    fn parse(text: &str) -> Result<Pins, String> {
        Pins::parse(text, Path::new("l")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_file_is_sorted_and_reads_back() {
        let mut pins = Pins::default();
        let hash = ContentHash::of(&[]);
        pins.set(wanted("local", "b/b.py"), Pin { hash: hash.clone(), origin: None });
        let origin = Some("https://x.example/a \"b\"\\".to_owned());
        pins.set(wanted("github", "e/z.py"), Pin { hash: hash.clone(), origin });
        pins.set(wanted("github", "e/a.py"), Pin { hash, origin: None });
        let text = pins.to_text();
        assert_eq!(parse(&text).unwrap(), pins);
        let order: Vec<_> = text.lines().filter(|line| line.starts_with("ref")).collect();
        assert_eq!(order, ["ref = \"e/a.py\"", "ref = \"e/z.py\"", "ref = \"b/b.py\""]);
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_its_place() {
        let entry = "version = 1\n[[evaluator]]\nsource = 'github'\nref = 'a.py'\n";
        let hash = ContentHash::of(&[]);
        let whole = format!("{entry}hash = '{hash}'\n");
        for (text, expected) in [
            ("", "l:1:1: the key `version` is missing"),
            (
                "version = 2\nother = 1\n",
                "l has the unknown version 2; this program knows version 1",
            ),
            ("version = \"1\"\n", "l has the unknown version \"1\"; this program knows version 1"),
            ("version = 1\nextra = 1\n", "l:2:1: unknown key `extra`"),
            (entry, "l:2:1: the key `hash` is missing"),
            (
                &format!("{entry}hash = 'x'\n"),
                "l:5:8: `hash` must be `sha256:` and 64 hexadecimal digits",
            ),
            (
                &whole.replace("a.py", "../a.py"),
                "l:4:7: `ref` must be a relative path of plain names (letters, digits, `_`, `-`, single dots between them), and `..` is not one",
            ),
            (
                &format!("{whole}{}", &whole["version = 1\n".len()..]),
                "l:6:1: this evaluator is pinned twice; keep one",
            ),
            (&format!("{whole}commit = 'x'\n"), "l:6:1: unknown key `commit`"),
        ] {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
        assert!(parse(&format!("<<<<<<< HEAD\n{whole}")).unwrap_err().starts_with("l:1:"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}") {
            let _ = parse(&text);
            let _ = parse(&format!("version = 1\n{text}"));
        }
    }
}
