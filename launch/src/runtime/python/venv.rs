//! Cached virtual environments, and the installers (uv, or `venv` and pip) that fill them.
//!
//! The name of an environment is a hash of its requirements, the files they name, the interpreter and the SDK.
//! Environments cannot be moved, so one is built in place under a lock and used only after its marker, which is
//! written last, exists. The lock file is the installer's stdin, so the lock lasts as long as the installer if the
//! host is killed.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{
    contained::ContainedInstall,
    interpreter::{self, Identity},
    needs::Needs,
    plan::{Planner, Wanted},
    references, requirements,
};
use crate::{
    environment::is_listed,
    executor::Containment,
    process::{Cancellation, CommandSpec},
    runtime::{
        Environment,
        tool::{self, Stream},
    },
};

/// Written last into a complete environment.
const MARKER: &str = "evaluator-complete";

/// Requirements of a fetched evaluator, as they are given to the installer.
const OWN_REQUIREMENTS: &str = "evaluator-requirements.txt";

/// Interval between attempts to get a lock.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Directory of all environments, which agentevals uses, too.
pub(super) fn root(environment: &Environment) -> Option<PathBuf> {
    environment.cache_directory("agentevals").map(|directory| directory.join("venvs"))
}

/// The published package of the SDK.
const SDK: &str = "agentevals-evaluator-sdk";

/// The package that is installed into every environment, so that evaluators need not name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sdk(Option<OsString>);

impl Sdk {
    /// `$EVALUATOR_PYTHON_SDK`: another requirement, or a file, in place of the published package; `none` for none.
    pub(super) fn of(environment: &Environment) -> Self {
        let chosen = match environment.get("EVALUATOR_PYTHON_SDK") {
            None => Some(SDK.into()),
            Some(none) if none == "none" => None,
            // Installers run in other directories.
            Some(path) if Path::new(path).exists() => {
                std::path::absolute(path).ok().map(PathBuf::into_os_string)
            }
            Some(requirement) => Some(requirement.to_owned()),
        };
        Self(chosen)
    }

    /// The requirement to install; `None` if there is none.
    pub(super) fn requirement(&self) -> Option<&OsStr> {
        self.0.as_deref()
    }

    /// The requirement, if it names a package of the index.
    pub(super) fn plain(&self) -> Option<&str> {
        let text = self.0.as_ref()?.to_str()?;
        (requirements::is_plain(text) && !Path::new(text).exists()).then_some(text)
    }

    /// Returns true if any version of the published package is accepted.
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

    fn remove(&self) -> Result<(), String> {
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
    fn lock(
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

fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    let hint = if error.kind() == io::ErrorKind::StorageFull {
        "the disk is full; free some space, or set EVALUATOR_CACHE_DIR to a directory on another one"
    } else {
        "set EVALUATOR_CACHE_DIR to a directory that can be written"
    };
    format!("cannot {verb} {}: {error}\nhint: {hint}", path.display())
}

/// Number of last lines of an installer that are shown.
const SHOWN_LINES: usize = 15;

/// Hint if the index cannot be reached, followed by how to install by hand.
const UNREACHABLE: &str = "the package index cannot be reached; is there a network? For an index of your own or a proxy set \
     PIP_INDEX_URL (with uv: UV_INDEX_URL) or HTTPS_PROXY";

/// Hint if the index lacks something. With `PIP_RETRIES=0`, pip does not report an unreachable index.
const NO_VERSION: &str = "no such package or version is in the index for this Python, if the index can be reached; correct the requirement";

/// Follows that hint if only wheels are installed.
const NO_WHEEL: &str = ", or, if the index has only its source, set `sandbox: {builds: true}`, which builds it in the sandbox";

/// Texts in the output of installers, and hints for them. The first match counts: an unreachable index is also reported
/// as a missing package.
const HINTS: [(&[&str], &str); 5] = [
    (
        &["No space left", "Disk quota exceeded", "os error 28", "Errno 28", "Errno 122"],
        "the disk is full; free some space, or set EVALUATOR_CACHE_DIR to a directory on another one",
    ),
    (
        &["ensurepip", "No module named venv", "No module named pip", "python3-venv"],
        "this Python lacks the module that makes virtual environments (on Debian and Ubuntu: apt install python3-venv); \
         install it, or uv",
    ),
    (
        &["Permission denied", "Read-only file system", "Errno 13", "Errno 30"],
        "set EVALUATOR_CACHE_DIR to a directory that can be written",
    ),
    (
        &[
            "NewConnectionError",
            "ConnectTimeoutError",
            "Max retries exceeded",
            "ProxyError",
            "SSLError",
            "Temporary failure in name resolution",
            "Network is unreachable",
            "error sending request",
            "dns error",
            "Failed to fetch",
            "Network connectivity is disabled",
        ],
        UNREACHABLE,
    ),
    (
        &["No matching distribution", "No solution found", "not found in the package registry"],
        NO_VERSION,
    ),
];

/// Hint for other failures.
const ANY_HINT: &str = "correct the requirements, or install them by hand to see more";

/// The program that creates environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    /// uv, found here.
    Uv(PathBuf),
    /// `venv` and pip of the interpreter.
    Pip,
}

impl Installer {
    /// Chooses uv if it is on `PATH`: it takes a fraction of the time.
    pub(super) fn find(environment: &Environment) -> Self {
        environment.find_program("uv").map_or(Self::Pip, Self::Uv)
    }

