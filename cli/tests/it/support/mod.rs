//! Runs the `evaluator` program in temporary directories.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

pub(crate) mod collector;
pub(crate) mod page;
pub(crate) mod place;
pub(crate) mod server;
pub(crate) mod serving;

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use evaluator_host::config::OutputFormat;
use evaluator_test_support::TestDirectory;
pub(crate) use evaluator_test_support::{Output as Ran, finish, has, has_typescript, processes};

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

/// Names of all formats of the report.
pub(crate) fn all_output_formats() -> impl Iterator<Item = &'static str> {
    OutputFormat::ALL.iter().map(|format| format.name())
}

/// Names of the formats that show every evaluation with its texts, and every remark about the run.
pub(crate) fn output_formats() -> impl Iterator<Item = &'static str> {
    // The texts of `html` are compressed.
    all_output_formats().filter(|name| !["overview", "csv", "openmetrics", "html"].contains(name))
}

/// A trace file of the tests.
pub(crate) fn trace(name: &str) -> String {
    data("traces", name)
}

/// An eval set of the tests.
pub(crate) fn eval_set(name: &str) -> String {
    data("eval_sets", name)
}

fn data(directory: &str, name: &str) -> String {
    format!("{}/tests/data/{directory}/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// Writes a lone Rust source to a path that is the same in each run of the tests, so that it is compiled once for all of them.
/// Nothing else is in its directory.
pub(crate) fn kept_source(name: &str, text: &str) -> PathBuf {
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources");
    let directory = evaluator_test_support::unshared(&base).join(name);
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join(format!("{name}.rs"));
    if fs::read_to_string(&file).ok().as_deref() != Some(text) {
        fs::write(&file, text).unwrap();
    }
    file
}

/// A directory in which the `evaluator` program runs.
#[derive(Debug)]
pub(crate) struct Directory(TestDirectory);

impl Deref for Directory {
    type Target = TestDirectory;

    fn deref(&self) -> &TestDirectory {
        &self.0
    }
}

impl Directory {
    pub(crate) fn new() -> Self {
        Self(TestDirectory::new())
    }

    /// Runs `evaluator run` in this directory.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.evaluator(&[&["run"], args].concat())
    }

    /// Runs `evaluator` in this directory.
    #[track_caller]
    pub(crate) fn evaluator(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// Returns the command `evaluator` in this directory; its streams are pipes.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(self.path(), args)
    }

    /// Writes empty packages with the names of those that every lone file depends on, which take long to compile. Returns their
    /// lines in the manifest of a file.
    #[cfg(unix)]
    pub(crate) fn empty_dependencies(&self) -> String {
        let line = |name: &str| {
            let directory = format!("src/empty/{name}");
            let manifest =
                format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n");
            self.file(&format!("{directory}/Cargo.toml"), manifest);
            self.file(&format!("{directory}/src/lib.rs"), "");
            format!("{name} = {{ path = {:?}, version = \"1\" }}\n", self.join(&directory))
        };
        ["evaluator-sdk", "serde", "serde_json"].map(line).concat()
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
        // All tests share their builds, so that the SDK is compiled once.
        .env("EVALUATOR_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators"))
        // Nothing listens there: tests stay on this machine.
        .env("AGENTEVALS_EVALUATOR_BASE_URL", "http://127.0.0.1:9")
        .env("AGENTEVALS_EVALUATOR_API_URL", "http://127.0.0.1:9")
        .env("CARGO_NET_OFFLINE", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
