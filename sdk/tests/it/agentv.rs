//! Programs as AgentV meets them: documents of its judges in, one object out, and nothing that it could take for a pass.

#![expect(clippy::disallowed_methods, reason = "the programs under test are started here")]

use std::{
    fs,
    io::{Read, Write},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

/// What AgentV sees of a program.
#[derive(Debug)]
struct Outcome {
    /// `None` after death by a signal, which AgentV takes for success.
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// Whether the whole of standard input was taken; AgentV may die if not.
    drained: bool,
}

impl Outcome {
    #[track_caller]
    fn answer(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// AgentV records score 0 with the message: exit code, something on stderr, nothing on stdout.
    #[track_caller]
    fn failed(&self, code: i32, message: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(self.drained, "{self:?}");
        assert!(self.stderr.contains(message), "{message:?} is not in {:?}", self.stderr);
    }
}

fn run(fixture: &str, arguments: &[&str], input: &str) -> Outcome {
    let deps = std::env::current_exe().unwrap();
    let program: PathBuf = deps.parent().unwrap().with_file_name("examples").join("fixture");
    let mut child = Command::new(program)
        .args(arguments)
        .env("FIXTURE", fixture)
        .env_remove("EVALUATOR_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut out, mut err) = (String::new(), String::new());
    let drained = thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(input.as_bytes()).is_ok());
        scope.spawn(|| stdout.read_to_string(&mut out).unwrap());
        scope.spawn(|| stderr.read_to_string(&mut err).unwrap());
        writer.join().unwrap()
    });
    Outcome { code: child.wait().unwrap().code(), stdout: out, stderr: err, drained }
}

/// A document as 4.42 writes it, larger than a pipe holds.
fn document(question: &str, output: &Value, config: &Value) -> String {
    let padding = "x".repeat(200_000);
    let document = json!({
        "criteria": "", "expected_output": [], "output": output, "input_files": [],
        "messages": [{"role": "user", "content": padding}],
        "input": [{"role": "user", "content": question}],
        "metadata": null, "trace": null, "config": config,
    });
    format!("{document:#}")
}

