//! uv, or `venv` and pip: how they are called, and what they say when they fail.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::File,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use super::{interpreter, variables::Variables};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Environment,
        tool::{self, Stream},
    },
};

/// Lines shown of what an installer said, from its end.
const SHOWN_LINES: usize = 15;

/// Hint where the index cannot be reached. What to do by hand follows it.
const UNREACHABLE: &str = "the package index cannot be reached; is there a network? For an index of your own or a proxy set \
     PIP_INDEX_URL (with uv: UV_INDEX_URL) or HTTPS_PROXY";

/// Signs in what installers say, and what to do about them. The first that is there counts: an index that cannot be reached
/// is also told as a package that does not exist.
const HINTS: [(&[&str], &str); 5] = [
    (
        &["No space left", "Disk quota exceeded", "os error 28", "Errno 28", "Errno 122"],
        "the disk is full; free some space, or set EVALUATOR_CACHE_DIR to a folder on another one",
    ),
    (
        &["ensurepip", "No module named venv", "No module named pip", "python3-venv"],
        "this Python lacks the module that makes virtual environments (on Debian and Ubuntu: apt install python3-venv); \
         install it, or uv",
    ),
    (
        &["Permission denied", "Read-only file system", "Errno 13", "Errno 30"],
        "set EVALUATOR_CACHE_DIR to a folder that can be written",
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
        // With `PIP_RETRIES=0`, pip does not say that the index could not be reached.
        "no such package or version is in the index for this Python, if the index can be reached; correct the requirement",
    ),
];

/// The hint where nothing is known.
const ANY_HINT: &str = "correct the requirements, or install them by hand to see more";

/// The program that makes environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    /// uv, found here.
    Uv(PathBuf),
    /// The interpreter's own modules.
    Pip,
}

/// What every call of an installer needs.
pub(super) struct Call<'a> {
    pub(super) variables: &'a Variables,
    /// Kept locked until all that was started has ended.
    pub(super) lock: &'a File,
    pub(super) limit: Duration,
    /// What to do where packages cannot be fetched.
    pub(super) by_hand: &'a str,
    pub(super) cancellation: &'a Cancellation,
    pub(super) on_line: &'a mut dyn FnMut(&str),
}

impl Installer {
    /// uv if it is there: it takes a fraction of the time.
    pub(super) fn find(environment: &Environment) -> Self {
        environment.find_program("uv").map_or(Self::Pip, Self::Uv)
    }

    /// What is used, for people.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Uv(_) => "uv",
            Self::Pip => "venv and pip",
        }
    }

    /// Makes an empty environment in `folder`, which must not exist.
    pub(super) fn create(
        &self,
        interpreter: &Path,
        folder: &Path,
        call: &mut Call<'_>,
    ) -> Result<(), String> {
        let mut command = match self {
            Self::Uv(uv) => {
                CommandSpec::new(uv).arg("venv").arg(folder).arg("--python").arg(interpreter)
            }
            Self::Pip => CommandSpec::new(interpreter).args(["-m", "venv"]).arg(folder),
        };
        // Not where a project might be, of which uv would take settings.
        command.cwd = folder.parent().map(Path::to_owned);
        let tool = if *self == Self::Pip { "python -m venv" } else { "uv venv" };
        call.run(command, tool, &format!("make an environment with {}", interpreter.display()))
    }

    /// Arguments for packages that lie on this machine: what is cached of them may be older than they are.
    pub(super) fn of_this_machine(&self) -> &'static [&'static str] {
        match self {
            // It looks at the age of their manifest only.
            Self::Uv(_) => &["--refresh"],
            // It builds them each time.
            Self::Pip => &[],
        }
    }

    /// Installs into the environment in `folder`. `what` goes on after "cannot install".
    pub(super) fn install(
        &self,
        folder: &Path,
        packages: &[&OsStr],
        cwd: Option<&Path>,
        what: &str,
        call: &mut Call<'_>,
    ) -> Result<(), String> {
        let python = interpreter::in_virtual_environment(folder);
        let mut command = match self {
            Self::Uv(uv) => {
                // Compiled now, as pip does it, and not while the clock of the first evaluation runs.
                CommandSpec::new(uv)
                    .args(["pip", "install", "--compile-bytecode", "--python"])
                    .arg(python)
            }
            Self::Pip => CommandSpec::new(python)
                .args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"])
                .args(["--progress-bar", "off"]),
        };
        command.args.extend(packages.iter().copied().map(OsString::from));
        command.cwd = cwd.map(Path::to_owned);
        let tool = if *self == Self::Pip { "pip" } else { "uv" };
        call.run(command, tool, &format!("install {what}"))
    }
}

impl Call<'_> {
    /// Runs an installer to its end; if that is bad, says what it could not do, why, and what may help.
    fn run(&mut self, command: CommandSpec, tool: &str, what: &str) -> Result<(), String> {
        let command = self.variables.give_to(command).env("NO_COLOR", "1");
        let mut said = Said::default();
        let status = tool::run_locked(
            &command,
            self.lock,
            self.limit,
            self.cancellation,
            &mut |stream, line| {
                said.add(stream, line);
                if !line.trim().is_empty() {
                    (self.on_line)(line.trim());
                }
            },
        );
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                Err(said
                    .explain(&format!("{tool} cannot {what} ({})", ending(status)), self.by_hand))
            }
            Err(error) => {
                Err(said.explain(&format!("{tool} cannot {what}: {error}"), self.by_hand))
            }
        }
    }
}

fn ending(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// The last lines of both outputs.
#[derive(Debug, Default)]
struct Said {
    stdout: VecDeque<String>,
    stderr: VecDeque<String>,
}

impl Said {
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

    /// The headline, the last lines, a hint. `venv` complains on standard output.
    fn explain(&self, headline: &str, by_hand: &str) -> String {
        let lines = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let is_there = |sign: &str| {
            self.stdout.iter().chain(&self.stderr).any(|line| line.contains(sign))
                || headline.contains(sign)
        };
        let hint = HINTS
            .iter()
            .find(|(signs, _)| signs.iter().any(|sign| is_there(sign)))
            .map_or(ANY_HINT, |(_, hint)| hint);
        let lines: String = lines.iter().map(|line| format!("\n{line}")).collect();
        let by_hand = if hint == UNREACHABLE { format!("; {by_hand}") } else { String::new() };
        format!("{headline}{lines}\nhint: {hint}{by_hand}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(stdout: &[&str], stderr: &[&str]) -> String {
        let mut said = Said::default();
        stdout.iter().for_each(|line| said.add(Stream::Stdout, line));
        stderr.iter().for_each(|line| said.add(Stream::Stderr, line));
        said.explain("pip cannot install x (exit code 1)", "type it")
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
    fn what_nobody_knows_has_a_hint_too() {
        assert!(explained(&[], &["odd"]).ends_with(ANY_HINT));
    }
}
