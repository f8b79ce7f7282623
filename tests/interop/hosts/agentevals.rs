//! agentevals 0.11.0: a trace file, an eval set, and a configuration.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::Host;
use crate::case::{ANSWER, Case, EXPECTED, Place, QUESTION, Recorded, Verdict, numbers, text};

pub(crate) struct Agentevals {
    pub(crate) command: PathBuf,
}

impl Host for Agentevals {
    fn name(&self) -> &str {
        "agentevals 0.11.0"
    }

    fn target(&self) -> &'static str {
        "agentevals"
    }

    fn turns(&self) -> usize {
        2
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let folder = place.folder("agentevals");
        fs::write(folder.join("trace.json"), trace().to_string()).unwrap();
        fs::write(folder.join("set.json"), eval_set().to_string()).unwrap();
        let entries = cases.iter().map(|case| {
            let config = if case.fault.is_empty() {
                "{}".to_owned()
            } else {
                json!({"fault": case.fault}).to_string()
            };
            case.entry(".agentevals.yaml", "").replace("config: {}", &format!("config: {config}"))
        });
        let config: String = std::iter::once("evaluators:\n".to_owned()).chain(entries).collect();
        fs::write(folder.join("config.yaml"), config).unwrap();
        let mut command = Command::new(&self.command);
        command.current_dir(&folder).args([
            "run",
            "trace.json",
            "-e",
            "set.json",
            "-c",
            "config.yaml",
            "-o",
            "json",
            "--group-by",
            "conversation",
        ]);
        let output = command.output().unwrap();
        let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
            panic!("{command:?}: {}", text(&output));
        };
        let metrics = report["traces"][0]["metrics"].as_array().cloned().unwrap_or_default();
        cases.iter().map(|case| recorded(&metrics, &case.label())).collect()
    }
}

fn recorded(metrics: &[Value], label: &str) -> Recorded {
    let Some(metric) = metrics.iter().find(|metric| metric["metric_name"] == label) else {
        return Recorded::lost();
    };
    let verdict = match (metric["error"].as_str(), metric["eval_status"].as_str()) {
        (Some(_), _) => Verdict::Error,
        (None, Some("PASSED")) => Verdict::Pass,
        _ => Verdict::Fail,
    };
    let error = metric["error"].as_str().unwrap_or_default();
    Recorded {
        verdict,
        score: metric["score"].as_f64(),
        turns: Some(numbers(&metric["per_invocation_scores"])),
        reason: if metric["details"].is_null() {
            error.to_owned()
        } else {
            format!("{error}{}", metric["details"])
        },
    }
}

fn trace() -> Value {
    let spans: Vec<Value> = (1..=2)
        .map(|turn| {
            let message = |role: &str, text: &str| {
                json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
            };
            let attribute =
                |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
            json!({
                "traceId": format!("{turn:032x}"),
                "spanId": format!("{turn:016x}"),
                "name": "invoke_agent agent",
                "startTimeUnixNano": format!("{turn}000000000"),
                "endTimeUnixNano": format!("{turn}500000000"),
                "attributes": [
                    attribute("gen_ai.operation.name", "invoke_agent".to_owned()),
                    attribute("gen_ai.conversation.id", "one".to_owned()),
                    attribute("gen_ai.input.messages", message("user", QUESTION)),
                    attribute("gen_ai.output.messages", message("assistant", ANSWER)),
                ],
            })
        })
        .collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

/// The golden conversation; ADK reads the same.
pub(super) fn eval_set() -> Value {
    let content = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let turn = json!({"user_content": content("user", QUESTION), "final_response": content("model", EXPECTED)});
    json!({"eval_set_id": "set", "eval_cases": [{"eval_id": "case", "conversation": [turn, turn]}]})
}
