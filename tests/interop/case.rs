//! What is run, and what comes of it.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use evaluator_tests::bench::build;
use serde_json::Value;

/// What the user asks in every turn.
pub(crate) const QUESTION: &str = "What is the capital of France?";
/// What the agent says.
pub(crate) const ANSWER: &str = "Paris is the capital of France, and its largest city.";
/// What it should say.
pub(crate) const EXPECTED: &str = "Paris.";

/// An evaluator that was exported, and what it is to do.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// The folder of what was exported.
    pub(crate) exported: PathBuf,
    /// Empty: none.
    pub(crate) fault: String,
}

impl Case {
    pub(crate) fn label(&self) -> String {
        if self.fault.is_empty() { self.name.clone() } else { self.fault.clone() }
    }

    /// A file that was exported.
    pub(crate) fn read(&self, suffix: &str) -> String {
        let path = self.exported.join(format!("{}{suffix}", self.name));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The entry of a YAML file that was exported, with another name, and indented.
    pub(crate) fn entry(&self, suffix: &str, indent: &str) -> String {
        let text = self.read(suffix);
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#')).skip(1);
        let named = |line: &str| {
            line.replace(
                &format!("name: \"{}\"", self.name),
                &format!("name: \"{}\"", self.label()),
            )
        };
        lines.map(|line| format!("{indent}{}\n", named(line))).collect()
    }
}

/// How a host takes an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    /// Where the host has a word for that.
    Error,
    /// It does not say anything.
    Lost,
}

/// What a host says of an evaluator.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) verdict: Verdict,
    pub(crate) score: Option<f64>,
    /// Where it records any.
    pub(crate) turns: Option<Vec<f64>>,
    /// All explanations, in whatever form.
    pub(crate) reason: String,
}

impl Recorded {
    pub(crate) fn lost() -> Self {
        Self { verdict: Verdict::Lost, score: None, turns: None, reason: String::new() }
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let score = self.score.map_or_else(String::new, |score| format!(" {score}"));
        write!(f, "{:?}{score}", self.verdict)
    }
}

/// Numbers of a list; nulls are left out.
pub(crate) fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Programs, and a folder for what is made of them.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let mut cargo = build::cargo(build::root());
        cargo.args(["build", "-q", "-p", "evaluator-cli", "-p", "evaluator-examples", "--bins"]);
        let status = cargo.arg("--target-dir").arg(build::target()).status().unwrap();
        assert!(status.success(), "{cargo:?}: {status}");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        Self { folder }
    }

    /// A program that was built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        build::target().join("debug").join(name)
    }

    /// A new folder.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub(crate) fn export(&self, program: &PathBuf, target: &str) -> PathBuf {
        let folder = self.folder(&format!("exported/{target}"));
        let mut command = Command::new(self.program("evaluator"));
        command.args(["export", "--for", target, "-o"]).arg(&folder).arg(program);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", text(&output));
        folder
    }
}

/// All that a program has said.
pub(crate) fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{out}\n{err}", output.status)
}