    /// Name for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Uv(_) => "uv",
            Self::Pip => "venv and pip",
        }
    }

    /// Arguments for packages of this machine, whose cached builds may be outdated.
    pub(super) fn of_this_machine(&self) -> &'static [&'static str] {
        match self {
            // It only checks the time of their manifest.
            Self::Uv(_) => &["--refresh"],
            // It builds them each time.
            Self::Pip => &[],
        }
    }
}

/// An environment that some evaluators of a run need.
#[derive(Debug)]
pub(super) struct SharedVenv {
    pub(super) wanted: Wanted,
    /// The interpreter that it is made with.
    pub(super) interpreter: PathBuf,
    /// True if the requirements belong to a fetched evaluator.
    pub(super) fetched: bool,
    /// Installation in a sandbox, if the evaluators are contained.
    pub(super) contained: Option<ContainedInstall>,
    /// File names of its evaluators; at least one.
    pub(super) evaluators: Vec<String>,
}

/// A build of an environment.
pub(super) struct Build<'a> {
    pub(super) planner: &'a Planner<'a>,
    pub(super) shared: &'a SharedVenv,
    pub(super) interpreter: &'a Path,
    pub(super) variables: &'a Environment,
    /// Time limit of each call of the installer.
    pub(super) limit: Duration,
}

