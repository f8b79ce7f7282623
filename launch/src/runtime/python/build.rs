//! Builds of environments: calls of an installer, and what its failures mean.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use super::{
    installer::Installer,
    plan::{Planner, Wanted},
    venv,
};
use crate::{
    executor::{Containment, contain_build},
    process::CommandSpec,
    runtime::{
        Environment,
        tool::{self, Stream},
    },
};

/// Requirements of a fetched evaluator, as they are given to the installer.
const OWN_REQUIREMENTS: &str = "evaluator-requirements.txt";

/// Name in messages of what creates environments without uv.
const MAKER: &str = "python -m venv";

/// Unpacks a wheel that consists of modules into an environment, by its interpreter. pip would take a second for that of setuptools.
const UNPACK: &str = "import sys, sysconfig, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sysconfig.get_path('purelib'))";

/// Arguments of pip for any installation.
pub(super) const PIP_INSTALL: [&str; 5] =
    ["install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"];

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

/// Installation of packages in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct ContainedInstall {
    pub(super) containment: Arc<Containment>,
    /// Files that the interpreter reads.
    pub(super) files: Vec<PathBuf>,
}

impl ContainedInstall {
    /// Returns the command that runs without network and sees the interpreter and these paths only.
    pub(super) fn contain(
        &self,
        build: &Build<'_>,
        command: CommandSpec,
        mut read: Vec<PathBuf>,
        write: Vec<PathBuf>,
    ) -> Result<CommandSpec, String> {
        read.extend_from_slice(&self.files);
        contain_build(build.prepared(command), &self.containment, read, write).map_err(|reason| {
            format!("packages of contained evaluators are installed in a sandbox: {reason}")
        })
    }
}

pub(super) fn cannot(verb: &str, error: &io::Error) -> String {
    format!("cannot {verb} a temporary directory: {error}")
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
    /// Marks the environment as complete.
    pub(super) fn finish(&self) -> Result<(), String> {
        let Wanted { needs, venv, .. } = &self.shared.wanted;
        if needs.have_changed() {
            let place = needs.place();
            return Err(format!("{place} changed while it was installed\nhint: run again"));
        }
        let marker = venv.directory.join(venv::MARKER);
        // An installation may have left a link of that name.
        let _ = fs::remove_file(&marker);
        File::create_new(&marker)
            .and_then(|file| file.sync_all())
            .map_err(|error| venv::cannot("write", &marker, &error))
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
                    .map_err(|error| venv::cannot("write", &path, &error))?;
                Ok(Some(path))
            }
            _ => Ok(Some(file.path.clone())),
        }
    }

    /// Creates an empty environment; its directory must not exist.
    pub(super) fn create(&self, call: Call<'_, '_>) -> Result<(), String> {
        let (interpreter, directory) = (self.interpreter, &self.shared.wanted.venv.directory);
        let pip = Installer::Pip;
        let contained = self.shared.contained.is_some();
        let (mut command, tool) = match if contained { &pip } else { &self.planner.installer } {
            Installer::Uv(uv) => {
                let command = CommandSpec::new(uv).arg("venv").arg(directory);
                (command.arg("--python").arg(interpreter), "uv venv")
            }
            Installer::Pip => {
                let mut command = CommandSpec::new(interpreter).args(["-m", "venv"]);
                // A pip of its own takes most of the time of a new environment.
                if self.shared.wanted.pip.is_some() {
                    command = command.arg("--without-pip");
                }
                (command.arg(directory), MAKER)
            }
        };
        // uv would read settings of a project in the working directory.
        command.cwd = directory.parent().map(Path::to_owned);
        let what = format!("make an environment with {}", interpreter.display());
        let (lock, on_line) = call;
        self.call(command, tool, &what, (lock, on_line))?;
        match &self.shared.wanted.setuptools {
            Some(wheel) if tool == MAKER => {
                let python = CommandSpec::new(self.shared.wanted.venv.python());
                let command = python.args(["-I", "-c", UNPACK]).arg(wheel);
                self.call(command, "python", "install setuptools", (lock, on_line))
            }
            _ => Ok(()),
        }
    }

    /// Installs into the environment. `what` follows "cannot install" in messages.
    pub(super) fn install(
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
                (CommandSpec::new(python).arg(self.shared.wanted.pip()).args(PIP_INSTALL), "pip")
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
