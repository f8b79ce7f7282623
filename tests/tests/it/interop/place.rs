//! Programs, folders for what is made of them, and commands that may not end.

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

/// Far above what any host takes for anything.
const PATIENCE: Duration = Duration::from_secs(600);

/// A folder for one host, and the mark that all processes have that it starts.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    mark: Mark,
}

/// What a command has said, as text.
#[derive(Debug)]
pub(crate) struct Said {
    /// None if it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// How it ended, and the end of what it said of that.
    pub(crate) fn end(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().rev().take(5).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        format!("{:?}: {}", self.status, lines.join("\n"))
    }
}

/// Builds what is run.
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
    /// An empty folder.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        Self { folder, mark: Mark::new() }
    }

    /// A new folder in it.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The folder with what a host needs to run a program.
    pub(crate) fn export(&self, program: &Path, target: &str) -> PathBuf {
        let name = program.file_name().unwrap().to_str().unwrap();
        let folder = self.folder.join("exported").join(name);
        if !folder.exists() {
            let mut command = self.command(crate::interop::place::program("evaluator"));
            command.args(["export", "--for", target, "-o"]).arg(&folder).arg(program);
            let said = self.run(&mut command);
            assert!(said.status.is_some_and(|status| status.success()), "{command:?}: {said:?}");
        }
        folder
    }

    /// A command whose processes can be found.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env(MARK_VARIABLE, self.mark.as_str()).current_dir(&self.folder);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &mut Command) -> Said {
        let said = self.run_for(command, PATIENCE);
        assert!(said.status.is_some(), "{command:?} does not end: {said:?}");
        said
    }

    /// Runs a command for so long at most, with all that it has started.
    pub(crate) fn run_for(&self, command: &mut Command, limit: Duration) -> Said {
        // Files are read whoever still holds them.
        let [out, err] = ["stdout", "stderr"].map(|name| self.folder.join(name));
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if begun.elapsed() > limit => break None,
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

    /// Processes that are still there though the host has ended.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        self.mark.left_behind()
    }
}
