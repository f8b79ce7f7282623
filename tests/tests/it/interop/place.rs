//! Built programs, directories for exported files, and commands that may hang.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use evaluator_test_support::processes::{MARK_VARIABLE, Mark};
use evaluator_tests::bench::build;
use rustix::process::{Pid, Signal, kill_process_group};

/// Time after which a host counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// A directory for one host, and the mark of all processes that it starts.
#[derive(Debug)]
pub(crate) struct Place {
    directory: PathBuf,
    mark: Mark,
}

/// Exit status and output of a command.
#[derive(Debug)]
pub(crate) struct Said {
    /// None if it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Exit status and the last lines of standard error.
    pub(crate) fn end(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().rev().take(5).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        format!("{:?}: {}", self.status, lines.join("\n"))
    }
}

/// Builds the programs.
pub(crate) fn build() {
    let mut cargo = build::cargo(build::root());
    // The selection of the gate: with any other one, cargo would compile most crates again.
    cargo.args(["test", "-q", "--workspace", "--no-run"]);
    let status = cargo.arg("--target-dir").arg(build::target()).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
}

/// A program that was built.
pub(crate) fn program(name: &str) -> PathBuf {
    build::target().join("debug").join(name)
}

/// A file of this suite that is not written in Rust.
pub(crate) fn driver(name: &str) -> PathBuf {
    build::root().join("tests/tests/it/interop/drivers").join(name)
}

impl Place {
    /// Creates an empty directory.
    pub(crate) fn new(name: &str) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
        let directory = evaluator_test_support::unshared(&base).join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        fs::create_dir_all(&directory).unwrap();
        Self { directory, mark: Mark::new() }
    }

    /// Creates a directory in it.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let directory = self.directory.join(name);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    /// Directory with the files that a host needs to run a program.
    pub(crate) fn export(&self, program: &Path, target: &str) -> PathBuf {
        let name = program.file_name().unwrap().to_str().unwrap();
        let directory = self.directory.join("exported").join(name);
        if !directory.exists() {
            let mut command = self.command(crate::interop::place::program("evaluator"));
            command.args(["export", "--for", target, "-o"]).arg(&directory).arg(program);
            let said = self.run(&mut command);
            assert!(said.status.is_some_and(|status| status.success()), "{command:?}: {said:?}");
        }
        directory
    }

    /// A command whose processes can be found.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env(MARK_VARIABLE, self.mark.as_str()).current_dir(&self.directory);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &mut Command) -> Said {
        let said = self.run_for(command, TIME_LIMIT);
        assert!(said.status.is_some(), "{command:?} does not end: {said:?}");
        said
    }

    /// Runs a command for so long at most, with all that it has started.
    pub(crate) fn run_for(&self, command: &mut Command, limit: Duration) -> Said {
        // Files can be read while another process still has them open.
        let [out, err] = ["stdout", "stderr"].map(|name| self.directory.join(name));
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if start.elapsed() > limit => break None,
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        if status.is_none() {
            let group = Pid::from_child(&child);
            kill_process_group(group, Signal::KILL).unwrap();
            child.wait().unwrap();
        }
        let [stdout, stderr] =
            [out, err].map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
        Said { status, stdout, stderr }
    }

    /// Processes that still exist after the host has exited.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        self.mark.left_behind()
    }
}
