//! AgentV: `agentv eval` of a test whose assertions are all the evaluators.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use super::{Host, version_of};
use crate::interop::{
    case::{Case, LIMIT, Recorded, Verdict},
    conversation::{Call, Conversation},
    faults::Fault,
    place::{Place, driver},
};

/// Time after which a command counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(240);

pub(super) struct AgentV {
    command: PathBuf,
    name: String,
}

impl AgentV {
    pub(super) fn new(command: PathBuf) -> Self {
        let name = format!("AgentV {}", version_of(&command));
        Self { command, name }
    }

    /// Runs some of the assertions, in a directory of their own.
    fn run(
        &self,
        place: &Place,
        directory: &str,
        assertions: &[Assertion],
        hangs: bool,
    ) -> Vec<Recorded> {
        let directory = place.directory(directory);
        let conversation = self.conversation();
        let turn = &conversation.turns[0];
        let calls: Vec<Value> = turn.calls.iter().map(tool_call).collect();
        let answer = json!({"output": [
            {"role": "assistant", "content": "One moment.", "tool_calls": calls},
            {"role": "assistant", "content": turn.answer},
        ]});
        fs::write(directory.join("answer.json"), answer.to_string()).unwrap();
        fs::create_dir_all(directory.join(".agentv")).unwrap();
        let answers = format!("cp {} {{OUTPUT_FILE}}", directory.join("answer.json").display());
        let targets = json!({"targets": [
            {"name": "agent", "provider": "cli", "command": answers, "grader_target": "judge"},
            {"name": "judge", "provider": "mock", "response": "{\"score\": 1}"},
        ]});
        fs::write(directory.join(".agentv/targets.yaml"), targets.to_string()).unwrap();
        let entries: String = assertions.iter().map(|assertion| assertion.entry.as_str()).collect();
        let eval = format!(
            "execution: {{target: agent}}\ntests:\n  - id: one\n    criteria: Paris\n    input: {}\n    \
             expected_output: {}\n    assertions:\n{entries}",
            json!(turn.question),
            json!(turn.expected)
        );
        fs::write(directory.join("case.eval.yaml"), eval).unwrap();
        let mut command = place.command(&self.command);
        command.current_dir(&directory).args(["eval", "case.eval.yaml", "--output", "out"]);
        let said = if hangs {
            command.args(["--agent-timeout", &LIMIT.to_string()]);
            place.run_for(&mut command, TIME_LIMIT)
        } else {
            place.run(&mut command)
        };
        if said.status.is_none() {
            return vec![Recorded::only(Verdict::HostHung); assertions.len()];
        }
        let Ok(index) = fs::read_to_string(directory.join("out/index.jsonl")) else {
            let died = Recorded { reason: said.end(), ..Recorded::only(Verdict::HostDied) };
            return vec![died; assertions.len()];
        };
        let row: Value = serde_json::from_str(index.lines().next().unwrap()).unwrap();
        let scores = row["scores"].as_array().cloned().unwrap_or_default();
        assertions.iter().map(|assertion| recorded(&scores, &assertion.label)).collect()
    }
}

impl Host for AgentV {
    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> &'static str {
        "agentv"
    }

    fn conversation(&self) -> Conversation {
        Conversation::tools()
    }

    fn threshold(&self) -> f64 {
        0.8
    }

    /// It scores everything.
    fn not_evaluated(&self) -> Verdict {
        Verdict::Fail
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        // The limit is for all assertions of a run.
        let (hanging, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.hangs);
        let mut recorded = Vec::new();
        for (directory, cases) in [("agentv", others), ("agentv-hang", hanging)] {
            let assertions: Vec<Assertion> = cases.iter().map(|case| assertion(case)).collect();
            let records = self.run(place, directory, &assertions, directory == "agentv-hang");
            recorded.extend(assertions.into_iter().map(|assertion| assertion.label).zip(records));
        }
        let of = |case: &Case| recorded.iter().find(|(label, _)| *label == case.label);
        cases.iter().map(|case| of(case).unwrap().1.clone()).collect()
    }

    fn own_kind(&self) -> Option<&'static str> {
        Some("Python, as a plain program")
    }

    fn judge_own_kind(&self, faults: &[Fault], place: &Place) -> Vec<Recorded> {
        let program = driver("theirs/agentv_grader.py");
        // Each by itself: a program that does not read its input may end the host.
        let judge = |fault: &Fault| {
            let entry = json!({
                "name": fault.name,
                "type": "code-grader",
                "command": ["python3", program],
                "fault": fault.name,
            });
            let assertion =
                Assertion { entry: format!("      - {entry}\n"), label: fault.name.to_owned() };
            let directory = format!("own-kind/{}", fault.name.replace(' ', "-"));
            self.run(place, &directory, &[assertion], fault.hangs).remove(0)
        };
        faults.iter().map(judge).collect()
    }
}

/// An assertion of a test, with its name in the results.
struct Assertion {
    entry: String,
    label: String,
}

/// The exported assertion with the settings of the case.
fn assertion(case: &Case) -> Assertion {
    let mut entry = case.entry(".agentv-4.yaml", "    ");
    for (key, value) in case.config.as_object().into_iter().flatten() {
        entry += &format!("        {key}: {value}\n");
    }
    Assertion { entry, label: case.label.clone() }
}

fn tool_call(call: &Call) -> Value {
    let status = if call.failed { "error" } else { "ok" };
    json!({"tool": call.name, "input": call.arguments, "output": call.result, "status": status})
}

fn recorded(scores: &[Value], label: &str) -> Recorded {
    let Some(score) = scores.iter().find(|score| score["name"] == label) else {
        return Recorded::only(Verdict::Lost);
    };
    Recorded {
        verdict: if score["verdict"] == "pass" { Verdict::Pass } else { Verdict::Fail },
        score: score["score"].as_f64(),
        turns: None,
        details: None,
        reason: match score["assertions"].as_array() {
            Some(rows) if rows.is_empty() && score["details"].is_null() => {
                score["input"]["error"].as_str().unwrap_or_default().to_owned()
            }
            _ => format!("{}{}", score["assertions"], score["details"]),
        },
    }
}
