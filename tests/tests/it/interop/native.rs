//! Results of evaluators under `evaluator run` for the same conversation.

use std::fs;

use serde_json::{Value, json};

use crate::interop::{
    case::{Case, numbers},
    conversation::Conversation,
    place::{self, Place},
};

/// Result of an evaluator.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    /// None: not evaluated.
    pub(crate) score: Option<f64>,
    pub(crate) passed: bool,
    /// Empty if it gives none.
    pub(crate) turns: Vec<Option<f64>>,
    pub(crate) details: Option<Value>,
}

impl Native {
    /// Result of an evaluator of tool calls where the host does not report them.
    pub(crate) fn without_tools() -> Self {
        let reason = "this evaluator judges tool calls, which the host does not report";
        let details = Some(json!({"reason": reason}));
        Self { score: None, passed: false, turns: Vec::new(), details }
    }

    /// Texts in its details.
    pub(crate) fn reasons(&self) -> Vec<&str> {
        fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::String(text) => found.push(text),
                Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
                Value::Object(members) => members.values().for_each(|item| texts(item, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        self.details.iter().for_each(|details| texts(details, &mut found));
        found
    }
}

/// Runs evaluators on a conversation.
pub(crate) fn judge(
    cases: &[Case],
    conversation: &Conversation,
    threshold: f64,
    place: &Place,
) -> Vec<Native> {
    let directory = place.directory("native");
    let entries: Vec<Value> = cases
        .iter()
        .map(|case| {
            json!({
                "name": case.label,
                "type": "code",
                "path": case.program,
                "threshold": threshold,
                "config": case.config,
            })
        })
        .collect();
    fs::write(directory.join("config.yaml"), json!({"evaluators": entries}).to_string()).unwrap();
    fs::write(directory.join("trace.json"), conversation.trace().to_string()).unwrap();
    fs::write(directory.join("set.json"), conversation.eval_set().to_string()).unwrap();
    let mut command = place.command(place::program("evaluator"));
    command.current_dir(&directory).args([
        "run",
        "trace.json",
        "-e",
        "set.json",
        "-c",
        "config.yaml",
    ]);
    command.args(["-o", "json", "--group-by", "conversation"]);
    let said = place.run(&mut command);
    let report: Value = serde_json::from_str(&said.stdout)
        .unwrap_or_else(|error| panic!("{command:?}: {error}: {said:?}"));
    let metrics = report["traces"][0]["metrics"].as_array().cloned().unwrap_or_default();
    cases
        .iter()
        .map(|case| {
            let metric = metrics.iter().find(|metric| metric["metric_name"] == *case.label);
            let metric = metric.unwrap_or_else(|| panic!("{}: {said:?}", case.label));
            assert!(metric["error"].is_null(), "{}: {metric}", case.label);
            Native {
                score: metric["score"]
                    .as_f64()
                    .filter(|_| metric["eval_status"] != "NOT_EVALUATED"),
                passed: metric["eval_status"] == "PASSED",
                turns: numbers(&metric["per_invocation_scores"]),
                details: metric.get("details").filter(|details| !details.is_null()).cloned(),
            }
        })
        .collect()
}
