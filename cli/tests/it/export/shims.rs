//! What is exported, in the hands of an interpreter.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Directory, Ran, finish, has};

/// `python3` in that directory, with something to read.
#[expect(clippy::disallowed_methods, reason = "this is what is tested")]
pub(crate) fn python(directory: &Directory, args: &[&str], input: &str) -> Ran {
    let mut child = Command::new("python3")
        .args(args)
        .current_dir(directory.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may not want to read.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    finish(child)
}

/// What evaluators do that break, in the words of a shell.
const FAULTS: [&str; 9] = [
    "cat >/dev/null; exit 3",
    "cat >/dev/null; echo broken >&2; exit 1",
    "kill -SEGV $$",
    "kill -ABRT $$",
    "cat >/dev/null",
    "cat >/dev/null; echo starting; echo '{\"score\": 1}'",
    "cat >/dev/null; echo '{\"score\": NaN, \"success\": true, \"pass\": true, \"overall_eval_status\": 1, \"overall_score\": NaN}'",
    "cat >/dev/null; echo '[1]'",
    "cat >/dev/null; echo '{}'",
];

/// Scores that some hosts take for a success.
const BEYOND: [&str; 2] = [
    "cat >/dev/null; echo '{\"score\": 1.5, \"success\": true, \"pass\": true}'",
    "cat >/dev/null; echo '{\"score\": -1, \"success\": true, \"pass\": true}'",
];

#[test]
fn the_file_for_agentevals_becomes_the_program() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    for (does, code, says) in [
        ("cat; echo said >&2", Some(0), "said\n"),
        ("cat; exit 3", Some(3), ""),
        ("cat; kill -KILL $$", None, ""),
    ] {
        directory.script("polite", does);
        directory.evaluator(&["export", "--for", "agentevals", "polite"]).exits(0);
        let ran = python(&directory, &["polite.py"], "{\"a\": 1}");
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (code, "{\"a\": 1}", says));
    }
    fs::remove_file(directory.path().join("polite")).unwrap();
    let ran = python(&directory, &["polite.py"], "").exits(1);
    ran.reports_nothing().says("cannot start /");
}

/// Runs a piece of Python that prints JSON; it finds `call`, which gives what came of a call, or the error's text.
fn printed(directory: &Directory, code: &str) -> Value {
    let program = format!(
        "import json\n\n\ndef call(function, *arguments):\n    try:\n        return function(*arguments)\n    except Exception as error:\n        return f'ERROR {{error}}'\n\n\n{code}"
    );
    python(directory, &["-c", &program], "").exits(0).json()
}

#[test]
fn custom_code_for_agenta_hands_on_what_it_is_given() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.script(
        "polite",
        "cat >read; echo '{\"score\": 0.25, \"success\": false, \"why\": \"é\"}'",
    );
    directory.evaluator(&["export", "--for", "agenta", "polite"]).exits(0);
    let run = |version: &str, arguments: &str| {
        // As Agenta's own runner does.
        let code = format!(
            "code = {{}}\nexec(open('polite_agenta_{version}.py').read(), code)\nprint(json.dumps(call(code['evaluate'], {arguments})))"
        );
        let answer = printed(&directory, &code);
        let read = fs::read_to_string(directory.path().join("read")).unwrap_or_default();
        (answer, serde_json::from_str(&read).unwrap_or(Value::Null))
    };
    assert_eq!(
        run("v1", "{}, {'q': 'é'}, 'Paris', 5"),
        (
            json!(0.25),
            json!({"app_params": {}, "inputs": {"q": "é"}, "output": "Paris", "correct_answer": 5})
        )
    );
    let document = json!({"inputs": {}, "outputs": {"a": 1}, "trace": null});
    assert_eq!(run("v2", "{}, {'a': 1}, None"), (json!(0.25), document.clone()));
    let whole = json!({"score": 0.25, "success": false, "why": "é"});
    assert_eq!(run("v3", "{}, {'a': 1}, None"), (whole, document));
    for fault in FAULTS.iter().chain(&BEYOND) {
        directory.script("polite", fault);
        for (version, arguments) in
            [("v1", "{}, {}, '', ''"), ("v2", "{}, '', {}"), ("v3", "{}, '', {}")]
        {
            let (answer, _) = run(version, arguments);
            let text = answer.as_str().unwrap_or_default();
            assert!(text.starts_with("ERROR "), "{fault}, {version}: {answer}");
        }
    }
}

