//! Runs the `evaluator` program in folders of the tests' own.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests may panic, and say what they skip"
)]

pub(crate) mod collector;
pub(crate) mod place;
#[cfg(unix)]
pub(crate) mod processes;
pub(crate) mod server;
pub(crate) mod serving;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Far above what anything here takes.
const PATIENCE: Duration = Duration::from_secs(240);

/// The source of a program with an evaluator `always`, which has a description, and one `never`.
pub(crate) const TWO_EVALUATORS: &str = r#"
use evaluator_sdk::{EvalInput, evaluator};

/// Always.
#[evaluator]
fn always(_: &EvalInput) -> bool {
    true
}

#[evaluator]
fn never(_: &EvalInput) -> bool {
    false
}

fn main() -> std::process::ExitCode {
    evaluator_sdk::run_any(&[always::EVALUATOR, never::EVALUATOR])
}
"#;

/// A trace file of the tests.
pub(crate) fn trace(name: &str) -> String {
    data("traces", name)
}

/// An eval set of the tests.
pub(crate) fn eval_set(name: &str) -> String {
    data("eval_sets", name)
}

fn data(folder: &str, name: &str) -> String {
    format!("{}/tests/data/{folder}/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// A folder that goes away with the test.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cli-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self { path: path.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes an executable shell script.
    #[cfg(unix)]
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `evaluator run` in this folder.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut all = vec!["run"];
        all.extend(args);
        self.evaluator(&all)
    }

    /// `evaluator` in this folder.
    pub(crate) fn evaluator(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// `evaluator` in this folder, not started yet; its streams are pipes.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(&self.path, args)
    }
}

/// Returns the command `evaluator` with these arguments and this working directory; its streams are pipes.
#[expect(clippy::disallowed_methods, reason = "this is what is tested")]
pub(crate) fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaluator"));
    command
        .args(args)
        .current_dir(directory)
        .env_remove("EVALUATOR_PYTHON")
        // Nothing listens there: tests stay on this machine.
        .env("AGENTEVALS_EVALUATOR_BASE_URL", "http://127.0.0.1:9")
        .env("AGENTEVALS_EVALUATOR_API_URL", "http://127.0.0.1:9")
        .env("CARGO_NET_OFFLINE", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the target folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Waits for a program, reading its outputs all the while.
pub(crate) fn finish(mut child: Child) -> Ran {
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)).transpose().unwrap();
            String::from_utf8(bytes).expect("output is UTF-8")
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as Box<_>));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as Box<_>));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it hangs; stderr: {}", stderr.join().unwrap());
        }
        thread::sleep(Duration::from_millis(5));
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    Ran { code: status.code(), stdout, stderr }
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that stderr has this text, exactly once.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        let count = self.stderr.matches(text).count();
        assert_eq!(count, 1, "`{text}` is there {count} times: {}", self.stderr);
        self
    }

    /// Checks that nothing ran.
    #[track_caller]
    pub(crate) fn reports_nothing(self) -> Self {
        assert_eq!(self.stdout, "", "{}", self.stderr);
        self
    }

    /// The report, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Name, status and kind of error of the evaluations of a conversation, e.g. `polite PASSED` or
    /// `polite ERROR timed_out`.
    #[track_caller]
    pub(crate) fn evaluations(&self, conversation: usize) -> Vec<String> {
        let json = self.json();
        let metrics = json["traces"][conversation]["metrics"].as_array().unwrap();
        metrics
            .iter()
            .map(|metric| {
                let name = metric["metric_name"].as_str().unwrap();
                match metric["error_type"].as_str() {
                    Some(kind) => format!("{name} ERROR {kind}"),
                    None => format!("{name} {}", metric["eval_status"].as_str().unwrap()),
                }
            })
            .collect()
    }

    /// Error text of an evaluation of the first conversation.
    #[track_caller]
    pub(crate) fn error_of(&self, name: &str) -> String {
        let json = self.json();
        let metrics = json["traces"][0]["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["metric_name"] == name).unwrap();
        metric["error"].as_str().unwrap().to_owned()
    }
}

/// Whether a program is there; tests that need one say so when they are skipped.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("SKIPPED: {program} is not on PATH");
    }
    found
}
