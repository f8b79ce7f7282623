//! The sources on this machine: `local`, a directory of evaluators, and `file`, an index.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    EvaluatorSource, Fetched, Freshness, Listing, Reference, SourceError, SourceFile,
    collect::{Budget, CARGO_MANIFEST, MAX_FILES, Package, Tree, collect},
    disk,
    index::{self, Index},
};
use crate::{process::Cancellation, runtime::Environment};

/// Variable with the path of the directory.
const DIRECTORY_VARIABLE: &str = "AGENTEVALS_EVALUATOR_DIR";

/// The source `local`: the subdirectories of a directory, each described by its `evaluator.yaml`. References are relative to
/// that directory.
#[derive(Clone, Debug)]
pub struct Local {
    directory: Option<PathBuf>,
}

impl Local {
    /// Creates the source of a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()) }
    }

    /// Creates the source of the directory in `AGENTEVALS_EVALUATOR_DIR`.
    pub fn in_environment(environment: &Environment) -> Self {
        Self { directory: environment.get(DIRECTORY_VARIABLE).map(PathBuf::from) }
    }

    fn tree(&self) -> Result<DirectoryTree, SourceError> {
        let directory = self.directory.as_deref().ok_or_else(|| SourceError::NotSetUp {
            name: self.name().to_owned(),
            hint: format!("name its directory in {DIRECTORY_VARIABLE} or as `sources: {{local: PATH}}` in the configuration"),
        })?;
        DirectoryTree::new(directory)
    }
}

impl EvaluatorSource for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok(self.tree()?.root.display().to_string())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
        let tree = self.tree()?;
        let failed = |error: std::io::Error| SourceError::disk("list", &tree.root, &error);
        let mut directories = Vec::new();
        for entry in fs::read_dir(&tree.root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().join(index::MANIFEST_FILE).is_file() {
                directories.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        directories.sort();
        let mut listing = Listing::default();
        for directory in directories {
            let path = format!("{directory}/{}", index::MANIFEST_FILE);
            let place = tree.root.join(&path).display().to_string();
            let entry = tree
                .read(&path, index::MAX_MANIFEST_BYTES)
                .and_then(|bytes| index::read_manifest(&bytes, &place, &directory));
            match entry {
                Ok(entry) => listing.entries.push(entry),
                Err(error) => listing.warnings.push(error.to_string()),
            }
        }
        Ok(listing)
    }

    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError> {
        collect(&self.tree()?, &Index::default(), reference, cancellation)
    }
}

/// Variable with the path of the index.
const INDEX_VARIABLE: &str = "AGENTEVALS_EVALUATOR_INDEX";

/// The source `file`: an `index.yaml` on this machine. References are relative to its directory.
#[derive(Clone, Debug)]
pub struct File {
    index: Option<PathBuf>,
}

impl File {
    /// Creates the source of an index, or of the `index.yaml` in a directory.
    pub fn new(index: impl Into<PathBuf>) -> Self {
        Self { index: Some(index.into()) }
    }

    /// Creates the source of the index in `AGENTEVALS_EVALUATOR_INDEX`.
    pub fn in_environment(environment: &Environment) -> Self {
        Self { index: environment.get(INDEX_VARIABLE).map(PathBuf::from) }
    }

    fn index(&self) -> Result<PathBuf, SourceError> {
        let path = self.index.as_deref().ok_or_else(|| SourceError::NotSetUp {
            name: self.name().to_owned(),
            hint: format!(
                "name its index in {INDEX_VARIABLE} or as `sources: {{file: PATH}}` in the configuration"
            ),
        })?;
        let path = if path.is_dir() { path.join(index::FILE) } else { path.to_owned() };
        // The index may be reached through links.
        path.canonicalize().map_err(|_| not_there(&path))
    }

    fn read(&self) -> Result<(Index, DirectoryTree), SourceError> {
        let path = self.index()?;
        let bytes = disk::read(&path, index::MAX_BYTES)?.ok_or_else(|| not_there(&path))?;
        let index = Index::parse(&bytes, &path.display().to_string())?;
        Ok((index, DirectoryTree::new(path.parent().unwrap_or(Path::new("/")))?))
    }
}

fn not_there(path: &Path) -> SourceError {
    SourceError::NotFound { what: "index".to_owned(), place: path.display().to_string() }
}

impl EvaluatorSource for File {
    fn name(&self) -> &str {
        "file"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok(self.index()?.display().to_string())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
        Ok(self.read()?.0.listing())
    }

    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError> {
        let (index, tree) = self.read()?;
        collect(&tree, &index, reference, cancellation)
    }
}

/// Directories that do not belong to an evaluator: of version control, and at the root of a package of cargo.
const VERSION_CONTROL: &str = ".git";
const BUILDS: &str = "target";

/// Files of a source in a directory.
#[derive(Clone, Debug)]
pub(super) struct DirectoryTree {
    root: PathBuf,
}

impl DirectoryTree {
    /// Resolves links in `root`; links below it are refused.
    pub(super) fn new(root: &Path) -> Result<Self, SourceError> {
        let root = root.canonicalize().map_err(|_| SourceError::NotFound {
            what: "directory".to_owned(),
            place: root.display().to_string(),
        })?;
        Ok(Self { root })
    }
}

