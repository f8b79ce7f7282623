//! AgentV 4.42.4: a test whose assertions are all the evaluators.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::Host;
use crate::case::{ANSWER, Case, EXPECTED, Place, QUESTION, Recorded, Verdict, text};

pub(crate) struct AgentV {
    pub(crate) command: PathBuf,
}

impl Host for AgentV {
    fn name(&self) -> &str {
        "AgentV 4.42.4"
    }

    fn target(&self) -> &'static str {
        "agentv"
    }

    fn turns(&self) -> usize {
        1
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let folder = place.folder("agentv");
        let answer = folder.join("answer.json");
        fs::write(
            &answer,
            json!({"output": [{"role": "assistant", "content": ANSWER}]}).to_string(),
        )
        .unwrap();
        fs::create_dir_all(folder.join(".agentv")).unwrap();
        let targets = json!({"targets": [
            {"name": "agent", "provider": "cli", "command": format!("cp {} {{OUTPUT_FILE}}", answer.display()), "grader_target": "judge"},
            {"name": "judge", "provider": "mock", "response": "{\"score\": 1}"},
        ]});
        fs::write(folder.join(".agentv/targets.yaml"), targets.to_string()).unwrap();
        let mut eval = format!(
            "execution: {{target: agent}}\ntests:\n  - id: one\n    criteria: Says Paris\n    input: {QUESTION}\n    expected_output: {EXPECTED}\n    assertions:\n"
        );
        for case in cases {
            eval += &case.entry(".agentv-4.yaml", "    ");
            if !case.fault.is_empty() {
                eval += &format!("        fault: {:?}\n", case.fault);
            }
        }
        fs::write(folder.join("case.eval.yaml"), eval).unwrap();
        let mut command = Command::new(&self.command);
        let output = command
            .current_dir(&folder)
            .args(["eval", "case.eval.yaml", "--output", "out"])
            .output()
            .unwrap();
        let index = fs::read_to_string(folder.join("out/index.jsonl"))
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", text(&output)));
        let row: Value = serde_json::from_str(index.lines().next().unwrap()).unwrap();
        let scores = row["scores"].as_array().cloned().unwrap_or_default();
        cases.iter().map(|case| recorded(&scores, &case.label())).collect()
    }
}

fn recorded(scores: &[Value], label: &str) -> Recorded {
    let Some(score) = scores.iter().find(|score| score["name"] == label) else {
        return Recorded::lost();
    };
    Recorded {
        verdict: if score["verdict"] == "pass" { Verdict::Pass } else { Verdict::Fail },
        score: score["score"].as_f64(),
        turns: None,
        reason: match score["assertions"].as_array() {
            Some(rows) if rows.is_empty() && score["details"].is_null() => {
                score["input"]["error"].as_str().unwrap_or_default().to_owned()
            }
            _ => format!("{}{}", score["assertions"], score["details"]),
        },
    }
}
