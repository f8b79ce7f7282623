//! agentevals: `agentevals run` with a trace file, an eval set, and a configuration.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::{Host, version_of};
use crate::interop::{
    case::{Case, LIMIT, Recorded, Verdict, numbers},
    conversation::Conversation,
    faults::Fault,
    place::{Place, driver},
};

pub(super) struct Agentevals {
    command: PathBuf,
    name: String,
}

impl Agentevals {
    pub(super) fn new(command: PathBuf) -> Self {
        let name = format!("agentevals {}", version_of(&command));
        Self { command, name }
    }

    /// Runs the evaluators of a configuration.
    fn run(&self, config: &str, labels: &[&str], place: &Place) -> Vec<Recorded> {
        let (directory, conversation) = (place.directory("agentevals"), self.conversation());
        fs::write(directory.join("trace.json"), conversation.trace().to_string()).unwrap();
        fs::write(directory.join("set.json"), conversation.eval_set().to_string()).unwrap();
        fs::write(directory.join("config.yaml"), config).unwrap();
        let mut command = place.command(&self.command);
        command
            .current_dir(&directory)
            .args(["run", "trace.json", "-e", "set.json", "-c", "config.yaml"])
            .args(["-o", "json", "--group-by", "conversation"]);
        let said = place.run(&mut command);
        let Ok(report) = serde_json::from_str::<Value>(&said.stdout) else {
            panic!("{command:?}: {said:?}");
        };
        let metrics = report["traces"][0]["metrics"].as_array().cloned().unwrap_or_default();
        labels.iter().map(|label| recorded(&metrics, label)).collect()
    }
}

impl Host for Agentevals {
    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> &'static str {
        "agentevals"
    }

    fn conversation(&self) -> Conversation {
        Conversation::two_turns()
    }

    fn not_evaluated(&self) -> Verdict {
        Verdict::NotEvaluated
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let entries = cases.iter().map(|case| {
            let entry = case.entry(".agentevals.yaml", "");
            let entry = entry.replace("config: {}", &format!("config: {}", case.config));
            let limit = if case.hangs { LIMIT } else { 30 };
            entry.replace("timeout: 30", &format!("timeout: {limit}"))
        });
        let config: String = std::iter::once("evaluators:\n".to_owned()).chain(entries).collect();
        let labels: Vec<&str> = cases.iter().map(|case| &*case.label).collect();
        self.run(&config, &labels, place)
    }

    fn own_kind(&self) -> Option<&'static str> {
        Some("Python, with agentevals-evaluator-sdk")
    }

    fn judge_own_kind(&self, faults: &[Fault], place: &Place) -> Vec<Recorded> {
        let entry = |fault: &Fault| {
            json!({
                "name": fault.name,
                "type": "code",
                "path": driver("theirs/agentevals_evaluator.py"),
                "timeout": if fault.hangs { LIMIT } else { 30 },
                "config": {"fault": fault.name},
            })
        };
        let entries: Vec<Value> = faults.iter().map(entry).collect();
        let labels: Vec<&str> = faults.iter().map(|fault| fault.name).collect();
        self.run(&json!({"evaluators": entries}).to_string(), &labels, place)
    }
}

fn recorded(metrics: &[Value], label: &str) -> Recorded {
    let Some(metric) = metrics.iter().find(|metric| metric["metric_name"] == label) else {
        return Recorded::only(Verdict::Lost);
    };
    let verdict = match (metric["error"].as_str(), metric["eval_status"].as_str()) {
        (Some(_), _) => Verdict::Error,
        (None, Some("PASSED")) => Verdict::Pass,
        (None, Some("FAILED")) => Verdict::Fail,
        (None, Some("NOT_EVALUATED")) => Verdict::NotEvaluated,
        _ => Verdict::Lost,
    };
    Recorded {
        verdict,
        score: metric["score"].as_f64(),
        turns: Some(numbers(&metric["per_invocation_scores"])),
        details: Some(metric["details"].clone()),
        reason: metric["error"].as_str().unwrap_or_default().to_owned(),
    }
}
