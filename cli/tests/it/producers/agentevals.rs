//! What agentevals reads of the same recordings: `tests/producers/agentevals.json`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{collections::BTreeMap, env, fs, path::Path};

use serde_json::{Map, Value};

use super::recording::{Place, items, read, write};

/// Keys of the parts in which a recording is read differently, by the recording's name. Empty for one read as it happened.
type Differences = BTreeMap<String, Vec<String>>;

/// The content of `agentevals.json`: the test writes the results, a person the reasons.
pub(super) struct Agentevals(Value);

impl Agentevals {
    pub(super) fn load(directory: &Path) -> Self {
        Self(read(&directory.join("../agentevals.json")))
    }

    /// Release that was tested.
    pub(super) fn version(&self) -> &str {
        self.0["version"].as_str().unwrap()
    }

    /// Parts in which it reads a recording differently. None if it was not tested on that recording.
    pub(super) fn differences(&self, name: &str) -> Option<&[Value]> {
        self.0["differences"].get(name).map(items)
    }

    /// Reason of the differences of a producer.
    pub(super) fn reason(&self, name: &str) -> &str {
        super::page::entry(&self.0["reasons"], name)
            .and_then(|entry| entry["reason"].as_str())
            .unwrap_or_else(|| panic!("tests/producers/agentevals.json has no reason for {name}"))
    }
}

/// Runs agentevals over every recording. `AGENTEVALS` names the command.
#[test]
#[ignore = "needs agentevals from PyPI, and minutes"]
fn agentevals_is_run_over_the_recordings() {
    let command = env::var("AGENTEVALS").unwrap_or_else(|_| "agentevals".to_owned());
    let directory = super::own();
    let place = Place::of_agentevals(&command);
    let results = super::results_with(&directory, || Place::of_agentevals(&command));
    let kinds = |differences: &[String]| {
        let mut kinds: Vec<String> = Vec::new();
        for difference in differences {
            let kind = difference.split(": ").find(|part| !part.starts_with("turn "));
            let kind = kind.unwrap_or_default().to_owned();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    };
    let differences: Differences = results
        .recordings
        .iter()
        .map(|(recording, _, differences)| (recording.name.clone(), kinds(differences)))
        .collect();
    let there = fs::read_to_string(directory.join("../agentevals.json")).unwrap_or_default();
    let there: Value = serde_json::from_str(&there).unwrap_or_default();
    let mut content = Map::new();
    content.insert("version".to_owned(), place.version().into());
    content.insert("reasons".to_owned(), there["reasons"].clone());
    let lists = differences.into_iter().map(|(name, kinds)| (name, kinds.into())).collect();
    content.insert("differences".to_owned(), Value::Object(lists));
    write(&directory.join("../agentevals.json"), &Value::Object(content));
}
