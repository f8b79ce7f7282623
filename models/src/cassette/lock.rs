//! Locks of cassettes against other processes.
//!
//! The lock files are in the user's cache: directories with cassettes are under version control, and in a directory for all
//! users another one could hold a lock, or put a link or a pipe in its place.

use std::{
    env,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::file::{directory, failed};
use crate::{ModelError, request::sha};

/// Longest wait for another process, which holds a lock while it writes one file.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval in which a process that waits looks whether the lock is free.
const LOOK: Duration = Duration::from_millis(20);

/// Locks a cassette until the result is dropped.
///
/// # Errors
///
/// The lock cannot be created, or another process holds it for too long.
pub(super) fn exclusive(path: &Path) -> Result<File, ModelError> {
    let file = lock_file(path).map_err(|error| failed(path, error))?;
    open(&file).and_then(|lock| wait(lock, PATIENCE)).map_err(|error| {
        failed(path, format!("its lock {} cannot be used: {error}", file.display()))
    })
}

/// Waits for a lock.
fn wait(lock: File, patience: Duration) -> io::Result<File> {
    let started = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() < patience => thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other(format!(
                    "another process has held it for {} s; end that process, and run again",
                    patience.as_secs()
                )));
            }
        }
    }
}

/// Returns the path of the lock file of a cassette, which need not exist.
fn lock_file(path: &Path) -> io::Result<PathBuf> {
    let target = fs::canonicalize(path).or_else(|_| {
        fs::canonicalize(directory(path)).map(|it| it.join(path.file_name().unwrap_or_default()))
    })?;
    let name = sha(target.as_os_str().as_encoded_bytes());
    let cache = cache().ok_or_else(|| {
        io::Error::other("there is no directory for its lock; set HOME or XDG_CACHE_HOME")
    })?;
    Ok(cache.join("evaluator").join("locks").join(format!("{}.lock", &name[..24])))
}

/// Returns the directory of the user's caches.
fn cache() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    if cfg!(windows) {
        return variable("LOCALAPPDATA");
    }
    variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))
}

/// Opens a lock file, which only its owner can open. A link is not followed, and a pipe not waited for.
fn open(path: &Path) -> io::Result<File> {
    let mut directories = fs::DirBuilder::new();
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

        use rustix::fs::OFlags;

        directories.mode(0o700);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    if let Some(parent) = path.parent() {
        directories.recursive(true).create(parent)?;
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_lock_is_private_and_the_wait_for_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache/locks/c.lock");
        let held = wait(open(&path).unwrap(), PATIENCE).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let error = wait(open(&path).unwrap(), Duration::ZERO).unwrap_err().to_string();
        assert!(error.starts_with("another process has held it"), "{error}");
        drop(held);
        wait(open(&path).unwrap(), Duration::ZERO).unwrap();
    }

    #[test]
    fn links_and_pipes_are_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let (link, pipe) = (directory.path().join("link"), directory.path().join("pipe"));
        symlink(directory.path().join("elsewhere"), &link).unwrap();
        assert!(open(&link).is_err());
        assert!(!directory.path().join("elsewhere").exists());
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        assert!(open(&pipe).is_err(), "nothing reads from it, so this would wait for ever");
    }
}
