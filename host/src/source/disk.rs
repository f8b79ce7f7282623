//! Files and directories of the cache: private, written atomically, and never behind a symbolic link.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::{SourceError, SourceFile};
use crate::{
    files::{WriteOptions, atomic_write, read_own, sync_directory},
    runtime::Environment,
};

/// Returns `$XDG_CACHE_HOME/agentevals`, or `~/.cache/agentevals`, where agentevals keeps its evaluators.
pub(super) fn cache_home(environment: &Environment) -> Option<PathBuf> {
    let chosen = environment.get("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || {
        let home = environment.get(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
        Some(Path::new(home).join(".cache"))
    };
    let home = chosen.filter(|path| path.is_absolute()).or_else(home)?;
    Some(home.join("agentevals")).filter(|path| path.is_absolute())
}

/// Returns the file type at a path, without following a link; `None` if nothing exists there.
pub(super) fn kind(path: &Path) -> Result<Option<fs::FileType>, SourceError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta.file_type())),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(SourceError::disk("look at", path, &error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates the directory `below` of `root` and makes all directories on the way private; links are refused.
pub(super) fn private_directory(root: &Path, below: &str) -> Result<PathBuf, SourceError> {
    let mut directory = root.to_owned();
    for segment in below.split('/').filter(|segment| !segment.is_empty()) {
        directory.push(segment);
        if kind(&directory)?.is_some_and(|kind| kind.is_symlink()) {
            return Err(linked(&directory));
        }
        make_private(&directory)?;
    }
    Ok(directory)
}

/// Creates a directory if it is absent, and makes it private to the user.
pub(super) fn make_private(directory: &Path) -> Result<(), SourceError> {
    let failed = |error: io::Error| SourceError::disk("create", directory, &error);
    fs::create_dir_all(directory).map_err(failed)?;
    set_mode(directory, 0o700).map_err(failed)
}

/// Refuses links between `root` and `root/below`, which need not exist.
pub(super) fn refuse_links(root: &Path, below: &str) -> Result<(), SourceError> {
    let mut path = root.to_owned();
    for segment in below.split('/').filter(|segment| !segment.is_empty()) {
        path.push(segment);
        match kind(&path)? {
            Some(kind) if kind.is_symlink() => return Err(linked(&path)),
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

pub(super) fn linked(path: &Path) -> SourceError {
    SourceError::Unsafe {
        reason: format!(
            "{} is a symbolic link, which is not followed here; remove it",
            path.display()
        ),
    }
}

/// Reads a regular file of at most `most` bytes; `None` if it does not exist.
pub(super) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, SourceError> {
    let failed = |error: io::Error| SourceError::disk("read", path, &error);
    match kind(path)? {
        None => return Ok(None),
        Some(kind) if kind.is_symlink() => return Err(linked(path)),
        Some(kind) if !kind.is_file() => {
            let reason = format!("{} is not a file", path.display());
            return Err(SourceError::Unsafe { reason });
        }
        Some(_) => {}
    }
    match read_own(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            let what = path.display().to_string();
            Err(SourceError::TooLarge { what, limit: format!("{most} bytes") })
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes a private file atomically; a symbolic link at its path is refused.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), SourceError> {
    if kind(path)?.is_some_and(|kind| kind.is_symlink()) {
        return Err(linked(path));
    }
    write_with(path, bytes, WriteOptions { private: true, durable: true })
}

/// Writes a file of a project atomically. Others may read it, and it may be a symbolic link.
pub(super) fn write_shared(path: &Path, bytes: &[u8]) -> Result<(), SourceError> {
    write_with(path, bytes, WriteOptions { private: false, durable: true })
}

fn write_with(path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), SourceError> {
    atomic_write(path, options, |out| out.write_all(bytes))
        .map_err(|error| SourceError::disk("write", path, &error))
}

/// Writes a directory with these files and replaces an existing one by renaming.
pub(super) fn write_directory(directory: &Path, files: &[SourceFile]) -> Result<(), SourceError> {
    let parent = directory.parent().unwrap_or(directory);
    let fill = || -> io::Result<()> {
        // Removed at the end, with the old files.
        let scratch = tempfile::Builder::new().prefix(".part-").tempdir_in(parent)?;
        let (new, old) = (scratch.path().join("new"), scratch.path().join("old"));
        for file in files {
            let path = new.join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(&new))?;
            let options = WriteOptions { private: true, durable: true };
            atomic_write(&path, options, |out| out.write_all(&file.bytes))?;
        }
        set_mode(&new, 0o700)?;
        match fs::rename(directory, &old) {
            Err(error) if !is_absent(&error) => return Err(error),
            _ => {}
        }
        fs::rename(&new, directory)?;
        sync_directory(parent)
    };
    fill().map_err(|error| SourceError::disk("write", directory, &error))
}

#[cfg(unix)]
fn set_mode(directory: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(mode))
}

/// Directories in a user's profile are private.
#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Opens a file and waits for its lock, which is released on drop.
///
/// Some network file systems have no locks. As files are replaced atomically, the worst that happens there is that two
/// processes fetch the same evaluator.
pub(super) fn lock(path: &Path) -> Result<File, SourceError> {
    let failed = |error: io::Error| SourceError::disk("lock", path, &error);
    if kind(path)?.is_some_and(|kind| kind.is_symlink()) {
        return Err(linked(path));
    }
    let file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(failed(error)),
        _ => Ok(file),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use evaluator_test_support::Directory;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn directories_are_private_also_when_they_were_there() {
        let directory = Directory::new("source");
        fs::create_dir(directory.path("a")).unwrap();
        fs::set_permissions(directory.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        let made = private_directory(&directory.path(""), "a/b").unwrap();
        assert_eq!((mode(&directory.path("a")), mode(&made)), (0o700, 0o700));
    }

    #[test]
    fn links_are_refused_on_the_way_and_at_the_end() {
        let directory = Directory::new("source");
        directory.file("elsewhere/x.py", "x");
        std::os::unix::fs::symlink(directory.path("elsewhere"), directory.path("link")).unwrap();
        let root = directory.path("");
        assert!(matches!(private_directory(&root, "link/b"), Err(SourceError::Unsafe { .. })));
        assert!(matches!(refuse_links(&root, "link/x.py"), Err(SourceError::Unsafe { .. })));
        std::os::unix::fs::symlink(directory.path("elsewhere/x.py"), directory.path("x.py"))
            .unwrap();
        assert!(matches!(read(&directory.path("x.py"), 9), Err(SourceError::Unsafe { .. })));
        assert!(matches!(write(&directory.path("x.py"), b"y"), Err(SourceError::Unsafe { .. })));
        assert_eq!(fs::read(directory.path("elsewhere/x.py")).unwrap(), b"x");
        assert!(!directory.path("elsewhere/b").exists());
    }

    #[test]
    fn what_is_written_replaces_what_was_there_and_leaves_nothing_else() {
        let directory = Directory::new("source");
        let path = directory.path("a.py");
        write(&path, b"1").unwrap();
        write(&path, b"2").unwrap();
        assert_eq!(read(&path, 1).unwrap(), Some(b"2".to_vec()));
        assert!(matches!(read(&path, 0), Err(SourceError::TooLarge { .. })));
        let file = |path: &str| SourceFile { path: path.to_owned(), bytes: path.into() };
        write_directory(&directory.path("p"), &[file("old")]).unwrap();
        write_directory(&directory.path("p"), &[file("src/new")]).unwrap();
        assert!(!directory.path("p/old").exists() && directory.path("p/src/new").is_file());
        let names: Vec<_> =
            fs::read_dir(directory.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!((mode(&path), mode(&directory.path("p"))), (0o600, 0o700));
    }
}
