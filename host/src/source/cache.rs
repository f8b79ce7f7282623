//! Cache of fetched evaluators, at the location that agentevals uses.
//!
//! The cache is that of agentevals (`~/.cache/agentevals/evaluators/<source>/<ref>`, unless `XDG_CACHE_HOME` is set), so a
//! file that one of the two fetched serves both. That path does not name the repository, so a record next to the file does,
//! and an unpinned copy from another repository is fetched again.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use super::{
    ContentHash, Fetched, Reference, SourceError, SourceFile,
    collect::{MAX_FILE_BYTES, REQUIREMENTS},
    disk,
    local::read_package,
    model::sha256,
};
use crate::runtime::Environment;

/// Directory of records and locks; a source cannot have this name.
const RECORDS: &str = ".records";

/// File in the directory of a package with the paths of the fetched files, one per line. Other files come from builds.
const FILES: &str = ".fetched-files";

/// File that cargo adds to a package without one.
const CARGO_LOCK: &str = "Cargo.lock";

/// Cache of fetched evaluators: `<root>/<source>/<reference>`.
///
/// Directories are private to the user. Files are written atomically. Deleted evaluators are fetched again.
#[derive(Clone, Debug)]
pub struct Cache {
    root: Option<PathBuf>,
    /// Whether everything that may be used is there: nothing is fetched.
    pub(super) is_complete: bool,
}

impl Default for Cache {
    fn default() -> Self {
        Self::in_environment(&Environment::inherited())
    }
}