/// State that the calls of an installer share: a file that stays locked until the installer and its child processes have
/// ended, and the receiver of its output.
pub(super) type Call<'a, 'b> = (&'a File, &'a mut (dyn FnMut(&str) + 'b));

impl Build<'_> {
    /// Builds the environment, unless another process has built it meanwhile.
    ///
    /// # Errors
    ///
    /// Why it cannot be built; nothing is left of it then.
    pub(super) fn run(&self, on_line: &mut dyn FnMut(&str)) -> Result<(), String> {
        let venv = &self.shared.wanted.venv;
        let lock = match venv.lock(self.limit, self.planner.cancellation, on_line)? {
            Some(lock) if !venv.is_ready() => lock,
            _ => return Ok(()),
        };
        // Removes what an interrupted build has left.
        venv.remove()?;
        let built = self.fill((&lock, on_line));
        if built.is_err() {
            // The first error is the one to report; the next build removes the rest.
            let _ = venv.remove();
        }
        built
    }

    fn fill(&self, (lock, on_line): Call<'_, '_>) -> Result<(), String> {
        let Wanted { needs, venv, .. } = &self.shared.wanted;
        let Planner { installer, sdk, .. } = self.planner;
        self.create((lock, on_line))?;
        if let Some(contained) = &self.shared.contained {
            contained.fill(self, (lock, on_line))?;
            return self.finish();
        }
        // A package in the working directory would be preferred to that of the index.
        let cwd = if self.shared.fetched { Some(&*venv.directory) } else { needs.base() };
        if let Some(sdk) = sdk.requirement() {
            let what = format!("{}, which every Python evaluator gets", sdk.display());
            let mut packages = vec![sdk];
            if Path::new(sdk).exists() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            self.install(&packages, cwd, &what, (lock, on_line))?;
        }
        let file = self.file_to_install()?;
        let mut packages: Vec<&OsStr> =
            file.iter().flat_map(|file| [OsStr::new("-r"), file.as_os_str()]).collect();
        packages.extend(needs.dependencies().iter().map(OsStr::new));
        if !packages.is_empty() {
            if needs.names_files() {
                packages.extend(installer.of_this_machine().iter().map(OsStr::new));
            }
            self.install(&packages, cwd, &needs.place(), (lock, on_line))?;
        }
        self.finish()
    }

    /// Marks the environment as complete.
    fn finish(&self) -> Result<(), String> {
        let Wanted { needs, venv, .. } = &self.shared.wanted;
        if needs.have_changed() {
            let place = needs.place();
            return Err(format!("{place} changed while it was installed\nhint: run again"));
        }
        let marker = venv.directory.join(MARKER);
        // An installation may have left a link of that name.
        let _ = fs::remove_file(&marker);
        File::create_new(&marker)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot("write", &marker, &error))
    }

    /// The file to install from, if it names anything. For a fetched evaluator it contains only parsed requirements:
    /// installers may read the same bytes in another encoding, or a file that has changed since.
    pub(super) fn file_to_install(&self) -> Result<Option<PathBuf>, String> {
        let Wanted { needs, venv, .. } = &self.shared.wanted;
        let Some(file) = &needs.file else { return Ok(None) };
        match file.packages() {
            Some([]) => Ok(None),
            Some(packages) if self.shared.fetched || self.shared.contained.is_some() => {
                let path = venv.directory.join(OWN_REQUIREMENTS);
                fs::write(&path, packages.join("\n") + "\n")
                    .map_err(|error| cannot("write", &path, &error))?;
                Ok(Some(path))
            }
            _ => Ok(Some(file.path.clone())),
        }
    }

    /// Creates an empty environment; its directory must not exist.
    fn create(&self, call: Call<'_, '_>) -> Result<(), String> {
        let (interpreter, directory) = (self.interpreter, &self.shared.wanted.venv.directory);
        let pip = Installer::Pip;
        let contained = self.shared.contained.is_some();
        let (mut command, tool) = match if contained { &pip } else { &self.planner.installer } {
            Installer::Uv(uv) => {
                let command = CommandSpec::new(uv).arg("venv").arg(directory);
                (command.arg("--python").arg(interpreter), "uv venv")
            }
            Installer::Pip => {
                let command = CommandSpec::new(interpreter).args(["-m", "venv"]);
                (command.arg(directory), "python -m venv")
            }
        };
        // uv would read settings of a project in the working directory.
        command.cwd = directory.parent().map(Path::to_owned);
        let what = format!("make an environment with {}", interpreter.display());
        self.call(command, tool, &what, call)
    }

    /// Installs into the environment. `what` follows "cannot install" in messages.
    fn install(
        &self,
        packages: &[&OsStr],
        cwd: Option<&Path>,
        what: &str,
        call: Call<'_, '_>,
    ) -> Result<(), String> {
        let python = self.shared.wanted.venv.python();
        let (mut command, tool) = match &self.planner.installer {
            Installer::Uv(uv) => {
                // Compiles now, as pip does, and not during the first evaluation.
                let args = ["pip", "install", "--compile-bytecode", "--python"];
                (CommandSpec::new(uv).args(args).arg(python), "uv")
            }
            Installer::Pip => {
                let args = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
                (CommandSpec::new(python).args(args).args(["--progress-bar", "off"]), "pip")
            }
        };
        command.args.extend(packages.iter().copied().map(OsString::from));
        command.cwd = cwd.map(Path::to_owned);
        self.call(command, tool, &format!("install {what}"), call)
    }

    /// Calls an installer. Its error names the failed step, the reason and a hint.
    pub(super) fn call(
        &self,
        command: CommandSpec,
        tool: &str,
        what: &str,
        call: Call<'_, '_>,
    ) -> Result<(), String> {
        self.call_prepared(&self.prepared(command), tool, what, call)
    }

    /// Gives an installer its variables.
    pub(super) fn prepared(&self, command: CommandSpec) -> CommandSpec {
        self.variables.give_to(command).env("NO_COLOR", "1")
    }

    /// Calls an installer that has its variables.
    pub(super) fn call_prepared(
        &self,
        command: &CommandSpec,
        tool: &str,
        what: &str,
        call: Call<'_, '_>,
    ) -> Result<(), String> {
        self.run_tool(command, tool, what, call).map_err(|(headline, tail)| {
            let is_contained = |it: &ContainedInstall| !it.containment.builds;
            let only_wheels = self.shared.contained.as_ref().is_some_and(is_contained);
            let by_hand = self.shared.wanted.by_hand(self.interpreter);
            let more = if only_wheels { NO_WHEEL } else { "" };
            tail.explain(&headline, &tail.hint(&headline, &by_hand, more))
        })
    }

    /// Calls a program that has its variables, and whose failures have one hint.
    pub(super) fn call_with_hint(
        &self,
        command: &CommandSpec,
        tool: &str,
        (what, hint): (&str, &str),
        call: Call<'_, '_>,
    ) -> Result<(), String> {
        let result = self.run_tool(command, tool, what, call);
        result.map_err(|(headline, tail)| tail.explain(&headline, hint))
    }

    /// Runs a program. The error is a headline and the end of the output.
    fn run_tool(
        &self,
        command: &CommandSpec,
        tool: &str,
        what: &str,
        (lock, on_line): Call<'_, '_>,
    ) -> Result<(), (String, OutputTail)> {
        let mut tail = OutputTail::default();
        let cancellation = self.planner.cancellation;
        let status =
            tool::run(command, Some(lock), self.limit, cancellation, &mut |stream, line| {
                tail.add(stream, line);
                if !line.trim().is_empty() {
                    on_line(line.trim());
                }
            });
        let headline = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("{tool} cannot {what} ({})", ending(status)),
            Err(error) => format!("{tool} cannot {what}: {error}"),
        };
        Err((headline, tail))
    }
}