#[test]
fn the_assertion_for_promptfoo_is_mapped_as_its_header_says() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.script(
        "polite",
        r#"cat >read; echo '{"score": 0.5, "pass": false, "reason": "half", "checks": [{"text": "t", "pass": true, "reason": "r"}]}'"#,
    );
    directory.evaluator(&["export", "--for", "promptfoo", "polite"]).exits(0);
    let run = |output: &str, context: &str| {
        let code = format!(
            "import polite_promptfoo\nprint(json.dumps(call(polite_promptfoo.get_assert, {output}, {context})))"
        );
        printed(&directory, &code)
    };
    let answer = run(
        "'Paris'",
        "{'prompt': 'Capital?', 'vars': {'answer': 'Paris!'}, 'config': {'expected': '{{ answer }}', 'min': 3}}",
    );
    assert_eq!(
        answer,
        json!({
            "pass": false,
            "score": 0.5,
            "reason": "half",
            "componentResults": [{"pass": true, "score": 1.0, "reason": "t: r"}]
        })
    );
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(directory.path().join("read")).unwrap()).unwrap()
    };
    let document = read();
    assert_eq!(document["output"], "Paris");
    assert_eq!(document["input"], json!([{"role": "user", "content": "Capital?"}]));
    assert_eq!(document["expected_output"], json!([{"role": "assistant", "content": "Paris!"}]));
    assert_eq!(document["config"], json!({"min": 3}));
    // What is not there is not made up.
    run("{'city': 'Paris'}", "{'config': {'expected': '{{gone}}'}}");
    let document = read();
    assert_eq!(document["output"], "{\"city\": \"Paris\"}");
    assert_eq!(document["expected_output"], json!([]));
    // The threshold of the assertion, if it has one, is not for the evaluator.
    for (threshold, passes) in [("0.5", true), ("0.6", false), ("'high'", false)] {
        let answer = run("'Paris'", &format!("{{'config': {{'threshold': {threshold}}}}}"));
        assert_eq!(answer["pass"].as_bool().unwrap_or(false), passes, "{answer}");
    }
    assert_eq!(read()["config"], Value::Null);
    // A failure without a reason is a pass for promptfoo, and graders of AgentV 4 leave the rest to it.
    for (gives, wanted) in [
        (
            r#"{"score": 0, "pass": false}"#,
            json!({"pass": false, "score": 0.0, "reason": "the score is 0.0", "componentResults": []}),
        ),
        (
            r#"{"score": 0.8, "assertions": [{"text": "t", "passed": true}], "checks": null}"#,
            json!({
                "pass": true,
                "score": 0.8,
                "reason": "the score is 0.8",
                "componentResults": [{"pass": true, "score": 1.0, "reason": "t"}]
            }),
        ),
    ] {
        directory.script("polite", &format!("cat >/dev/null; echo '{gives}'"));
        assert_eq!(run("'Paris'", "{}"), wanted);
    }
    for fault in FAULTS.iter().chain(&BEYOND) {
        directory.script("polite", fault);
        let answer = run("'Paris'", "{}");
        assert!(answer.as_str().unwrap_or_default().starts_with("ERROR "), "{fault}: {answer}");
    }
}

/// As much of ADK as the metric uses.
const ADK: &str = r#"
import enum

class EvalStatus(enum.Enum):
    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3
    INFORMATIONAL = 4

class Model:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    @classmethod
    def model_validate(cls, fields):
        return cls(**fields)

    def model_dump_json(self, exclude_none, exclude):
        name = type(self).__name__
        if name == 'Metric':
            assert exclude == {'criterion': {'command', 'timeout', 'on_error'}}
        return '"' + name + '"'

class EvaluationResult(Model): pass
class PerInvocationResult(Model): pass
class RubricScore(Model): pass
class Turn(Model): pass

def plain(value):
    if isinstance(value, Model):
        return {key: plain(item) for key, item in value.__dict__.items()}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value
"#;

/// A directory with a metric that was exported, and something that looks like ADK.
fn adk() -> Directory {
    let directory = Directory::new();
    for module in ["google", "google/adk", "google/adk/evaluation"] {
        directory.file(&format!("{module}/__init__.py"), "");
    }
    directory.file("google/adk/evaluation/evaluator.py", ADK);
    directory.file("google/adk/evaluation/eval_rubrics.py", "from .evaluator import RubricScore\n");
    directory.script("polite", "exit 1");
    directory.evaluator(&["export", "--for", "adk", "polite"]).exits(0);
    directory
}

