//! Collects the files of an evaluator.

use super::{
    Fetched, Reference, SourceError, SourceFile,
    index::{Index, IndexedDirectory, IndexedFile},
    model::sha256,
    reference::{is_file_path, join},
};
use crate::process::Cancellation;

/// Maximum number of files of an evaluator, so that a mistake or an attack does not fill the disk.
pub const MAX_FILES: usize = 500;
/// Maximum size of a file of an evaluator.
pub const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum size of all files of an evaluator.
pub const MAX_BYTES: u64 = 32 << 20;

/// File next to a Python evaluator that names the packages it needs.
pub(super) const REQUIREMENTS: &str = "requirements.txt";

/// Manifest of a Rust package.
pub(super) const CARGO_MANIFEST: &str = "Cargo.toml";

/// Files of a source by path.
pub(super) trait Tree {
    /// Reads a file of at most `most` bytes; [`SourceError::NotFound`] if it does not exist.
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, SourceError>;

    /// Returns the nearest package above a Rust source; `None` for a file without a package.
    fn package(&self, reference: &Reference) -> Result<Option<Package>, SourceError>;
}

/// A Rust package inside a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) directory: String,
    pub(super) files: Vec<String>,
}

/// Reads all files of an evaluator: the package of a Rust source; for other languages the file, and the requirements next to
/// it. Files that the index lists must have the content that it describes.
pub(super) fn collect(
    tree: &dyn Tree,
    index: &Index,
    reference: &Reference,
    cancellation: &Cancellation,
) -> Result<Fetched, SourceError> {
    let indexed = index.directory_of(reference.as_str());
    let listed = |path: &str| {
        let indexed = indexed.as_ref()?;
        let inside = path.strip_prefix(&join(indexed.directory, ""))?;
        indexed.files.iter().find(|file| file.path == inside)
    };
    let package = package(tree, indexed.as_ref(), reference)?;
    let whole_directory = package.is_some();
    let Package { directory, files: paths } = package.unwrap_or_else(|| Package {
        directory: reference.directory().to_owned(),
        files: vec![reference.file_name().to_owned()],
    });
    if !paths.iter().any(|path| join(&directory, path) == reference.as_str()) {
        let place = format!("{reference} in the source");
        return Err(SourceError::NotFound { what: "file".to_owned(), place });
    }
    let mut budget = Budget::new(&directory);
    let mut read = |path: String| {
        if cancellation.is_cancelled() {
            return Err(SourceError::Cancelled);
        }
        let whole = join(&directory, &path);
        if !is_file_path(&path) {
            let reason = format!("`{whole}` has a name that no file of an evaluator may have");
            return Err(SourceError::Unsafe { reason });
        }
        let bytes = tree.read(&whole, budget.most())?;
        budget.take(bytes.len())?;
        verify(&whole, &bytes, listed(&whole))?;
        Ok(SourceFile { path, bytes })
    };
    let mut files = paths.into_iter().map(&mut read).collect::<Result<Vec<_>, _>>()?;
    if !whole_directory && !reference.is_rust() {
        match read(REQUIREMENTS.to_owned()) {
            Ok(file) => files.push(file),
            Err(error)
                if error.is_not_found() && listed(&join(&directory, REQUIREMENTS)).is_none() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Fetched { directory, whole_directory, files })
}

/// Returns the package of a Rust source: the directory in the index if it is listed there, or else the one in the tree.
fn package(
    tree: &dyn Tree,
    indexed: Option<&IndexedDirectory<'_>>,
    reference: &Reference,
) -> Result<Option<Package>, SourceError> {
    if !reference.is_rust() {
        return Ok(None);
    }
    let package = match indexed {
        Some(indexed) if indexed.files.iter().any(|file| file.path == CARGO_MANIFEST) => {
            let files = indexed.files.iter().map(|file| file.path.clone()).collect();
            Some(Package { directory: indexed.directory.to_owned(), files })
        }
        Some(_) => None,
        None => tree.package(reference)?,
    };
    if package.as_ref().is_some_and(|package| package.directory.is_empty()) {
        let reason = format!(
            "the package of {reference} is the whole source; a package must be in a directory of its own"
        );
        return Err(SourceError::Unsafe { reason });
    }
    Ok(package)
}

fn verify(path: &str, bytes: &[u8], listed: Option<&IndexedFile>) -> Result<(), SourceError> {
    let Some(listed) = listed else { return Ok(()) };
    let found = sha256(bytes);
    if found == listed.sha256 {
        return Ok(());
    }
    let (what, expected) = (path.to_owned(), listed.sha256.clone());
    Err(SourceError::NotAsIndexed { what, found, expected })
}

/// Remaining limits while an evaluator is read.
pub(super) struct Budget<'a> {
    what: &'a str,
    files: usize,
    bytes: u64,
}

impl<'a> Budget<'a> {
    /// `what` is the name of the evaluator in messages.
    pub(super) fn new(what: &'a str) -> Self {
        Self { what, files: MAX_FILES, bytes: MAX_BYTES }
    }

    /// Returns the maximum size of the next file in bytes.
    pub(super) fn most(&self) -> u64 {
        self.bytes.min(MAX_FILE_BYTES)
    }

