//! What agentevals reads of the same recordings: `tests/producers/agentevals.json`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{env, path::Path};

use serde_json::Value;

use super::recording::{self, Place, items, read, write};

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

/// Runs agentevals over every recording that is not listed for its release. `AGENTEVALS` names the command.
#[test]
#[ignore = "needs agentevals from PyPI, and minutes"]
fn agentevals_is_run_over_the_recordings() {
    let command = env::var("AGENTEVALS").unwrap_or_else(|_| "agentevals".to_owned());
    let directory = super::own();
    let version = Place::of_agentevals(&command).version();
    let mut content = Agentevals::load(&directory).0;
    let listed = content["differences"].as_object().cloned();
    let mut listed = listed.filter(|_| content["version"] == *version).unwrap_or_default();
    let mut recordings = recording::list(&directory);
    listed.retain(|name, _| recordings.iter().any(|recording| recording.name == *name));
    recordings.retain(|recording| !listed.contains_key(&recording.name));

    let results = super::read(&recordings, || Place::of_agentevals(&command));
    for (recording, _, differences) in results.recordings {
        listed.insert(recording.name, kinds(&differences).into());
    }
    listed.sort_keys();
    content["version"] = version.into();
    content["differences"] = Value::Object(listed);
    write(&directory.join("../agentevals.json"), &content);
}

/// Parts in which a recording is read differently, each once.
fn kinds(differences: &[String]) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for difference in differences {
        let kind = difference.split(": ").find(|part| !part.starts_with("turn "));
        let kind = kind.unwrap_or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
