//! Locks of cassettes against other processes.
//!
//! The lock files are in the user's cache: directories with cassettes are under version control, and in a directory for all
//! users another one could hold a lock, or put a link or a pipe in its place.

use std::{
    env, fmt,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crate::{ErrorKind, ModelError, request::sha};

/// Longest wait for another process, which holds a lock while it writes one file.
const WAIT_LIMIT: Duration = Duration::from_secs(20);
/// Time after which a wait is reported.
const SILENCE: Duration = Duration::from_secs(1);
/// Interval in which a process that waits looks whether the lock is free.
const LOOK: Duration = Duration::from_millis(20);

/// Receives messages about waits, while they last. By default they go nowhere.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Waits({})", _0.is_some())]
pub struct Waits(Option<Receive>);

type Receive = Arc<dyn Fn(&str) + Send + Sync>;

impl Waits {
    /// Creates a receiver.
    pub fn new(receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }
}

/// Locks a cassette until the result is dropped.
///
/// # Errors
///
/// The lock cannot be created, or another process holds it for too long.
pub(super) fn exclusive(path: &Path, waits: &Waits) -> Result<File, ModelError> {
    let file = lock_file(path).map_err(|error| failed(path, error))?;
    let report = || {
        if let Waits(Some(receive)) = waits {
            let (cassette, lock) = (path.display(), file.display());
            receive(&format!(
                "waiting for another process that writes the cassette {cassette} (it holds {lock})"
            ));
        }
    };
    open(&file).and_then(|lock| wait(lock, (SILENCE, WAIT_LIMIT), report)).map_err(|error| {
        failed(path, format!("its lock {} cannot be used: {error}", file.display()))
    })
}

pub(super) fn failed(path: &Path, reason: impl fmt::Display) -> ModelError {
    ModelError::new(ErrorKind::Cassette, format!("cassette {}: {reason}", path.display()))
}

pub(super) fn directory(path: &Path) -> &Path {
    path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Waits for a lock, and reports a wait that is longer than `silence` once.
fn wait(
    lock: File,
    (silence, limit): (Duration, Duration),
    report: impl FnOnce(),
) -> io::Result<File> {
    let started = Instant::now();
    let mut report = Some(report);
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() < limit => {
                if let Some(report) = report.take_if(|_| started.elapsed() >= silence) {
                    report();
                }
                thread::sleep(LOOK);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other(format!(
                    "another process has held it for {} s; end that process, and run again",
                    limit.as_secs()
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
        let never = || panic!("nothing is waited for");
        let held = wait(open(&path).unwrap(), (SILENCE, WAIT_LIMIT), never).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let mut reported = 0;
        let soon = (Duration::ZERO, Duration::from_millis(100));
        let error = wait(open(&path).unwrap(), soon, || reported += 1).unwrap_err().to_string();
        assert!(error.starts_with("another process has held it"), "{error}");
        assert_eq!(reported, 1);
        drop(held);
        wait(open(&path).unwrap(), (SILENCE, WAIT_LIMIT), never).unwrap();
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
