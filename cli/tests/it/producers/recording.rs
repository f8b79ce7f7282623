//! Recorded traces, and the conversations that an evaluator sees in them.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::Folder;

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

/// A directory with an evaluator whose details are the document that it gets.
pub(super) struct Place(Folder);

impl Place {
    pub(super) fn new() -> Self {
        let place = Folder::new();
        place.script("echo.sh", "printf '{\"score\": 1, \"details\": '\ncat\nprintf '}\\n'");
        place.file("echo.yaml", "evaluators:\n  - {name: echo, type: code, path: ./echo.sh}\n");
        Self(place)
    }

    /// Conversations of a trace.
    pub(super) fn read(&self, recording: &Recording) -> Seen {
        let trace = recording.trace.to_string_lossy();
        let ran =
            self.0.run(&[&trace, "-c", "echo.yaml", "--group-by", "conversation", "-o", "json"]);
        let Ok(report) = serde_json::from_str::<Value>(&ran.stdout) else {
            return Seen { conversations: Vec::new(), error: Some(ran.stderr) };
        };
        let turns = |conversation: &Value| {
            let seen = &conversation["metrics"][0]["details"]["invocations"];
            items(seen).to_vec()
        };
        Seen { conversations: items(&report["traces"]).iter().map(turns).collect(), error: None }
    }
}
