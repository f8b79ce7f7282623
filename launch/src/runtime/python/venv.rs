//! One cached virtual environment.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{
    installer::{Call, Installer},
    interpreter,
    needs::Needs,
    plain,
    probe::Identity,
    references,
    variables::Variables,
};
use crate::{process::Cancellation, runtime::Environment};

/// Written last into a finished environment.
const MARKER: &str = "evaluator-complete";

/// Requirements of a fetched evaluator as they are given to the installer.
const OWN_REQUIREMENTS: &str = "evaluator-requirements.txt";

/// How often a lock that another process holds is tried again.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The folder of all environments, where agentevals has its own too.
pub(super) fn root(environment: &Environment) -> Option<PathBuf> {
    if let Some(folder) = environment.get("EVALUATOR_CACHE_DIR") {
        return std::path::absolute(folder).ok().map(|folder| folder.join("venvs"));
    }
    environment.cache_home().map(|base| base.join("agentevals").join("venvs"))
}

/// The published package of the SDK.
const SDK: &str = "agentevals-evaluator-sdk";

/// The package every environment begins with, so that evaluators need not name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sdk(Option<OsString>);

impl Sdk {
    /// `$EVALUATOR_PYTHON_SDK`: another requirement, or a file, in place of the published package; `none` for none.
    pub(super) fn of(environment: &Environment) -> Self {
        let chosen = match environment.get("EVALUATOR_PYTHON_SDK") {
            None => Some(SDK.into()),
            Some(none) if none == "none" => None,
            // Installers are started in other folders.
            Some(path) if Path::new(path).exists() => {
                std::path::absolute(path).ok().map(PathBuf::into_os_string)
            }
            Some(requirement) => Some(requirement.to_owned()),
        };
        Self(chosen)
    }

    /// What is installed; `None` if nothing is.
    pub(super) fn requirement(&self) -> Option<&OsStr> {
        self.0.as_deref()
    }

    /// The requirement, if it names a package of the index.
    pub(super) fn plain(&self) -> Option<&str> {
        let text = self.0.as_ref()?.to_str()?;
        let is_plain = plain::parse(text).is_ok_and(|parsed| parsed == [text]);
        (is_plain && !Path::new(text).exists()).then_some(text)
    }

    /// Whether any version of the published package will do.
    pub(super) fn is_default(&self) -> bool {
        self.0.as_ref().is_some_and(|requirement| requirement == SDK)
    }

    fn digest_into(&self, digest: &mut Sha256) {
        if let Some(requirement) = &self.0 {
            digest.update(requirement.as_encoded_bytes());
            references::content_into(Path::new(requirement), digest);
        }
        digest.update([0]);
    }
}

/// A place for an environment, which holds a finished one or not.
///
/// Its name is made of all that decides what is in it. So evaluators with the same requirements share one, and whatever
/// changes leads to another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Venv {
    folder: PathBuf,
}