impl Tree for DirectoryTree {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, SourceError> {
        disk::refuse_links(&self.root, path)?;
        let path = self.root.join(path);
        disk::read(&path, most)?.ok_or_else(|| SourceError::NotFound {
            what: "file".to_owned(),
            place: path.display().to_string(),
        })
    }

    fn package(&self, reference: &Reference) -> Result<Option<Package>, SourceError> {
        for directory in reference.directories().chain([""]) {
            let path = self.root.join(directory);
            if path.join(CARGO_MANIFEST).is_file() {
                disk::refuse_links(&self.root, directory)?;
                return Ok(Some(Package { directory: directory.to_owned(), files: paths(&path)? }));
            }
        }
        Ok(None)
    }
}

/// Reads the files of a package, sorted by path.
pub(super) fn read_package(directory: &Path) -> Result<Vec<SourceFile>, SourceError> {
    let what = directory.display().to_string();
    let mut budget = Budget::new(&what);
    let mut files = Vec::new();
    for path in paths(directory)? {
        // The file may have been deleted since it was listed.
        let Some(bytes) = disk::read(&directory.join(&path), budget.most())? else { continue };
        budget.take(bytes.len())?;
        files.push(SourceFile { path, bytes });
    }
    Ok(files)
}

/// Returns the sorted paths of all files below a directory, with `/` as separator.
fn paths(directory: &Path) -> Result<Vec<String>, SourceError> {
    let mut found = Vec::new();
    walk(directory, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(directory: &Path, inside: &str, found: &mut Vec<String>) -> Result<(), SourceError> {
    let failed = |error: std::io::Error| SourceError::disk("list", directory, &error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let name = entry.file_name();
        let path = entry.path();
        let Some(name) = name.to_str() else {
            let reason = format!("the name of {} is not UTF-8", path.display());
            return Err(SourceError::Unsafe { reason });
        };
        if kind.is_symlink() {
            return Err(disk::linked(&path));
        }
        let below = format!("{inside}{name}");
        if kind.is_dir() {
            let skipped = name == VERSION_CONTROL || (inside.is_empty() && name == BUILDS);
            if !skipped {
                walk(&path, &format!("{below}/"), found)?;
            }
        } else if kind.is_file() {
            found.push(below);
        } else {
            let reason = format!("{} is not a file", path.display());
            return Err(SourceError::Unsafe { reason });
        }
        if found.len() > MAX_FILES {
            let what = directory.display().to_string();
            return Err(SourceError::TooLarge { what, limit: format!("{MAX_FILES} files") });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evaluator_test_support::Directory;

    use super::*;

    #[test]
    fn directories_with_a_manifest_are_listed_and_a_broken_one_is_a_warning() {
        let directory = Directory::new("source");
        directory.file("b/evaluator.yaml", "name: bee\nentrypoint: b.py\n");
        directory.file("a/evaluator.yaml", "name: ay\nentrypoint: src/main.rs\n");
        directory.file("broken/evaluator.yaml", "name: [x]\n");
        directory.file("other/readme.md", "");
        let listing = Local::new(directory.path("")).list(Freshness::Fresh).unwrap();
        let found: Vec<_> = listing
            .entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.reference.as_deref().unwrap()))
            .collect();
        assert_eq!(found, [("ay", "a/src/main.rs"), ("bee", "b/b.py")]);
        assert_eq!(listing.warnings.len(), 1);
        assert!(
            listing.warnings[0]
                .ends_with("broken/evaluator.yaml:1:7: `name` must be text, not a list")
        );
    }

    #[test]
    fn without_a_directory_it_says_what_to_set() {
        let error = Local::in_environment(&Environment::default()).origin().unwrap_err();
        assert!(error.to_string().contains(DIRECTORY_VARIABLE), "{error}");
    }

    fn package(directory: &Directory, reference: &str) -> Option<Package> {
        let tree = DirectoryTree::new(&directory.path("")).unwrap();
        tree.package(&Reference::parse(reference).unwrap()).unwrap()
    }

    #[test]
    fn a_package_is_all_files_but_builds_and_history() {
        let directory = Directory::new("source");
        for path in [
            "e/a/Cargo.toml",
            "e/a/src/main.rs",
            "e/a/src/target/mod.rs",
            "e/a/target/debug/a",
            "e/a/.git/HEAD",
            "e/b.rs",
        ] {
            directory.file(path, "");
        }
        let files = ["Cargo.toml", "src/main.rs", "src/target/mod.rs"].map(str::to_owned).into();
        assert_eq!(
            package(&directory, "e/a/src/main.rs"),
            Some(Package { directory: "e/a".to_owned(), files })
        );
        assert_eq!(package(&directory, "e/b.rs"), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let directory = Directory::new("source");
        directory.file("secret.py", "s");
        directory.file("s/a/Cargo.toml", "");
        std::os::unix::fs::symlink(directory.path("secret.py"), directory.path("s/a/x.py"))
            .unwrap();
        let tree = DirectoryTree::new(&directory.path("s")).unwrap();
        assert!(matches!(tree.read("a/x.py", 9), Err(SourceError::Unsafe { .. })));
        assert!(tree.package(&Reference::parse("a/main.rs").unwrap()).is_err());
    }
}
