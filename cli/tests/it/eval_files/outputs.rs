//! Outputs of agents that failed, and outputs that are damaged: errors of their tests, never a score.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use serde_json::{Value, json};

use crate::support::Directory;

/// Evaluators that pass if the answer is lost, or is taken for text.
const TEST: &str = "\
tests:
  - id: one
    criteria: x
    input: q
    assertions:
      - {name: has, type: contains, value: Paris}
      - {name: none, type: contains, value: Rome, negate: true}
";

/// Returns the reason why the test has no score.
fn error(report: &str) -> String {
    let report: Value = serde_json::from_str(report).unwrap();
    let result = &report["results"][0];
    assert_eq!((&result["status"], &result["score"]), (&json!("error"), &Value::Null), "{report}");
    result["error"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn recordings_of_agents_that_failed_are_errors() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    let message = json!([{"role": "assistant", "content": "Paris"}]);
    for (row, reason) in [
        (json!({"error": {"message": "boom", "code": 1}, "output": "Paris"}), "run failed: boom"),
        (json!({"error": {"code": 1}, "output": message}), r#"run failed: {"code":1}"#),
        (json!({"error": "boom", "candidate_answer": "Paris"}), "run failed: boom"),
        (json!({"error": "boom", "text": "Paris"}), "run failed: boom"),
        (json!({"execution_status": "execution_error", "output": message}), "`execution_error`"),
        (
            json!({"execution_status": "execution_error", "candidate_answer": "Paris"}),
            "`execution_error`",
        ),
        (json!({"execution_status": "crashed", "output": message}), "`crashed` is not known"),
    ] {
        let mut named = row.clone();
        named["test_id"] = json!("one");
        directory.file("rows.jsonl", format!("{named}\n"));
        directory.file("out/one.json", row.to_string());
        let is_old = row.get("candidate_answer").is_some();
        for outputs in ["rows.jsonl", "out"].into_iter().filter(|it| *it != "out" || !is_old) {
            let ran = directory.run(&["e.yaml", "--outputs", outputs, "-o", "json"]).exits(3);
            let error = error(&ran.stdout);
            assert!(error.contains(reason), "{outputs} {row}: {error}");
        }
    }
    // An error of a judge leaves the output of the agent as it is.
    let row = json!({
        "test_id": "one", "execution_status": "execution_error", "failure_stage": "evaluator", "error": "judge", "output": message
    });
    directory.file("rows.jsonl", format!("{row}\n"));
    directory.run(&["e.yaml", "--outputs", "rows.jsonl"]).exits(0);
}

#[test]
fn recorded_messages_that_cannot_be_read_are_errors() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    for (recording, reason) in [
        (
            r#""output": [{"role": "user", "content": "Rome"}], "output": "Paris""#,
            "`output` is repeated",
        ),
        (
            r#""output": [{"role": "assistant", "content": "Rome", "content": "Paris"}]"#,
            "`content` is repeated",
        ),
        (
            r#""output": [{"role": "assistant", "content": "Paris"}, {"content": "Rome"}]"#,
            "message 2 of the output has no `role`",
        ),
        (r#""output": [{"role": "user", "content": "Paris"}]"#, "neither an answer"),
        (r#""output": [{"role": "assistant", "tool_calls": [{"name": "a"}]}]"#, "has no `tool`"),
    ] {
        directory.file("out/one.json", format!("{{{recording}}}"));
        directory.file("rows.jsonl", format!("{{\"test_id\": \"one\", {recording}}}\n"));
        for outputs in ["rows.jsonl", "out"] {
            let ran = directory.run(&["e.yaml", "--outputs", outputs, "-o", "json"]).exits(3);
            let error = error(&ran.stdout);
            assert!(error.contains(reason), "{outputs} {recording}: {error}");
        }
    }
}

#[test]
fn text_cannot_be_checked_without_an_answer() {
    let directory = Directory::new();
    let list = "assertions: [{type: contains, value: Rome, negate: true}, {type: is-json}, {type: tool-trajectory, mode: any_order, minimums: {a: 1}}]";
    directory.file("e.yaml", format!("tests: [{{id: one, criteria: x, input: q, {list}}}]"));
    directory.file(
        "out/one.json",
        r#"{"output": [{"role": "assistant", "tool_calls": [{"tool": "a"}]}]}"#,
    );
    let ran = directory.run(&["e.yaml", "--outputs", "out", "-o", "json"]).exits(3);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let evaluators = &report["results"][0]["evaluators"];
    for (index, status) in [(0, "error"), (1, "error"), (2, "passed")] {
        assert_eq!(evaluators[index]["status"], status, "{evaluators}");
    }
    let reason = evaluators[0]["reason"].as_str().unwrap();
    assert!(reason.contains("there is no answer to grade"), "{reason}");
    // The agent may have said nothing, and may have said something before.
    for (messages, code) in [
        (r#"[{"role": "assistant", "tool_calls": [{"tool": "a"}], "content": ""}]"#, 1),
        (
            r#"[{"role": "assistant", "content": "{}"}, {"role": "assistant", "tool_calls": [{"tool": "a"}]}]"#,
            0,
        ),
    ] {
        directory.file("out/one.json", format!("{{\"output\": {messages}}}"));
        directory.run(&["e.yaml", "--outputs", "out"]).exits(code);
    }
}

#[cfg(unix)]
#[test]
fn outputs_of_commands_that_were_cut_off_are_errors() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    directory.file(
        "targets.yaml",
        "targets: [{name: default, provider: cli, command: 'cp answer {OUTPUT_FILE}'}]",
    );
    for (answer, reason) in [
        (
            r#"{"output": [{"role": "assistant", "content": "I think Paris"#,
            "is not JSON: unterminated string",
        ),
        (
            "{\n  \"cost_usd\": 1,\n  \"output\": [{\"role\": \"assistant\", \"content\": \"Paris\"}",
            "is not JSON: ",
        ),
        ("{\"te", "is not JSON: "),
        ("", "it is empty"),
        ("\n", "it is empty"),
        (
            r#"{"output": [{"role": "assistant", "content": "Paris"}], "output": []}"#,
            "`output` is repeated",
        ),
        (r#"{"text": "Paris", "error": "boom"}"#, "failed: boom"),
    ] {
        directory.file("answer", answer);
        let ran = directory.run(&["e.yaml", "-o", "json"]).exits(3);
        let error = error(&ran.stdout);
        assert!(
            error.starts_with("the output of the target cannot be used: "),
            "{answer}: {error}"
        );
        assert!(error.contains(reason), "{answer}: {error}");
    }
    // These are answers, as in AgentV.
    for answer in ["{city: Paris}", r#"{"city": "Paris"#, r#"{"output": "Paris"}"#, r#"["Paris"]"#]
    {
        directory.file("answer", answer);
        directory.run(&["e.yaml"]).exits(0);
    }
}

#[cfg(unix)]
#[test]
fn the_output_of_a_command_is_read_from_a_regular_file_only() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    directory.file("secret", "Paris");
    for (command, reason) in [
        ("mkfifo {OUTPUT_FILE}", "is not a regular file"),
        ("ln -s /dev/zero {OUTPUT_FILE}", "is a link; copy the file to this path"),
        ("ln -s \"$PWD/secret\" {OUTPUT_FILE}", "is a link; copy the file to this path"),
        ("ln -s none {OUTPUT_FILE}", "is a link; copy the file to this path"),
        ("mkdir {OUTPUT_FILE}", "is not a regular file"),
        ("truncate -s 65M {OUTPUT_FILE}", "has more than 67108864 bytes"),
        ("true", "wrote no output file"),
    ] {
        directory.file(
            "targets.yaml",
            format!("targets: [{{name: default, provider: cli, command: '{command}'}}]"),
        );
        let ran = directory.run(&["e.yaml", "-o", "json"]).exits(3);
        let error = error(&ran.stdout);
        assert!(error.contains(reason), "{command}: {error}");
    }
}

#[test]
fn a_reply_that_was_cut_off_is_not_the_answer_of_a_model() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    let reply = json!({"default": [{"text": "It is Paris, but", "finish_reason": "length"}]});
    let server = super::judge_server::start(Some(reply));
    directory.file(
        "targets.yaml",
        format!(
            "targets: [{{name: default, provider: openai, base_url: '{}/v1', model: m}}]",
            server.url()
        ),
    );
    let ran = directory.run(&["e.yaml", "-o", "json"]).exits(3);
    let error = error(&ran.stdout);
    assert!(error.contains("the reply of the target is cut off"), "{error}");
}

#[cfg(unix)]
#[test]
fn files_that_an_eval_file_names_are_regular_files() {
    let directory = Directory::new();
    directory.file("dir/a/other.yaml", "");
    for (tests, reason) in [
        ("/dev/zero", "`/dev/zero` is neither a regular file nor a directory"),
        ("dir", "dir/a/case.yaml"),
    ] {
        directory.file("e.yaml", format!("tests: {tests}\n"));
        let link = directory.join("dir/a/case.yaml");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let ran = directory.evaluator(&["check", "e.yaml"]).exits(2);
        ran.says(reason).says("regular file");
    }
}
