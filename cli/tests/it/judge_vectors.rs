//! Entries of agentevals with a judge, through the whole command: the same scores from the same replies.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{Directory, finish};

/// Returns the lines of a file of the vectors.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let directory = env::var_os("EVALUATOR_VECTORS_DIR").map_or(own, PathBuf::from);
    let text = fs::read_to_string(directory.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the text of a message of ADK.
pub(crate) fn text(content: &Value) -> String {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// Returns the turns as traces of the conversation of this id.
pub(crate) fn recorded(conversation: &str, turns: &[Value]) -> Value {
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let messages = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let spans = turns.iter().zip(1_u64..).map(|(turn, number)| {
        json!({
            "traceId": format!("{:032x}", trace_number(conversation, number)),
            "spanId": format!("{number:016x}"),
            "name": "invoke_agent a",
            "startTimeUnixNano": (number * 1000).to_string(),
            "endTimeUnixNano": (number * 1000 + 500).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "invoke_agent"),
                attribute("gen_ai.conversation.id", conversation),
                attribute("gen_ai.input.messages", &messages("user", &text(&turn["userContent"]))),
                attribute("gen_ai.output.messages", &messages("assistant", &text(&turn["finalResponse"]))),
            ],
        })
    });
    let spans: Vec<Value> = spans.collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

/// Returns a number that the traces of no other conversation have.
fn trace_number(conversation: &str, turn: u64) -> u64 {
    conversation.bytes().fold(turn, |number, byte| (number << 8) | u64::from(byte))
}

/// Returns the eval set of a line; `None` without golden turns and rubrics of the case.
fn golden(line: &Value) -> Option<Value> {
    let given = |key: &str| line[key].as_array().filter(|list| !list.is_empty());
    let rubrics = given("case_rubrics");
    // The rubrics of a case count without golden turns; here these are what was recorded.
    let turns =
        given("expected_invocations").or_else(|| rubrics.and(given("actual_invocations")))?;
    let mut case = json!({"eval_id": "c", "conversation": turns});
    if let Some(rubrics) = rubrics {
        case["rubrics"] = rubrics.clone().into();
    }
    Some(json!({"eval_set_id": "s", "eval_cases": [case]}))
}

/// Returns true if a vector has a reply that ADK reads and that is ambiguous.
pub(crate) fn is_stricter(line: &Value) -> bool {
    lines("judges/stricter.jsonl").iter().any(|known| known["id"] == line["id"])
}

fn check(line: &Value) -> Result<(), String> {
    let directory = Directory::new();
    let turns = line["actual_invocations"].as_array().unwrap();
    directory.file("trace.json", recorded("c", turns).to_string());
    let replies = line["replies"].as_array().unwrap().iter().map(Value::to_string);
    directory.file("replies.jsonl", replies.collect::<Vec<_>>().join("\n"));
    let mut entry = line["evaluator"].clone();
    if entry["judge_model"] == "scripted-judge" {
        entry["judge_model"] = "fake:replies.jsonl".into();
    }
    let name = entry["name"].as_str().unwrap().to_owned();
    let judge = json!({"errors": "not_evaluated", "min_readable": 1});
    let config = json!({"judge": judge, "group_by": "conversation", "evaluators": [entry]});
    directory.file("c.yaml", config.to_string());
    let mut args = vec!["run", "trace.json", "-c", "c.yaml", "-o", "json"];
    if let Some(golden) = golden(line) {
        directory.file("set.json", golden.to_string());
        args.extend(["-e", "set.json"]);
    }
    // The model of an entry without one.
    let mut command = directory.command(&args);
    command.env("GEMINI_API_KEY", "decoy-that-is-not-sent");
    let ran = finish(command.spawn().unwrap());
    let result = &line["result"];
    if result.get("config_error").is_some() {
        // This metric works here.
        let expected = if name.contains("multi_turn") { [0, 1, 3] } else { [2; 3] };
        return if expected.contains(&ran.code.unwrap_or(-1)) {
            Ok(())
        } else {
            Err(format!("exit code {:?}: {}", ran.code, ran.stderr))
        };
    }
    if turns.is_empty() || ran.code == Some(2) {
        // Without turns there is no conversation; models and credentials are checked before the run.
        let is_refused = turns.is_empty() || !result["error"].is_null();
        return if is_refused { Ok(()) } else { Err(ran.stderr) };
    }
    let report = ran.json();
    let metric = &report["traces"][0]["metrics"][0];
    let number = |value: &Value| value.as_f64();
    let same_score = match (number(&metric["score"]), number(&result["score"])) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    let same_status = metric["eval_status"] == result["eval_status"];
    let same_error = metric["error"].is_null() == result["error"].is_null();
    let calls = metric["details"]["judge"]["calls"].as_u64().unwrap_or_default();
    let same_calls = Some(calls) == result["calls"].as_u64();
    if same_score && same_status && same_error && same_calls {
        return Ok(());
    }
    Err(format!("{metric} instead of {result}"))
}

#[test]
fn vectors_of_agentevals_through_the_command() {
    let lines = lines("judges/agentevals.jsonl");
    let wrong = lines.iter().filter(|line| !is_stricter(line)).filter_map(|line| {
        let problem = check(line).err()?;
        Some(format!("{} ({}): {problem}", line["id"], line["note"]))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}
