//! Agenta 0.125.1: custom code, run by its own handler in its local runner.

use std::{fs, path::PathBuf, process::Command};

use evaluator_tests::bench::build;
use serde_json::{Value, json};

use super::Host;
use crate::case::{ANSWER, Case, EXPECTED, Place, QUESTION, Recorded, Verdict, text};

pub(crate) struct Agenta {
    python: PathBuf,
    version: &'static str,
    name: String,
}

impl Agenta {
    pub(crate) fn new(python: PathBuf, version: &'static str) -> Self {
        Self { python, version, name: format!("Agenta 0.125.1, v{version}") }
    }
}

impl Host for Agenta {
    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> &'static str {
        "agenta"
    }

    fn turns(&self) -> usize {
        1
    }

    fn explains(&self) -> bool {
        false
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let folder = place.folder(&format!("agenta-v{}", self.version));
        let jobs: Vec<Value> = cases
            .iter()
            .map(|case| {
                json!({
                    "code": case.read(&format!("_agenta_v{}.py", self.version)),
                    "version": self.version,
                    "fault": case.fault,
                    "inputs": {"question": QUESTION, "correct_answer": EXPECTED},
                    "outputs": ANSWER,
                })
            })
            .collect();
        let (given, got) = (folder.join("jobs.json"), folder.join("results.json"));
        fs::write(&given, Value::from(jobs).to_string()).unwrap();
        let mut command = Command::new(&self.python);
        command
            .arg(build::root().join("tests/interop/drivers/agenta_code.py"))
            .args([&given, &got]);
        let output = command.output().unwrap();
        let results = fs::read_to_string(&got)
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", text(&output)));
        let results: Vec<Value> = serde_json::from_str(&results).unwrap();
        results.iter().map(recorded).collect()
    }
}

fn recorded(result: &Value) -> Recorded {
    let verdict = match (&result["error"], result["success"].as_bool()) {
        (Value::String(_), _) => Verdict::Error,
        (_, Some(true)) => Verdict::Pass,
        (_, Some(false)) => Verdict::Fail,
        _ => Verdict::Lost,
    };
    Recorded {
        verdict,
        score: result["score"].as_f64(),
        turns: None,
        reason: result["error"].as_str().unwrap_or_default().to_owned(),
    }
}