impl Cache {
    /// Creates the cache in `agentevals/evaluators` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn in_environment(environment: &Environment) -> Self {
        let root = disk::cache_home(environment).map(|home| home.join("evaluators"));
        Self { root, is_complete: false }
    }

    /// Creates the cache in another directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()), is_complete: false }
    }

    /// Uses a directory that has everything: what is not in it, or is not the content of its pin, is an error and is not fetched.
    pub fn complete(root: impl Into<PathBuf>) -> Self {
        Self { is_complete: true, ..Self::at(root) }
    }

    /// Returns its directory, which need not exist; `None` without a home directory.
    pub fn directory(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Returns the resolved directory; creates it and makes it private.
    fn root(&self) -> Result<PathBuf, SourceError> {
        let root = self.root.as_deref().ok_or_else(|| SourceError::Disk {
            action: "cache evaluators".to_owned(),
            reason: "there is no home directory; set HOME".to_owned(),
        })?;
        disk::make_private(root)?;
        root.canonicalize().map_err(|error| SourceError::disk("open", root, &error))
    }

    /// Waits for the lock of an evaluator and holds it until the result is dropped. `source` is a plain name.
    pub(super) fn hold(&self, source: &str, reference: &Reference) -> Result<Held, SourceError> {
        let root = self.root()?;
        let records = disk::private_directory(&root, RECORDS)?;
        let path = records.join(record_name(source, reference));
        let mut file = disk::lock(&path)?;
        let mut text = String::new();
        let known = file.read_to_string(&mut text).ok().and_then(|_| Known::parse(&text));
        Ok(Held {
            path,
            file,
            known,
            directory: disk::private_directory(&root, source)?,
            // Evaluators may share a directory.
            shared: records.join(source),
            reference: reference.clone(),
        })
    }

    /// Returns the cached evaluator. Takes no lock and creates nothing.
    pub(super) fn look(
        &self,
        source: &str,
        reference: &Reference,
    ) -> Result<Option<Cached>, SourceError> {
        match &self.root {
            Some(root) => match root.canonicalize() {
                Ok(root) => read(&root.join(source), reference),
                Err(_) => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// Returns the record of an evaluator. Takes no lock.
    pub(super) fn known(&self, source: &str, reference: &Reference) -> Option<Known> {
        let records = self.root.as_ref()?.canonicalize().ok()?.join(RECORDS);
        Known::parse(&fs::read_to_string(records.join(record_name(source, reference))).ok()?)
    }

    /// Takes the lock for a file outside of the cache that several runs change.
    pub(super) fn lock_for(&self, path: &Path) -> Result<File, SourceError> {
        let records = disk::private_directory(&self.root()?, RECORDS)?;
        let name = sha256(path.as_os_str().as_encoded_bytes());
        disk::lock(&records.join(format!(".lock-{}", &name[..16])))
    }
}

/// Returns the file name of an evaluator's record.
fn record_name(source: &str, reference: &Reference) -> String {
    format!("{source}-{}", &sha256(reference.as_str().as_bytes())[..16])
}

/// An evaluator in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cached {
    /// Entrypoint.
    pub(super) path: PathBuf,
    /// Directory of its package.
    package: Option<PathBuf>,
    /// Hash of all its files.
    pub(super) hash: ContentHash,
    /// Names of all its files, relative to the directory of the package or of the entrypoint.
    names: Vec<String>,
}

impl Cached {
    /// Returns the paths of all its files, with those that the cache has added.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let list = self.package.iter().map(|package| package.join(FILES));
        let directory = self.package.as_deref().or(self.path.parent()).unwrap_or(Path::new(""));
        self.names.iter().map(|name| directory.join(name)).chain(list).collect()
    }

    /// Returns the name of the evaluator in messages.
    pub(super) fn whole(&self) -> String {
        match &self.package {
            Some(directory) => format!("the package in {}", directory.display()),
            None => self.path.display().to_string(),
        }
    }
}

/// Locked entry of the cache.
#[derive(Debug)]
pub(super) struct Held {
    /// File of the record, which is also the lock. Invalid content counts as none.
    path: PathBuf,
    file: File,
    known: Option<Known>,
    /// Directory of the source.
    directory: PathBuf,
    /// Lock of the source.
    shared: PathBuf,
    reference: Reference,
}

impl Held {
    /// Returns the record.
    pub(super) fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    /// Writes the record.
    pub(super) fn record(&mut self, known: Known) -> Result<(), SourceError> {
        let text = known.to_text();
        // The file is open for appending.
        let written = self
            .file
            .set_len(0)
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.sync_all());
        written.map_err(|error| SourceError::disk("write", &self.path, &error))?;
        self.known = Some(known);
        Ok(())
    }

    /// Returns the cached evaluator.
    pub(super) fn read(&self) -> Result<Option<Cached>, SourceError> {
        let _lock = disk::lock(&self.shared)?;
        read(&self.directory, &self.reference)
    }

    /// Installs fetched files. Equal files are not touched, so that they are not built again.
    pub(super) fn install(
        &mut self,
        fetched: &Fetched,
        origin: String,
    ) -> Result<Cached, SourceError> {
        let wanted = ContentHash::of(&fetched.files);
        let lock = disk::lock(&self.shared)?;
        let there = read(&self.directory, &self.reference).ok().flatten();
        if there.is_none_or(|cached| cached.hash != wanted) {
            self.write(fetched)?;
        }
        let cached = read(&self.directory, &self.reference)?;
        drop(lock);
        let cached = cached.filter(|cached| cached.hash == wanted).ok_or_else(|| {
            let reason = "the files changed while they were written".to_owned();
            SourceError::Disk { action: format!("keep {}", self.reference), reason }
        })?;
        self.record(Known { hash: wanted, origin: Some(origin) })?;
        Ok(cached)
    }

    fn write(&self, fetched: &Fetched) -> Result<(), SourceError> {
        if fetched.whole_directory {
            let (above, name) =
                fetched.directory.rsplit_once('/').unwrap_or(("", &fetched.directory));
            let directory = disk::private_directory(&self.directory, above)?.join(name);
            disk::refuse_links(&self.directory, &fetched.directory)?;
            let mut files = fetched.files.clone();
            let list: String = files.iter().map(|file| format!("{}\n", file.path)).collect();
            files.push(SourceFile { path: FILES.to_owned(), bytes: list.into_bytes() });
            return disk::write_directory(&directory, &files);
        }
        let directory = disk::private_directory(&self.directory, &fetched.directory)?;
        // The entrypoint comes last: without it, the evaluator counts as absent.
        let main = directory.join(self.reference.file_name());
        remove(&main)?;
        let is_main = |file: &&SourceFile| file.path == self.reference.file_name();
        for file in fetched.files.iter().filter(|file| !is_main(file)) {
            disk::write(&directory.join(&file.path), &file.bytes)?;
        }
        if !fetched.files.iter().any(|file| file.path == REQUIREMENTS) && !self.reference.is_rust()
        {
            remove(&directory.join(REQUIREMENTS))?;
        }
        fetched.files.iter().find(is_main).map_or(Ok(()), |file| disk::write(&main, &file.bytes))
    }
}