fn ending(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// The last lines of both outputs.
#[derive(Debug, Default)]
struct OutputTail {
    stdout: VecDeque<String>,
    stderr: VecDeque<String>,
}

impl OutputTail {
    fn add(&mut self, stream: Stream, line: &str) {
        let lines = if stream == Stream::Stdout { &mut self.stdout } else { &mut self.stderr };
        if line.trim().is_empty() || line.starts_with("[notice]") {
            return;
        }
        if lines.len() == SHOWN_LINES {
            lines.pop_front();
        }
        lines.push_back(line.trim_end().to_owned());
    }

    /// Returns the hint for an output. `by_hand` follows it if the index cannot be reached, `no_wheel` if it lacks a package.
    fn hint(&self, headline: &str, by_hand: &str, no_wheel: &str) -> String {
        let is_there = |sign: &str| {
            self.stdout.iter().chain(&self.stderr).any(|line| line.contains(sign))
                || headline.contains(sign)
        };
        let hint = HINTS
            .iter()
            .find(|(signs, _)| signs.iter().any(|sign| is_there(sign)))
            .map_or(ANY_HINT, |(_, hint)| hint);
        match hint {
            UNREACHABLE => format!("{hint}; {by_hand}"),
            NO_VERSION => format!("{hint}{no_wheel}"),
            _ => hint.to_owned(),
        }
    }

    /// Headline, last lines, and a hint. `venv` reports errors on standard output.
    fn explain(&self, headline: &str, hint: &str) -> String {
        let lines = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let lines: String = lines.iter().map(|line| format!("\n{line}")).collect();
        format!("{headline}{lines}\nhint: {hint}")
    }
}

/// Variables that would make an installer put packages elsewhere, use packages of elsewhere, or do nothing: the environment
/// would look complete and would not be.
const MISLEADING: &str = "\
    PYTHONHOME PYTHONPATH PYTHONUSERBASE __PYVENV_LAUNCHER__ VIRTUAL_ENV CONDA_PREFIX PIP_DRY_RUN PIP_EDITABLE \
    PIP_NO_DEPS PIP_PREFIX PIP_PYTHON PIP_REPORT PIP_REQUIREMENT PIP_ROOT PIP_TARGET PIP_USER UV_NO_DEPS UV_PREFIX \
    UV_PYTHON UV_SYSTEM_PYTHON UV_TARGET UV_VENV_CLEAR UV_VENV_SEED UV_WORKING_DIRECTORY";

/// What an installer sees for a fetched evaluator, and with it the code that a package runs while it is installed: locations of
/// programs, home and temporary directories, how to reach the index, and what Windows needs to start anything.
const MINIMAL: &str = "\
    PATH HOME USER LOGNAME TMPDIR TEMP TMP XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_HOME LANG \
    LANGUAGE LD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE \
    SSL_CERT_DIR SSL_CLIENT_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NIX_SSL_CERT_FILE NETRC APPDATA COMSPEC \
    LOCALAPPDATA NUMBER_OF_PROCESSORS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA SYSTEMDRIVE SYSTEMROOT \
    USERPROFILE WINDIR";

/// The environment of an installer: all of `inherited` that does not mislead it; for a `fetched` evaluator, only what an
/// installation needs.
pub(super) fn installer_environment(inherited: &Environment, fetched: bool) -> Environment {
    inherited.retaining(|name, _| {
        let name = name.to_string_lossy().to_uppercase();
        !is_listed(&name, MISLEADING) && (!fetched || is_minimal(&name))
    })
}

/// `name` is in upper case: names of proxies occur in both.
fn is_minimal(name: &str) -> bool {
    // Settings of the installers: index, mode, certificates. Not those for publishing.
    let is_setting = (name.starts_with("PIP_") || name.starts_with("UV_"))
        && !name.starts_with("UV_PUBLISH_")
        && !name.ends_with("_TOKEN");
    is_setting || name.starts_with("LC_") || is_listed(name, MINIMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(stdout: &[&str], stderr: &[&str]) -> String {
        let mut tail = OutputTail::default();
        stdout.iter().for_each(|line| tail.add(Stream::Stdout, line));
        stderr.iter().for_each(|line| tail.add(Stream::Stderr, line));
        let headline = "pip cannot install x (exit code 1)";
        tail.explain(headline, &tail.hint(headline, "type it", ""))
    }

    #[test]
    fn a_failure_shows_the_end_of_stderr_and_a_hint() {
        let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.extend(["", "ERROR: No matching distribution found for nope", "[notice] upgrade"]);
        let text = explained(&["Collecting nope"], &lines);
        assert!(text.starts_with("pip cannot install x (exit code 1)\nline 26\n"), "{text}");
        assert!(
            text.ends_with(
                "found for nope\nhint: no such package or version is in the index for this Python, if the index can be reached; correct the requirement"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_first_cause_decides_the_hint() {
        let hint = |line: &str| {
            explained(&[], &[line, "No matching distribution"]).lines().last().unwrap().to_owned()
        };
        let unreachable = hint("NewConnectionError(...)");
        assert!(unreachable.contains("is there a network?"), "{unreachable}");
        assert!(unreachable.ends_with("HTTPS_PROXY; type it"), "{unreachable}");
        assert!(hint("OSError: [Errno 28] No space left on device").contains("the disk is full"));
        assert!(hint("[Errno 13] Permission denied: '/c'").contains("EVALUATOR_CACHE_DIR"));
    }

    #[test]
    fn what_venv_says_on_stdout_is_shown_when_it_says_nothing_else() {
        let text = explained(&["because ensurepip is not available"], &[]);
        assert!(text.contains("\nbecause ensurepip is not available\nhint: "), "{text}");
        assert!(text.contains("apt install python3-venv"), "{text}");
    }

    #[test]
    fn an_unknown_failure_has_a_hint_too() {
        assert!(explained(&[], &["odd"]).ends_with(ANY_HINT));
    }
}

#[cfg(test)]
mod variables_tests {
    use super::*;

    const INHERITED: [(&str, &str); 15] = [
        ("PATH", "/bin"),
        ("HOME", "/h"),
        ("OPENAI_API_KEY", "secret"),
        ("GITHUB_TOKEN", "secret"),
        ("UV_PUBLISH_PASSWORD", "secret"),
        ("UV_GITHUB_TOKEN", "secret"),
        ("PIP_INDEX_URL", "https://index"),
        ("PIP_CONFIG_FILE", "/pip.conf"),
        ("UV_INDEX_URL", "https://index"),
        ("UV_DEFAULT_INDEX", "https://index"),
        ("https_proxy", "p"),
        ("SSL_CERT_FILE", "/c"),
        ("LC_ALL", "C"),
        ("PIP_TARGET", "/elsewhere"),
        ("PYTHONPATH", "/lib"),
    ];

    fn names(fetched: bool) -> Vec<String> {
        let variables = installer_environment(&Environment::new(INHERITED), fetched);
        let command = variables.give_to(CommandSpec::new("pip"));
        assert!(command.clear_env);
        command.env.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn for_fetched_evaluators_only_what_an_installation_needs_is_there() {
        assert_eq!(
            names(true),
            [
                "PATH",
                "HOME",
                "PIP_INDEX_URL",
                "PIP_CONFIG_FILE",
                "UV_INDEX_URL",
                "UV_DEFAULT_INDEX",
                "https_proxy",
                "SSL_CERT_FILE",
                "LC_ALL"
            ]
        );
    }

    #[test]
    fn for_others_only_what_misleads_is_taken_away() {
        let taken: Vec<&str> = INHERITED
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !names(false).iter().any(|kept| kept == name))
            .collect();
        assert_eq!(taken, ["PIP_TARGET", "PYTHONPATH"]);
    }
}