    /// Counts a file, or fails if it exceeds a limit.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), SourceError> {
        let bytes = bytes as u64;
        let too_large = |limit: String| SourceError::TooLarge { what: self.what.to_owned(), limit };
        if bytes > MAX_FILE_BYTES {
            return Err(too_large(format!("{MAX_FILE_BYTES} bytes a file")));
        }
        self.files =
            self.files.checked_sub(1).ok_or_else(|| too_large(format!("{MAX_FILES} files")))?;
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| too_large(format!("{MAX_BYTES} bytes in all")))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Files in memory; packages are not looked for.
    struct Memory(BTreeMap<&'static str, &'static str>);

    impl Tree for Memory {
        fn read(&self, path: &str, _: u64) -> Result<Vec<u8>, SourceError> {
            let missing =
                || SourceError::NotFound { what: "file".to_owned(), place: path.to_owned() };
            self.0.get(path).map(|text| text.as_bytes().to_owned()).ok_or_else(missing)
        }
        fn package(&self, _: &Reference) -> Result<Option<Package>, SourceError> {
            Ok(None)
        }
    }

    fn paths(
        files: &[(&'static str, &'static str)],
        index: &str,
        reference: &str,
    ) -> Result<Vec<String>, String> {
        let index = Index::parse(index.as_bytes(), "index.yaml").unwrap();
        let tree = Memory(files.iter().copied().collect());
        let reference = Reference::parse(reference).unwrap();
        collect(&tree, &index, &reference, &Cancellation::new())
            .map(|fetched| {
                fetched.files.iter().map(|file| join(&fetched.directory, &file.path)).collect()
            })
            .map_err(|error| error.to_string())
    }

    const EMPTY: &str = "evaluators: []";

    #[test]
    fn requirements_come_with_the_file() {
        let files = [("e/a.py", "a"), ("e/requirements.txt", "b"), ("e/other.py", "c")];
        assert_eq!(paths(&files, EMPTY, "e/a.py").unwrap(), ["e/a.py", "e/requirements.txt"]);
        assert_eq!(paths(&[("a.py", "")], EMPTY, "a.py").unwrap(), ["a.py"]);
        assert_eq!(paths(&[], EMPTY, "a.py").unwrap_err(), "there is no file at a.py");
    }

    #[test]
    fn what_the_index_lists_is_what_a_rust_evaluator_consists_of() {
        let (manifest, main) = (sha256(b"[package]"), sha256(b"fn main() {}"));
        let index = format!(
            "evaluators:\n- name: a\n  path: e/a/src/main.rs\n  files:\n  - {{path: Cargo.toml, sha256: '{manifest}'}}\n  - {{path: src/main.rs, sha256: '{main}'}}\n"
        );
        let files =
            [("e/a/Cargo.toml", "[package]"), ("e/a/src/main.rs", "fn main() {}"), ("e/a/x", "")];
        assert_eq!(
            paths(&files, &index, "e/a/src/main.rs").unwrap(),
            ["e/a/Cargo.toml", "e/a/src/main.rs"]
        );
        let changed = [("e/a/Cargo.toml", "[package]"), ("e/a/src/main.rs", "fn main() { }")];
        let error = paths(&changed, &index, "e/a/src/main.rs").unwrap_err();
        assert!(
            error.starts_with("e/a/src/main.rs is not the file its index describes"),
            "{error}"
        );
        let missing = [("e/a/Cargo.toml", "[package]")];
        assert_eq!(
            paths(&missing, &index, "e/a/src/main.rs").unwrap_err(),
            "there is no file at e/a/src/main.rs"
        );
    }

    #[test]
    fn files_of_other_languages_must_be_as_indexed_too() {
        let index = format!(
            "evaluators:\n- name: a\n  path: e/a.py\n  files: [{{path: a.py, sha256: '{}'}}, {{path: requirements.txt, sha256: '{}'}}]\n",
            sha256(b"a"),
            sha256(b"r")
        );
        let good = [("e/a.py", "a"), ("e/requirements.txt", "r")];
        assert_eq!(paths(&good, &index, "e/a.py").unwrap().len(), 2);
        let gone = [("e/a.py", "a")];
        assert!(paths(&gone, &index, "e/a.py").is_err(), "listed requirements are not there");
        let other = [("e/a.py", "a"), ("e/requirements.txt", "evil")];
        assert!(paths(&other, &index, "e/a.py").is_err());
    }

    #[test]
    fn a_package_that_is_the_whole_source_is_refused() {
        let hash = sha256(b"");
        let index = format!(
            "evaluators:\n- name: a\n  path: src/main.rs\n  files: [{{path: Cargo.toml, sha256: '{hash}'}}, {{path: src/main.rs, sha256: '{hash}'}}]\n"
        );
        let error = paths(&[], &index, "src/main.rs").unwrap_err();
        assert!(error.contains("a directory of its own"), "{error}");
    }

    #[test]
    fn an_evaluator_may_not_be_endless() {
        let mut budget = Budget::new("e");
        assert!(budget.take(MAX_FILE_BYTES as usize + 1).is_err());
        for _ in 0..4 {
            budget.take(MAX_FILE_BYTES as usize).unwrap();
        }
        assert!(budget.take(1).is_err());
        let mut budget = Budget::new("e");
        assert!((0..MAX_FILES).all(|_| budget.take(0).is_ok()));
        assert!(budget.take(0).is_err());
    }
}