fn remove(path: &Path) -> Result<(), SourceError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SourceError::disk("replace", path, &error))
        }
        _ => Ok(()),
    }
}

/// Reads an evaluator from the directory of its source.
fn read(directory: &Path, reference: &Reference) -> Result<Option<Cached>, SourceError> {
    disk::refuse_links(directory, reference.as_str())?;
    let path = directory.join(reference.as_str());
    let (package, files) = match package(directory, reference)? {
        Some((package, files)) => (Some(package), files),
        None => {
            let Some(bytes) = disk::read(&path, MAX_FILE_BYTES)? else { return Ok(None) };
            let mut files = vec![SourceFile { path: reference.file_name().to_owned(), bytes }];
            if !reference.is_rust() {
                let requirements = path.with_file_name(REQUIREMENTS);
                if let Some(bytes) = disk::read(&requirements, MAX_FILE_BYTES)? {
                    files.push(SourceFile { path: REQUIREMENTS.to_owned(), bytes });
                }
            }
            (None, files)
        }
    };
    if !path.is_file() {
        return Ok(None);
    }
    let hash = ContentHash::of(&files);
    let names = files.into_iter().map(|file| file.path).collect();
    Ok(Some(Cached { path, package, hash, names }))
}

/// Returns directory and files of a Rust source's package, if it was fetched as one.
fn package(
    directory: &Path,
    reference: &Reference,
) -> Result<Option<(PathBuf, Vec<SourceFile>)>, SourceError> {
    if !reference.is_rust() {
        return Ok(None);
    }
    for above in reference.directories() {
        let root = directory.join(above);
        let Some(list) = disk::read(&root.join(FILES), MAX_FILE_BYTES)? else { continue };
        let list = String::from_utf8_lossy(&list);
        let is_listed = |path: &str| list.lines().any(|line| line == path);
        let mut files = read_package(&root)?;
        files.retain(|file| match file.path.as_str() {
            FILES => false,
            // Cargo wrote it, unless it was fetched.
            CARGO_LOCK => is_listed(CARGO_LOCK),
            _ => true,
        });
        return Ok(Some((root, files)));
    }
    Ok(None)
}

/// Record of a cached evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Hash when it was fetched, or when it was first found.
    pub(super) hash: ContentHash,
    /// Origin of the source; `None` if it was cached without a record.
    pub(super) origin: Option<String>,
}