#[test]
fn a_judge_answers_one_object_for_all_generations() {
    let outcome = run("judge", &[], &document("q", &json!("Paris"), &json!({"min_length": 3})));
    assert_eq!(
        outcome.answer(),
        json!({
            "pass": true, "score": 1.0, "hits": ["5 characters"], "misses": [],
            "assertions": [{"text": "5 characters", "passed": true}],
            "checks": [{"text": "5 characters", "pass": true, "reason": "5 characters"}],
        })
    );
    assert_eq!((outcome.stdout.lines().count(), outcome.stderr.as_str()), (1, ""));
    // A bad answer is no error.
    let outcome = run("judge", &[], r#"{"candidate_answer": "a", "config": {"min_length": 3}}"#);
    assert_eq!(outcome.answer()["misses"], json!(["1 characters"]));
}

#[test]
fn what_is_printed_is_not_in_the_answer() {
    let outcome = run("judge", &[], &document("print", &json!("a"), &json!(null)));
    assert_eq!(outcome.answer()["score"], 1.0);
    assert!(outcome.stderr.contains("noise from println"), "{outcome:?}");
}

#[test]
fn an_evaluator_of_the_default_contract_answers_like_a_judge() {
    let config = json!({"min_length": 3});
    let outcome = run("response_quality", &[], &document("q", &json!("Paris"), &config));
    let answer = outcome.answer();
    assert_eq!((&answer["score"], &answer["pass"]), (&json!(1.0), &json!(true)));
    assert_eq!(answer["details"], json!({"per_invocation_scores": [1.0]}));
    assert!(answer["checks"].is_array() && answer["hits"].is_array(), "{answer}");
}

#[test]
fn errors_exit_with_a_message_and_nothing_else() {
    for (question, code, message) in [
        ("error", 1, "error: judge: no rules\n"),
        ("panic", 1, "error: judge: the evaluator panicked\n"),
        ("abort", 70, "error: the evaluator crashed"),
        ("overflow", 70, "error: the evaluator crashed"),
    ] {
        run("judge", &[], &document(question, &json!("a"), &json!(null))).failed(code, message);
    }
    let config = json!({"min_length": "three"});
    for fixture in ["judge", "response_quality"] {
        run(fixture, &[], &document("q", &json!("a"), &config))
            .failed(3, "config.min_length: invalid type: string \"three\", expected usize\n");
        run(fixture, &[], &document("q", &json!(5), &json!(null))).failed(
            3,
            "output: invalid type: integer `5`, expected a string or an array of messages",
        );
        run(fixture, &["--fast"], &document("q", &json!("a"), &json!(null)))
            .failed(2, "unknown option `--fast`");
        run(fixture, &["prompt.md"], &document("q", &json!("a"), &json!(null)))
            .failed(2, "unexpected argument `prompt.md`");
        let truncated = document("q", &json!("a"), &json!(null)).replace('}', "");
        run(fixture, &[], &truncated).failed(3, "invalid JSON");
    }
}

#[test]
fn not_evaluated_is_an_error_since_agentv_has_no_word_for_it() {
    run("golden", &[], &document("q", &json!("a"), &json!(null)))
        .failed(1, "error: golden: not evaluated: no golden turns\n");
    let config = json!({"expected": "a"});
    assert_eq!(run("golden", &[], &document("q", &json!("a"), &config)).answer()["score"], 1.0);
}

#[test]
fn results_of_other_evaluators_are_no_conversation() {
    run("response_quality", &[], r#"{"results": {"a": {"score": 1}}}"#)
        .failed(3, "results: this document holds results of other evaluators");
}

#[test]
fn documents_of_others_are_refused_by_judges() {
    run("judge", &[], r#"{"metric_name": "judge"}"#).failed(
        3,
        "written against the contract `agentv`, and the document is one of `agentevals`",
    );
    // Unless the author says that it is one.
    let forced =
        run("judge", &["--contract", "agentv"], r#"{"metric_name": "judge", "output": "a"}"#);
    assert_eq!(forced.answer()["hits"], json!(["1 characters"]));
}

#[test]
fn a_large_answer_is_read_from_its_file() {
    let directory = tempfile();
    let path = directory.join("output.json");
    let text = "é".repeat(60_000);
    let transcript =
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]);
    for content in [json!(text), transcript] {
        fs::write(&path, content.to_string()).unwrap();
        let document = json!({"criteria": "c", "output": null, "output_path": path, "config": {"min_length": 60_000}});
        for fixture in ["judge", "response_quality"] {
            let answer = run(fixture, &[], &document.to_string()).answer();
            assert_eq!(answer["score"], 1.0, "{fixture}");
        }
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn an_answer_that_cannot_be_read_is_an_error_and_no_bad_answer() {
    let directory = tempfile();
    let document =
        |path: PathBuf| json!({"criteria": "c", "output": null, "output_path": path}).to_string();
    fs::write(directory.join("odd.json"), "SECRET=1").unwrap();
    for fixture in ["judge", "response_quality"] {
        run(fixture, &[], &document(directory.join("gone.json")))
            .failed(3, "output_path: the answer is in the file");
        run(fixture, &[], &document(directory.clone())).failed(3, "it is not a file");
        let odd = run(fixture, &[], &document(directory.join("odd.json")));
        odd.failed(3, "output_path: the file holds neither a JSON string nor an array of messages");
        assert!(!odd.stderr.contains("SECRET"), "{odd:?}");
    }
    fs::remove_dir_all(directory).unwrap();
}

/// A directory of this test's own.
fn tempfile() -> PathBuf {
    let name = format!("evaluator-agentv-{}-{:?}", std::process::id(), thread::current().id());
    let directory = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    fs::create_dir_all(&directory).unwrap();
    directory
}
