//! The package that is generated around a lone file.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::manifest::{self, Parts, SdkSource};
use crate::{
    files::{WriteOptions, atomic_write},
    process::Cancellation,
    runtime::{PrepareError, PrepareEvent},
};

/// Interval between attempts to get a lock.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// A lone file and the directory of its generated package.
#[derive(Clone, Debug)]
pub(super) struct Script {
    source: PathBuf,
    /// Name of the package and of its program.
    pub(super) name: String,
    directory: PathBuf,
    /// Directory that it shares with other lone files.
    cache: PathBuf,
}

impl Script {
    /// `source` must be absolute and resolved: it decides the name, so that one file is one package.
    pub(super) fn new(source: PathBuf, cache: &Path) -> Self {
        let name = package_name(&source);
        let directory = cache.join("scripts").join(&name);
        Self { source, name, directory, cache: cache.to_owned() }
    }

    /// Name of the user's file.
    pub(super) fn file_name(&self) -> String {
        self.source.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Directory of the user's file.
    pub(super) fn sources(&self) -> &Path {
        self.source.parent().unwrap_or(&self.source)
    }

    /// The generated manifest.
    pub(super) fn manifest(&self) -> PathBuf {
        self.package().join("Cargo.toml")
    }

    /// The copy of a source with frontmatter, which is compiled.
    ///
    /// It is not inside the package, so that the compiler prints its full path, which can be recognized and replaced.
    fn copy(&self) -> PathBuf {
        self.directory.join("main.rs")
    }

    fn package(&self) -> PathBuf {
        self.directory.join("package")
    }

    /// Names that cargo and the compiler use, and the names that the user knows.
    pub(super) fn renames(&self) -> Vec<(String, String)> {
        let source = self.source.display().to_string();
        [self.copy(), self.manifest()]
            .map(|path| (path.display().to_string(), source.clone()))
            .into()
    }

    /// Locks the package until the result is dropped.
    ///
    /// # Errors
    ///
    /// The system refuses, or the run was cancelled while another process held the lock.
    pub(super) fn lock(
        &self,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<File, PrepareError> {
        let path = self.directory.join("lock");
        fs::create_dir_all(&self.directory)
            .map_err(|error| unusable("create", &self.directory, &error))?;
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| unusable("lock", &path, &error))?;
        let mut reported = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                // Some network file systems do not support locks. Files are replaced atomically and cargo locks its own
                // directory where it can, so running without a lock is acceptable.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    let line = format!("cannot lock {}: {error}; going on without", path.display());
                    on_event(PrepareEvent::Progress { line });
                    return Ok(file);
                }
                Err(TryLockError::Error(error)) => return Err(unusable("lock", &path, &error)),
            }
            if !reported {
                reported = true;
                let source = self.source.display();
                let line = format!("waiting for another run that builds {source}");
                on_event(PrepareEvent::Progress { line });
            }
            if cancellation.is_cancelled() {
                return Err(PrepareError::unusable("the run was cancelled"));
            }
            thread::sleep(LOCK_POLL);
        }
    }

    /// Writes the package. Unchanged files keep their times, or cargo would build again.
    ///
    /// The source is read under the lock, so that a run that waited for another does not restore an older state.
    pub(super) fn generate(&self) -> Result<(), PrepareError> {
        let embedded = manifest::read(&self.source)?;
        let plain_source = embedded.as_ref().and_then(|embedded| embedded.plain_source.as_deref());
        let copy = self.copy();
        let manifest = manifest::render(&Parts {
            script: &self.source,
            embedded: embedded.as_ref(),
            name: &self.name,
            main: if plain_source.is_some() { &copy } else { &self.source },
            sdk: &SdkSource::of_this_build(&self.cache)?,
        })?;
        let package = self.package();
        fs::create_dir_all(&package).map_err(|error| unusable("create", &package, &error))?;
        write_if_changed(&self.manifest(), &manifest)?;
        plain_source.map_or(Ok(()), |source| write_if_changed(&copy, source))
    }

    /// Returns true if the versions of the dependencies are locked.
    pub(super) fn has_lockfile(&self) -> bool {
        self.package().join("Cargo.lock").is_file()
    }
}