impl Known {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let hash = ContentHash::parse(lines.next()?)?;
        Some(Self { hash, origin: lines.next().map(str::to_owned) })
    }

    fn to_text(&self) -> String {
        let origin = self.origin.as_ref().map(|origin| format!("{origin}\n")).unwrap_or_default();
        format!("{}\n{origin}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use evaluator_test_support::Directory;

    use super::*;

    fn fetched(directory: &str, whole_directory: bool, files: &[(&str, &str)]) -> Fetched {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            bytes: text.as_bytes().to_owned(),
        };
        Fetched {
            directory: directory.to_owned(),
            whole_directory,
            files: files.iter().map(file).collect(),
        }
    }

    fn reference(text: &str) -> Reference {
        Reference::parse(text).unwrap()
    }

    #[test]
    fn a_cache_that_agentevals_filled_is_used() {
        let directory = Directory::new("source");
        directory.file("c/github/e/a.py", "print()");
        let held = Cache::at(directory.path("c")).hold("github", &reference("e/a.py")).unwrap();
        let cached = held.read().unwrap().unwrap();
        assert_eq!(cached.path, directory.path("c/github/e/a.py"));
        assert_eq!(held.known(), None);
    }

    #[test]
    fn what_replaces_a_file_brings_and_takes_its_requirements() {
        let directory = Directory::new("source");
        let mut held = Cache::at(directory.path("c")).hold("s", &reference("e/a.py")).unwrap();
        assert_eq!(held.read().unwrap(), None);
        let both = fetched("e", false, &[("a.py", "1"), ("requirements.txt", "x")]);
        let cached = held.install(&both, "o".to_owned()).unwrap();
        assert_eq!(held.read().unwrap(), Some(cached));
        assert_eq!(held.known().unwrap().origin.as_deref(), Some("o"));
        let one = fetched("e", false, &[("a.py", "2")]);
        let cached = held.install(&one, "o".to_owned()).unwrap();
        assert_eq!(cached.hash, ContentHash::of(&one.files));
        assert!(!directory.path("c/s/e/requirements.txt").exists());
    }

    #[test]
    fn builds_do_not_change_what_a_package_is() {
        let directory = Directory::new("source");
        let main = reference("e/a/src/main.rs");
        let mut held = Cache::at(directory.path("c")).hold("s", &main).unwrap();
        let files = fetched("e/a", true, &[("Cargo.toml", ""), ("src/main.rs", "")]);
        let cached = held.install(&files, String::new()).unwrap();
        assert_eq!(cached.hash, ContentHash::of(&files.files));
        directory.file("c/s/e/a/Cargo.lock", "made by cargo");
        directory.file("c/s/e/a/target/evaluator/debug/a", "a program");
        assert_eq!(held.read().unwrap(), Some(cached.clone()));
        // Cargo would run this.
        directory.file("c/s/e/a/build.rs", "evil");
        assert_ne!(held.read().unwrap().unwrap().hash, cached.hash);

        let locked =
            fetched("e/a", true, &[("Cargo.lock", "1"), ("Cargo.toml", ""), ("src/main.rs", "")]);
        let cached = held.install(&locked, String::new()).unwrap();
        directory.file("c/s/e/a/Cargo.lock", "2");
        assert_ne!(held.read().unwrap().unwrap().hash, cached.hash);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_cache_are_refused() {
        let directory = Directory::new("source");
        directory.file("elsewhere/a.py", "");
        fs::create_dir_all(directory.path("c/s")).unwrap();
        std::os::unix::fs::symlink(directory.path("elsewhere"), directory.path("c/s/e")).unwrap();
        let mut held = Cache::at(directory.path("c")).hold("s", &reference("e/a.py")).unwrap();
        assert!(matches!(held.read(), Err(SourceError::Unsafe { .. })));
        let files = fetched("e", false, &[("a.py", "1")]);
        assert!(held.install(&files, String::new()).is_err());
        assert_eq!(fs::read(directory.path("elsewhere/a.py")).unwrap(), b"");
        std::os::unix::fs::symlink(directory.path("elsewhere"), directory.path("c/t")).unwrap();
        let error = Cache::at(directory.path("c")).hold("t", &reference("a.py")).unwrap_err();
        assert!(matches!(error, SourceError::Unsafe { .. }), "{error}");
    }

    #[test]
    fn records_are_read_back_and_invalid_ones_are_none() {
        let directory = Directory::new("source");
        let (cache, reference) = (Cache::at(directory.path("")), reference("a.py"));
        for origin in [Some("https://a.example/x".to_owned()), None] {
            let known = Known { hash: ContentHash::of(&[]), origin };
            cache.hold("s", &reference).unwrap().record(known.clone()).unwrap();
            assert_eq!(cache.hold("s", &reference).unwrap().known(), Some(&known));
            assert_eq!(cache.known("s", &reference), Some(known));
        }
        directory.file(&format!("{RECORDS}/{}", record_name("s", &reference)), "sha256:no\n");
        assert_eq!(cache.hold("s", &reference).unwrap().known(), None);
    }
}
