//! A program that does not number its lines and prints an answer too many: whose answer is whose is not known any more.

use std::{env, fs, path::Path, process::Command};

use serde_json::{Value, json};

/// Conversations of which the last is the victim.
fn recording(count: usize) -> String {
    let spans = (1..=count).map(|number| {
        let victim = if number == count { " the victim" } else { "" };
        let parts = json!([{"type": "text", "content": format!("Judge{victim} as {number}")}]);
        let messages = json!([{"role": "user", "parts": parts}]).to_string();
        json!({
            "traceId": format!("{number:032x}"), "spanId": format!("{number:016x}"),
            "name": "invoke_agent a", "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
                {"key": "gen_ai.input.messages", "value": {"stringValue": messages}},
            ],
        })
    });
    let spans: Vec<Value> = spans.collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

#[test]
fn an_answer_too_many_is_an_error_of_the_run() {
    let name = format!("surplus-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_faulty"), folder.join("faulty-warm")).unwrap();
    fs::write(folder.join("traces.json"), recording(6)).unwrap();
    let run = |fault: &str, isolation: &str| {
        let config = format!(
            "evaluators:\n- {{name: check, type: code, path: ./faulty-warm, threshold: 0, isolation: {isolation}, \
             config: {{fault: {fault:?}}}}}\n"
        );
        fs::write(folder.join("c.yaml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        command.args(["run", "traces.json", "-c", "c.yaml", "-o", "json"]);
        command.args(["--max-error-rate", "1", "--jobs", "1"]).current_dir(&folder);
        let output = command.output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let victim = report["traces"][5]["metrics"][0]["error_type"].clone();
        (output.status.code(), report["errors"].to_string(), said, victim)
    };

    let (code, errors, said, victim) = run("an answer too many", "auto");
    // On a machine that is very busy both answers may be read at once. Then they are known to be the victim's.
    if victim.is_null() {
        assert_eq!(code, Some(3), "{said}");
        let expected = "check: it printed more answers than it was given documents";
        assert!(errors.contains(expected) && said.contains(expected), "{errors} {said}");
        assert!(said.contains("ERROR: "), "{said}");
    } else {
        assert_eq!(victim, "bad_answer");
    }
    // One that is a process for itself printed two documents, which is its own error and can be tolerated.
    let (code, errors, said, victim) = run("an answer too many", "process");
    assert_eq!((code, &*errors), (Some(0), "[]"), "{said}");
    assert_eq!(victim, "bad_answer");
    let (code, errors, said, _) = run("turn out of range", "auto");
    assert_eq!((code, &*errors), (Some(0), "[]"), "{said}");
    let _ = fs::remove_dir_all(&folder);
}