/// Returns a package name for `source`: readable, valid for cargo, and unique to this file.
///
/// All scripts share one target directory, where programs of the same name would replace each other.
pub(super) fn package_name(source: &Path) -> String {
    /// File systems limit the length of names, and the compiler adds to this one.
    const LONGEST: usize = 48;
    let stem =
        source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut name: String = stem
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' })
        .take(LONGEST)
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert_str(0, "script-");
    }
    format!("{name}-{:016x}", fnv1a(source.as_os_str().as_encoded_bytes()))
}

/// The 64-bit FNV-1a hash, which is the same on every machine.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Replaces a file atomically if its content differs.
pub(super) fn write_if_changed(path: &Path, text: &str) -> Result<(), PrepareError> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    atomic_write(path, WriteOptions::default(), |out| out.write_all(text.as_bytes()))
        .map_err(|error| unusable("write", path, &error))
}

fn unusable(verb: &str, path: &Path, error: &io::Error) -> PrepareError {
    PrepareError::unusable(format!(
        "cannot {verb} {}: {error}; set EVALUATOR_CACHE_DIR to a directory that can be written",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::{Directory, no_events};

    #[test]
    fn any_file_name_makes_a_valid_package_name() {
        for (file, start) in [
            ("check.rs", "check-"),
            ("my check.rs", "my_check-"),
            ("3d.rs", "script-3d-"),
            ("überprüfung.rs", "script-_berpr_fung-"),
            ("日本.rs", "script-__-"),
            ("fn.rs", "fn-"),
            ("-x.rs", "script--x-"),
            (".rs", "script-_rs-"),
        ] {
            let name = package_name(&Path::new("/evals").join(file));
            assert!(name.starts_with(start), "{file}: {name}");
            assert!(
                name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char)),
                "{name}"
            );
        }
        assert!(package_name(Path::new(&format!("/{}.rs", "é".repeat(300)))).len() < 80);
    }

    #[test]
    fn files_of_the_same_name_have_their_own_packages() {
        assert_ne!(package_name(Path::new("/a/check.rs")), package_name(Path::new("/b/check.rs")));
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_file_that_does_not_change_is_not_written() {
        let directory = Directory::new("script-unchanged");
        let path = directory.path("a.toml");
        write_if_changed(&path, "one").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        write_if_changed(&path, "one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        write_if_changed(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(directory.path("")).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_lock_is_waited_for_and_the_wait_is_reported() {
        let directory = Directory::new("script-lock");
        let script = Script::new(directory.path("check.rs"), &directory.path("cache"));
        let cancellation = Cancellation::new();
        let held = script.lock(&cancellation, &mut no_events).unwrap();
        thread::scope(|scope| {
            let (sender, events) = std::sync::mpsc::channel();
            let (script, cancellation) = (&script, &cancellation);
            let waiting = scope.spawn(move || {
                script.lock(cancellation, &mut |event| sender.send(event).unwrap()).map(drop)
            });
            let PrepareEvent::Progress { line } = events.recv().unwrap() else {
                panic!("expected progress")
            };
            assert!(line.starts_with("waiting for another run that builds "), "{line}");
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_cancelled_run_does_not_wait_for_a_lock() {
        let directory = Directory::new("script-cancelled");
        let script = Script::new(directory.path("check.rs"), &directory.path("cache"));
        let cancellation = Cancellation::new();
        let _held = script.lock(&cancellation, &mut no_events).unwrap();
        let error = script.lock(&cancellation, &mut |_| cancellation.cancel()).unwrap_err();
        assert_eq!(error.to_string(), "the run was cancelled");
    }
}