/// What ADK gets from the metric for two turns.
fn evaluate(directory: &Directory, how: &str, criterion: &str) -> Value {
    let code = format!(
        "import asyncio\nfrom google.adk.evaluation.evaluator import Turn, plain\nimport polite_adk_metric as m\n\n\nclass Metric(Turn):\n    criterion = Turn({criterion})\n\n\nturns = [Turn(), Turn()]\nprint(json.dumps(plain(call({how}, Metric(), turns, turns, None))))"
    );
    printed(directory, &code)
}

const SYNC: &str = "m.evaluate_sync";
const ASYNC: &str = "lambda *arguments: asyncio.run(m.evaluate(*arguments))";

#[test]
fn the_metric_for_adk_hands_on_what_it_is_given() {
    if !has("python3") {
        return;
    }
    let directory = adk();
    directory.script(
        "polite",
        r#"cat >read; echo '{"overall_score": 0.5, "overall_eval_status": 1, "per_invocation_results": [{"score": 0, "eval_status": 2}, {"score": 1, "eval_status": 1}]}'"#,
    );
    for how in [SYNC, ASYNC] {
        let result = evaluate(&directory, how, "threshold=0.5");
        assert_eq!(result["overall_eval_status"], 1, "{result}");
        assert_eq!(result["per_invocation_results"][1]["score"], 1);
        assert_eq!(result["per_invocation_results"][1]["actual_invocation"], json!({}));
        let read = fs::read_to_string(directory.path().join("read")).unwrap();
        assert_eq!(
            read,
            "{\"eval_metric\":\"Metric\",\"actual_invocations\":[\"Turn\",\"Turn\"],\"expected_invocations\":[\"Turn\",\"Turn\"],\"conversation_scenario\":null}\n"
        );
    }
    // As many rows as it likes, where it judges nothing.
    directory.script("polite", r#"cat >/dev/null; echo '{"overall_eval_status": 3}'"#);
    let result = evaluate(&directory, SYNC, "threshold=0.5");
    assert_eq!(result, json!({"overall_eval_status": 3, "per_invocation_results": []}));
    // Another command, as a list or as for a shell.
    let other = directory.script(
        "other one",
        r#"cat >/dev/null; echo "{\"overall_score\": $1, \"overall_eval_status\": 4}""#,
    );
    for command in [format!("[{other:?}, '0.25']"), format!("'\\'{}\\' 0.25'", other.display())] {
        let result = evaluate(&directory, SYNC, &format!("command={command}"));
        assert_eq!(result["overall_score"], 0.25, "{result}");
    }
}

#[test]
fn a_metric_that_breaks_fails_the_case_and_says_why() {
    if !has("python3") {
        return;
    }
    let directory = adk();
    let rows = "cat >/dev/null; echo '{\"overall_score\": 1, \"overall_eval_status\": 1, \"per_invocation_results\": [{\"score\": 1, \"eval_status\": 1}]}'";
    let status = "cat >/dev/null; echo '{\"overall_score\": 1, \"overall_eval_status\": \"PASSED\", \"per_invocation_results\": []}'";
    for fault in FAULTS.iter().chain(&[rows, status, "sleep 600 & sleep 600"]) {
        directory.script("polite", fault);
        let result = evaluate(&directory, SYNC, "threshold=0.5, timeout=1.5");
        assert_eq!(result["overall_eval_status"], 2, "{fault}: {result}");
        assert_eq!(result["overall_score"], 0.0);
        let rows = result["per_invocation_results"].as_array().unwrap();
        assert_eq!(rows.iter().filter(|row| row["eval_status"] == 2).count(), 2, "{result}");
        let reason = result["overall_rubric_scores"][0]["rationale"].as_str().unwrap();
        assert!(reason.starts_with("the evaluator broke, the agent was not judged: "), "{reason}");
        let raised = evaluate(&directory, ASYNC, "timeout=1.5, on_error='raise'");
        assert!(raised.as_str().unwrap().starts_with("ERROR "), "{fault}: {raised}");
    }
    // Nor is a mistake in the options green.
    for criterion in [
        "timeout=-1",
        "timeout='long'",
        "on_error='ignore'",
        "command=['/gone']",
        "command=[]",
        "command=None",
    ] {
        let result = evaluate(&directory, SYNC, criterion);
        assert_eq!(result["overall_eval_status"], 2, "{criterion}: {result}");
    }
}
