//! How a worker exits is part of its evaluator's result: whatever is an error of a process that is started for one
//! document is one of a worker that has answered many.

use std::{fs, path::Path, process::Command};

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

struct Fixture(tempfile::TempDir);

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_faulty"), folder.path().join("faulty-warm")).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the evaluator with this fault and this entry on so many conversations.
    fn run(&self, fault: &str, conversations: usize, entry: &str, args: &[&str]) -> Ran {
        fs::write(self.path().join("traces.json"), recording(conversations)).unwrap();
        let config = format!(
            "evaluators:\n- {{name: check, type: code, path: ./faulty-warm, threshold: 0, {entry} \
             config: {{fault: {fault:?}}}}}\n"
        );
        fs::write(self.path().join("c.yaml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        command.args(["run", "traces.json", "-c", "c.yaml"]).args(args).current_dir(self.path());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

const ENDS: [(&str, &str, &str); 5] = [
    ("exit 7 at the end", "", "check: a worker exited with code 7"),
    ("abort at the end", "", "check: a worker was ended by signal 6"),
    (
        "a pipe held open at the end",
        "",
        "check: a worker exited, but a process it started still has its stdout open",
    ),
    (
        "hang at the end",
        "timeout: 4,",
        "check: a worker was still running 4 s after the end of its input",
    ),
    ("exit 3 after an answer", "", "check: a worker exited with code 3"),
];

#[test]
fn a_bad_end_is_red_for_any_number_of_conversations() {
    let fixture = Fixture::new();
    for (fault, entry, message) in ENDS {
        for conversations in [1, 2, 3, 20] {
            let tolerant = ["-o", "json", "--max-error-rate", "1"];
            let ran = fixture.run(fault, conversations, entry, &tolerant);
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            let errors = report["errors"].to_string();
            if conversations < 3 {
                // A process for each conversation, whose own error it is.
                let victim = &report["traces"][conversations - 1]["metrics"][0];
                assert!(victim["error"].is_string(), "{fault}: {victim}");
                continue;
            }
            assert_eq!(ran.code, Some(3), "{fault}: {}", ran.stderr);
            assert!(errors.contains(message), "{fault}: {errors}");
            assert!(ran.stderr.contains(message), "{fault}: {}", ran.stderr);
            assert!(ran.stderr.contains("\nERROR: "), "{fault}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_bad_end_is_in_every_form_of_the_report() {
    let fixture = Fixture::new();
    for form in ["table", "summary", "markdown", "github", "junit", "json"] {
        let ran = fixture.run("exit 7 at the end", 4, "", &["-o", form]);
        assert_eq!(ran.code, Some(3), "{form}: {}", ran.stderr);
        let expected = "check: a worker exited with code 7";
        assert!(ran.stdout.contains(expected), "{form}: {}", ran.stdout);
        assert!(ran.stdout.contains("something is left to say"), "{form}: {}", ran.stdout);
    }
}

#[test]
fn a_good_end_takes_the_time_it_takes() {
    let fixture = Fixture::new();
    for fault in ["a slow exit at the end", "no fault at the end"] {
        let ran = fixture.run(fault, 6, "", &["-o", "json"]);
        assert_eq!(ran.code, Some(0), "{fault}: {}", ran.stderr);
    }
}

#[test]
fn a_worker_that_the_host_kills_is_not_blamed_for_it() {
    let fixture = Fixture::new();
    for (fault, kind) in [("hang without TERM", "timed_out"), ("noise before", "bad_answer")] {
        let ran = fixture.run(fault, 6, "timeout: 4,", &["-o", "json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["traces"][5]["metrics"][0]["error_type"], kind, "{}", ran.stderr);
        assert_eq!(report["errors"], json!([]), "{}", ran.stderr);
    }
}

#[test]
fn results_of_a_worker_that_exited_badly_are_not_resumed() {
    let fixture = Fixture::new();
    let resume = ["-o", "json", "--resume", "--journal", "j.jsonl", "-v"];
    for _ in 0..2 {
        let ran = fixture.run("exit 7 at the end", 6, "", &resume);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains("0 of 6 evaluations were taken"), "{}", ran.stderr);
        assert!(ran.stderr.contains("a worker exited with code 7"), "{}", ran.stderr);
    }
    let other = fixture.run("no fault at the end", 6, "", &resume);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    let again = fixture.run("no fault at the end", 6, "", &resume);
    assert!(again.stderr.contains("6 of 6 evaluations were taken"), "{}", again.stderr);
}