/// How an environment is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe<'a> {
    pub(super) installer: &'a Installer,
    pub(super) interpreter: &'a Path,
    pub(super) sdk: &'a Sdk,
    pub(super) needs: &'a Needs,
    /// What to do where packages cannot be fetched.
    pub(super) by_hand: &'a str,
    pub(super) variables: &'a Variables,
    /// Whether the requirements came with an evaluator that was fetched.
    pub(super) fetched: bool,
    /// How long each call of the installer may take.
    pub(super) limit: Duration,
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
        let hex: String =
            digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self { folder: root.join(format!("{}-{hex}", identity.tag)) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its interpreter.
    pub(super) fn python(&self) -> PathBuf {
        interpreter::in_virtual_environment(&self.folder)
    }

    /// Whether it was built to its end, and the interpreter it is a link to is still there.
    pub(super) fn is_ready(&self) -> bool {
        self.folder.join(MARKER).is_file() && self.python().is_file()
    }

    /// Builds it, unless another process has by the time it is this one's turn.
    ///
    /// # Errors
    ///
    /// Why there is none; nothing is left of it then.
    pub(super) fn build(
        &self,
        recipe: &Recipe<'_>,
        cancellation: &Cancellation,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let lock = match self.lock(recipe.limit, cancellation, on_line)? {
            Some(lock) if !self.is_ready() => lock,
            _ => return Ok(()),
        };
        // What is there is what a build that was interrupted has left.
        self.remove()?;
        let call = &mut Call {
            variables: recipe.variables,
            lock: &lock,
            limit: recipe.limit,
            by_hand: recipe.by_hand,
            cancellation,
            on_line,
        };
        let built = self.fill(recipe, call);
        if built.is_err() {
            // The next build would remove it too; the error that led here is the one to tell.
            let _ = self.remove();
        }
        built
    }

    fn fill(&self, recipe: &Recipe<'_>, call: &mut Call<'_>) -> Result<(), String> {
        let Recipe { installer, needs, .. } = recipe;
        installer.create(recipe.interpreter, &self.folder, call)?;
        // A package that lies in the working folder would be taken before that of the index.
        let cwd = if recipe.fetched { Some(self.folder.as_path()) } else { needs.base() };
        if let Some(sdk) = recipe.sdk.requirement() {
            let what = format!("{}, which every Python evaluator gets", sdk.display());
            let mut packages = vec![sdk];
            if Path::new(sdk).exists() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            installer.install(&self.folder, &packages, cwd, &what, call)?;
        }
        let file = self.file_to_install(recipe)?;
        let mut packages: Vec<&OsStr> =
            file.iter().flat_map(|file| [OsStr::new("-r"), file.as_os_str()]).collect();
        packages.extend(needs.dependencies().iter().map(OsStr::new));
        if !packages.is_empty() {
            if needs.names_files() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            installer.install(&self.folder, &packages, cwd, &needs.place(), call)?;
        }
        if needs.have_changed() {
            return Err(format!(
                "{} changed while it was installed\nhint: run again",
                needs.place()
            ));
        }
        let marker = self.folder.join(MARKER);
        File::create(&marker)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot("write", &marker, &error))
    }

    /// The file to install from, if one names anything. For a fetched evaluator only what was understood of it: installers
    /// may read the same bytes in another encoding, or a file that has changed since.
    fn file_to_install(&self, recipe: &Recipe<'_>) -> Result<Option<PathBuf>, String> {
        let Some(file) = recipe.needs.file() else { return Ok(None) };
        match file.packages() {
            Some([]) => Ok(None),
            Some(packages) if recipe.fetched => {
                let path = self.folder.join(OWN_REQUIREMENTS);
                fs::write(&path, packages.join("\n") + "\n")
                    .map_err(|error| cannot("write", &path, &error))?;
                Ok(Some(path))
            }
            _ => Ok(Some(file.path.clone())),
        }
    }

    fn remove(&self) -> Result<(), String> {
        // In this order an environment that is half removed is not taken for a finished one.
        let _ = fs::remove_file(self.folder.join(MARKER));
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot("remove", &self.folder, &error))
            }
            _ => Ok(()),
        }
    }

    /// Keeps other processes from building this environment until the result is dropped; `None` if one of them has built it
    /// meanwhile. Something that their installer left running may then still hold the lock.
    fn lock(
        &self,
        limit: Duration,
        cancellation: &Cancellation,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<Option<File>, String> {
        let path = self.folder.with_extension("lock");
        if let Some(root) = self.folder.parent() {
            fs::create_dir_all(root).map_err(|error| cannot("create", root, &error))?;
        }
        let file = match File::options().create(true).read(true).append(true).open(&path) {
            // The file of another user, who shares the folder: it can be waited for.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(&path),
            opened => opened,
        };
        let file = file.map_err(|error| cannot("open", &path, &error))?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                // Without a lock, two runs could write into one environment and both take it for finished.
                Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
                Err(TryLockError::WouldBlock) if self.is_ready() => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
            }
            if !told {
                told = true;
                on_line("waiting for another run that installs the same requirements");
            }
            if cancellation.is_cancelled() {
                return Err("the run was cancelled".to_owned());
            }
            if begun.elapsed() > limit {
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

fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::StorageFull {
        "the disk is full; free some space, or set EVALUATOR_CACHE_DIR to a folder on another one"
    } else {
        "set EVALUATOR_CACHE_DIR to a folder that can be written"
    };
    format!("cannot {verb} {}: {error}\nhint: {hint}", path.display())
}
