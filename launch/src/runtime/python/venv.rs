//! Cached virtual environments.
//!
//! The name of an environment is a hash of its requirements, the files they name, the interpreter and the SDK.
//! Environments cannot be moved, so one is built in place under a lock and used only after its marker, which is
//! written last, exists. The lock file is the installer's stdin, so the lock lasts as long as the installer if the
//! host is killed.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{
    installer::Sdk,
    interpreter::{self, Identity},
    needs::Needs,
};
use crate::{executor::Containment, process::Cancellation, runtime::Environment};

/// Written last into a complete environment.
pub(super) const MARKER: &str = "evaluator-complete";

/// Interval between attempts to get a lock.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Directory of all environments, which agentevals uses, too.
pub(super) fn root(environment: &Environment) -> Option<PathBuf> {
    environment.cache_directory("agentevals").map(|directory| directory.join("venvs"))
}

/// The location of an environment, which may exist or not.
///
/// Its name is derived from everything that decides about its content. So evaluators with the same requirements share
/// one, and a change leads to another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Venv {
    pub(super) directory: PathBuf,
}

impl Venv {
    pub(super) fn new(root: &Path, identity: &Identity, sdk: &Sdk, needs: &Needs) -> Self {
        let mut digest = Sha256::new();
        for part in [&identity.base, &identity.version, &identity.abi] {
            digest.update(part);
            digest.update([0]);
        }
        sdk.digest_into(&mut digest);
        needs.digest_into(&mut digest);
        let hash = hex(&digest.finalize()[..12]);
        Self { directory: root.join(format!("{}-{hash}", identity.tag)) }
    }

    /// The environment of evaluators that are contained. It is filled in a sandbox, and no other evaluator uses it; those
    /// whose packages may be built have another one than those with wheels only.
    pub(super) fn for_contained(self, containment: &Containment) -> Self {
        let mut name = self.directory.into_os_string();
        name.push(if containment.builds { "-contained-built" } else { "-contained" });
        Self { directory: name.into() }
    }

    /// Its interpreter.
    pub(super) fn python(&self) -> PathBuf {
        interpreter::in_virtual_environment(&self.directory)
    }

    /// Returns true if it is complete, and the interpreter that it links to exists.
    pub(super) fn is_ready(&self) -> bool {
        self.directory.join(MARKER).is_file() && self.python().is_file()
    }

    pub(super) fn remove(&self) -> Result<(), String> {
        // In this order, a partly removed environment is never taken for a complete one.
        let _ = fs::remove_file(self.directory.join(MARKER));
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot("remove", &self.directory, &error))
            }
            _ => Ok(()),
        }
    }

    /// Locks the environment until the result is dropped; `None` if another process has built it meanwhile, whose
    /// installer may have left a process that still holds the lock.
    pub(super) fn lock(
        &self,
        limit: Duration,
        cancellation: &Cancellation,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Option<File>, String> {
        let path = self.directory.with_extension("lock");
        if let Some(root) = self.directory.parent() {
            fs::create_dir_all(root).map_err(|error| cannot("create", root, &error))?;
        }
        let file = match File::options().create(true).read(true).append(true).open(&path) {
            // The file belongs to another user who shares the directory; it can be locked.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(&path),
            opened => opened,
        };
        let file = file.map_err(|error| cannot("open", &path, &error))?;
        let start_time = Instant::now();
        let mut reported = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                // Without a lock, two runs could write into one environment.
                Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
                Err(TryLockError::WouldBlock) if self.is_ready() => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
            }
            if !reported {
                reported = true;
                on_line("waiting for another run that installs the same requirements");
            }
            if cancellation.is_cancelled() {
                return Err("the run was cancelled".to_owned());
            }
            if start_time.elapsed() > limit {
                return Err(format!(
                    "another process has had {} locked for {} s\nhint: wait for it, or end it",
                    path.display(),
                    limit.as_secs()
                ));
            }
            thread::sleep(LOCK_POLL);
        }
    }
}

/// Writes bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::StorageFull {
        "the disk is full; free some space, or set EVALUATOR_CACHE_DIR to a directory on another one"
    } else {
        "set EVALUATOR_CACHE_DIR to a directory that can be written"
    };
    format!("cannot {verb} {}: {error}\nhint: {hint}", path.display())
}
