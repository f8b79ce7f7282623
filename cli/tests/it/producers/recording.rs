//! Recorded traces, and the conversations that an evaluator sees in them.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::Directory;

/// A trace and what happened while it was recorded.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    /// Such as `strands_S1`.
    pub(super) name: String,
    pub(super) trace: PathBuf,
    /// Content of `NAME.expected.json`.
    pub(super) expected: Value,
}

/// Conversations as an evaluator saw them: the turns of each, as in the document of the contract.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) conversations: Vec<Vec<Value>>,
    /// Reason why there is no report.
    pub(super) error: Option<String>,
}

/// Recordings of a directory by name.
pub(super) fn list(directory: &Path) -> Vec<Recording> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let trace_of = |name: &str| {
        let start = format!("{name}.trace.json");
        let file = names.iter().find(|file| file.starts_with(&start));
        directory.join(file.unwrap_or_else(|| panic!("{start} is missing")))
    };
    names
        .iter()
        .filter_map(|file| file.strip_suffix(".expected.json"))
        .map(|name| Recording {
            name: name.to_owned(),
            trace: trace_of(name),
            expected: read(&directory.join(format!("{name}.expected.json"))),
        })
        .collect()
}

pub(super) fn read(file: &Path) -> Value {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Items of a list, and none of anything else.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Writes a file as JSON.
pub(super) fn write(file: &Path, value: &Value) {
    fs::write(file, serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
}

/// A directory with an evaluator whose details are the document that it gets.
pub(super) struct Place {
    directory: Directory,
    /// Command of agentevals, if that is to read the traces.
    agentevals: Option<String>,
}

impl Place {
    pub(super) fn new() -> Self {
        let directory = Directory::new();
        directory.script("echo.sh", "printf '{\"score\": 1, \"details\": '\ncat\nprintf '}\\n'");
        directory.file("echo.yaml", "evaluators:\n  - {name: echo, type: code, path: ./echo.sh}\n");
        Self { directory, agentevals: None }
    }

    /// Reads traces with agentevals, which runs no shell scripts.
    pub(super) fn of_agentevals(command: &str) -> Self {
        let directory = Directory::new();
        let echo = "import json, sys\nprint(json.dumps({'score': 1.0, 'details': json.load(sys.stdin)}))\n";
        directory.file("echo.py", echo);
        directory.file("echo.yaml", "evaluators:\n  - {name: echo, type: code, path: echo.py}\n");
        Self { directory, agentevals: Some(command.to_owned()) }
    }

    /// Release of agentevals.
    pub(super) fn version(&self) -> String {
        let command = self.agentevals.as_deref().unwrap_or_default();
        let said = self.directory.sh(&format!("'{command}' --version")).stdout;
        said.split_whitespace()
            .last()
            .unwrap_or_else(|| panic!("{command} was not found"))
            .to_owned()
    }

    /// Conversations of a trace.
    pub(super) fn read(&self, recording: &Recording) -> Seen {
        let trace = recording.trace.to_string_lossy();
        let args = ["-c", "echo.yaml", "--group-by", "conversation", "-o", "json"];
        let ran = match &self.agentevals {
            Some(command) => {
                self.directory.sh(&format!("'{command}' run '{trace}' {}", args.join(" ")))
            }
            None => self.directory.run(&[&[&*trace], &args[..]].concat()),
        };
        // agentevals may print lines of its log before the report.
        let report = ran.stdout.find('{').map(|start| serde_json::from_str(&ran.stdout[start..]));
        let Some(Ok(report)) = report else {
            return Seen { conversations: Vec::new(), error: Some(ran.stderr) };
        };
        let report: Value = report;
        let turns = |conversation: &Value| {
            let metrics = ["metrics", "metric_results"]
                .map(|key| &conversation[key])
                .into_iter()
                .find(|it| it.is_array());
            let details = metrics.map(|metrics| &metrics[0]["details"]["invocations"]);
            details.map_or_else(Vec::new, |turns| items(turns).to_vec())
        };
        Seen { conversations: items(&report["traces"]).iter().map(turns).collect(), error: None }
    }
}
