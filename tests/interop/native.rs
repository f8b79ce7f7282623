//! What evaluators say without any host.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::case::{ANSWER, Case, EXPECTED, QUESTION, numbers};

/// What an evaluator says.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) score: f64,
    pub(crate) passed: bool,
    pub(crate) turns: Vec<f64>,
    /// Texts in its details.
    pub(crate) reasons: Vec<String>,
}

/// Runs an evaluator on the conversation that hosts have, in the form of the default contract.
pub(crate) fn judge(case: &Case, turns: usize) -> Native {
    let turn = |answer: &str| json!({"invocation_id": "a", "user_content": QUESTION, "final_response": answer});
    let document = json!({
        "protocol_version": "1.1",
        "metric_name": case.name,
        "threshold": 0.5,
        "config": {"fault": case.fault},
        "invocations": vec![turn(ANSWER); turns],
        "expected_invocations": vec![turn(EXPECTED); turns],
    });
    let mut document = document;
    if case.fault.is_empty() {
        document["config"] = json!({});
    }
    let mut child =
        Command::new(&case.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let score = answer["score"].as_f64().unwrap();
    let passed = answer["status"].as_str().map_or(score >= 0.5, |status| status == "PASSED");
    let mut reasons = Vec::new();
    texts(&answer["details"], &mut reasons);
    Native { score, passed, turns: numbers(&answer["per_invocation_scores"]), reasons }
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        // As it stands in a JSON document.
        Value::String(_) => found.push(value.to_string().trim_matches('"').to_owned()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}
