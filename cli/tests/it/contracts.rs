//! Evaluators that are written for another host: `contract:` in their entry.
#![cfg(unix)]

use crate::support::{Directory, Ran, eval_set, has, trace};

/// A judge as AgentV's guide has it.
const AGENTV_JUDGE: &str = r#"
import json, sys
data = json.load(sys.stdin)
answer = data["candidate_answer"]
hits = [f"mentions {word}" for word in data["config"]["required_words"] if word in answer]
misses = [f"lacks {word}" for word in data["config"]["required_words"] if word not in answer]
score = len(hits) / len(data["config"]["required_words"])
print(json.dumps({"score": score, "hits": hits, "misses": misses, "reasoning": f"{len(hits)} found"}))
"#;

const AGENTA_V1: &str = r#"
from typing import Dict
print("noise of the module")
def evaluate(app_params: Dict[str, str], inputs: Dict[str, str], output: str, correct_answer: str) -> float:
    print("noise of the function")
    assert app_params == {} and inputs["correct_answer"] == correct_answer
    return 1 if output == correct_answer else 0
"#;

fn run(directory: &Directory, entry: &str, more: &[&str]) -> Ran {
    directory.file("c.yaml", format!("evaluators:\n  - {{name: it, type: code, {entry}}}\n"));
    let trace = trace("k01_traj_exact");
    directory.run(&[&[&*trace, "-c", "c.yaml", "-o", "json"][..], more].concat())
}

fn metric(ran: &Ran) -> serde_json::Value {
    ran.json()["traces"][0]["metrics"][0].clone()
}

/// What comes of an answer under a contract: score and status, or the error.
#[track_caller]
fn answered(directory: &Directory, contract: &str, answer: &str) -> String {
    directory.file("answer.json", answer);
    directory.script("say", "cat >/dev/null; cat answer.json");
    let ran = run(directory, &format!("path: say{contract}"), &[]);
    let metric = metric(&ran);
    match metric["error"].as_str() {
        Some(error) => {
            assert_eq!(ran.code, Some(3), "{error}");
            assert_eq!(metric["error_type"], "bad_answer", "{error}");
            error.to_owned()
        }
        None => {
            format!("{} {}", metric["score"], metric["eval_status"].as_str().unwrap_or_default())
        }
    }
}

#[test]
fn answers_of_other_hosts_are_errors_that_name_the_contract() {
    let directory = Directory::new();
    for (answer, contract) in [
        (r#"{"score": 0.0, "hits": [], "misses": ["x"], "reasoning": "r"}"#, "agentv"),
        (r#"{"score": 1, "reasoning": "r"}"#, "agentv"),
        (r#"{"score": 1, "assertions": []}"#, "agentv"),
        (r#"{"pass": true, "score": 1, "reason": "r", "checks": []}"#, "agentv"),
        (r#"{"score": 1, "details": {}, "misses": []}"#, "agentv"),
        (r#"{"overall_score": 1.0, "overall_eval_status": 1}"#, "adk"),
        (r#"{"overallScore": 1.0, "overallEvalStatus": 1}"#, "adk"),
        (r#"{"score": 0.5, "success": true}"#, "agenta"),
        (r#"{"success": true}"#, "agenta"),
        ("0.5", "agenta"),
        ("1", "agenta"),
        ("true", "agenta"),
    ] {
        let answered = answered(&directory, "", answer);
        assert!(
            answered.contains(&format!("add `contract: {contract}` to its entry")),
            "{answer}: {answered}"
        );
    }
    for (answer, expected) in [
        (r#"{"score": 1, "reason": "r"}"#, "1.0 PASSED"),
        (r#"{"score": 1, "status": null, "reasoning": "r"}"#, "1.0 PASSED"),
        (r#"{"score": 0, "per_invocation_scores": [], "success": false}"#, "0.0 FAILED"),
    ] {
        assert_eq!(answered(&directory, "", answer), expected, "{answer}");
    }
    let stated = ", contract: agentevals";
    assert_eq!(answered(&directory, stated, r#"{"score": 1, "reasoning": "r"}"#), "1.0 PASSED");
    assert!(answered(&directory, stated, "0.5").contains("expected an object, found 0.5"));
    assert!(answered(&directory, "", "[1]").contains("expected an object, found [1]"));
}

#[test]
fn answers_of_agentv() {
    let directory = Directory::new();
    for (answer, expected) in [
        (r#"{"score": 0.7, "hits": ["a"], "misses": [], "reasoning": "r"}"#, "0.7 PASSED"),
        (r#"{"score": 0}"#, "0.0 FAILED"),
        (
            r#"{"assertions": [{"text": "a", "passed": true}, {"text": "b", "passed": false}]}"#,
            "0.5 PASSED",
        ),
        (
            r#"{"checks": [{"text": "a", "pass": true, "reason": "r", "score": 0.25}]}"#,
            "0.25 FAILED",
        ),
        (r#"{"pass": true}"#, "1.0 PASSED"),
        (r#"{"pass": false, "score": 0.9, "reason": "r", "checks": []}"#, "0.9 PASSED"),
    ] {
        assert_eq!(answered(&directory, ", contract: agentv", answer), expected, "{answer}");
    }
    for (answer, error) in [
        ("{}", "score: a number from 0 to 1 is required"),
        (r#"{"hits": ["a"], "reasoning": "r"}"#, "score: a number from 0 to 1 is required"),
        (r#"{"score": 1.7}"#, "score: expected a number from 0 to 1, found 1.7"),
        (r#"{"score": -1}"#, "score: expected a number from 0 to 1, found -1"),
        (r#"{"score": "0.9"}"#, "score: expected a number from 0 to 1, found \"0.9\""),
        (r#"{"score": null, "pass": true}"#, "score: expected a number from 0 to 1, found null"),
        (r#"{"score": NaN}"#, "NaN"),
        (
            r#"{"assertions": [{"text": "a", "passed": "false"}]}"#,
            "assertions[0].passed: expected true or false",
        ),
        (r#"{"assertions": []}"#, "score: a number"),
        (r#"{"score": 1, "details": 3}"#, "details: expected an object or null"),
        ("0.5", "expected an object like"),
        ("[]", "expected an object like"),
        ("fine", "expected a value"),
        ("{\"score\": 1}\n{\"score\": 1}", "print the result and nothing else"),
        ("", "produced no output on stdout"),
    ] {
        let answered = answered(&directory, ", contract: agentv", answer);
        assert!(answered.contains(error), "{answer}: {answered}");
    }
    let ran = {
        directory.file(
            "answer.json",
            r#"{"score": 1, "misses": ["m"], "hits": [], "details": {"x": 1}}"#,
        );
        run(&directory, "path: say, contract: agentv", &[])
    };
    assert_eq!(metric(&ran)["details"], serde_json::json!({"x": 1, "misses": ["m"]}));
}

#[test]
fn a_status_that_the_contract_does_not_have_is_not_passed_over() {
    let directory = Directory::new();
    for contract in [", contract: agentv", ", contract: agenta"] {
        for (answer, error) in [
            (
                r#"{"score": 1, "status": "FAILED"}"#,
                "status: it says FAILED, and the answer is PASSED",
            ),
            (r#"{"score": 0.9, "status": "NOT_EVALUATED"}"#, "leave `contract` out of its entry"),
            (
                r#"{"score": 0, "status": "PASSED", "per_invocation_scores": [1]}"#,
                "status: it says PASSED",
            ),
        ] {
            let answered = answered(&directory, contract, answer);
            assert!(answered.contains(error), "{answer}: {answered}");
        }
        for (answer, expected) in [
            (r#"{"score": 1, "status": "PASSED"}"#, "1.0 PASSED"),
            (r#"{"score": 0, "status": "FAILED"}"#, "0.0 FAILED"),
            (r#"{"score": 1, "status": "fine"}"#, "1.0 PASSED"),
            (r#"{"score": 1, "status": 3}"#, "1.0 PASSED"),
        ] {
            assert_eq!(answered(&directory, contract, answer), expected, "{answer}");
        }
    }
}

#[test]
fn keys_that_agentv_has_only_sometimes_are_named_with_what_gives_them() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    for (key, cure, more) in [
        ("expected_outcome", "give `criteria` in the `config`", ", config: {criteria: done}"),
        ("criteria", "give `criteria` in the `config`", ", config: {expected_outcome: done}"),
        ("reference_answer", "give an eval set with an expected answer", ""),
    ] {
        directory.file(
            "judge.py",
            format!("import json, sys\nd = json.load(sys.stdin)\nprint(json.dumps({{'score': float(d['{key}'] == d['answer'])}}))\n"),
        );
        let error =
            run(&directory, "path: judge.py, contract: agentv", &[]).exits(3).error_of("it");
        assert!(error.contains(cure), "{key}: {error}");
        let entry = format!("path: judge.py, contract: agentv{more}");
        run(&directory, &entry, &["-e", &eval_set("library")]).exits(0);
    }
}

#[test]
fn answers_of_adk() {
    let directory = Directory::new();
    let row = r#""per_invocation_results": [{"score": 0.75, "eval_status": 1}]"#;
    for (answer, expected) in [
        (format!(r#"{{"overall_score": 0.75, "overall_eval_status": 1, {row}}}"#), "0.75 PASSED"),
        (format!(r#"{{"overall_score": 0.75, "overall_eval_status": 2.0, {row}}}"#), "0.75 FAILED"),
        (r#"{"overall_score": null, "overall_eval_status": 3}"#.to_owned(), "null NOT_EVALUATED"),
        (
            r#"{"overall_score": 0.0, "overall_eval_status": 3, "per_invocation_results": []}"#
                .to_owned(),
            "null NOT_EVALUATED",
        ),
        (r#"{"overall_score": 1234, "overall_eval_status": 4}"#.to_owned(), "null NOT_EVALUATED"),
    ] {
        assert_eq!(answered(&directory, ", contract: adk", &answer), expected, "{answer}");
    }
    for (answer, error) in [
        ("{}".to_owned(), "overall_eval_status: 1 (PASSED)"),
        (r#"{"overallScore": 1, "overallEvalStatus": 1}"#.to_owned(), "overall_eval_status: 1 (PASSED)"),
        (r#"{"overall_score": 1, "overall_eval_status": "PASSED"}"#.to_owned(), "found \"PASSED\""),
        (r#"{"overall_score": 1, "overall_eval_status": 5}"#.to_owned(), "found 5"),
        (r#"{"overall_score": 1, "overall_eval_status": null}"#.to_owned(), "found null"),
        (r#"{"overall_eval_status": 1}"#.to_owned(), "overall_score: it is missing in a result that says PASSED"),
        (r#"{"overall_score": 1, "overall_eval_status": 1}"#.to_owned(), "it has 0, and the conversation has 1"),
        (format!(r#"{{"overall_score": 7, "overall_eval_status": 1, {row}}}"#), "overall_score: expected a number from 0 to 1, found 7"),
        (r#"{"overall_score": 1, "overall_eval_status": 1, "per_invocation_results": [{"score": 2}]}"#.to_owned(), "per_invocation_results[0].score"),
        (r#"{"overall_score": 1, "overall_eval_status": 1, "per_invocation_results": [1]}"#.to_owned(), "per_invocation_results[0]: expected an object"),
        ("0.5".to_owned(), "an `EvaluationResult`"),
    ] {
        let answered = answered(&directory, ", contract: adk", &answer);
        assert!(answered.contains(error), "{answer}: {answered}");
    }
}

#[test]
fn answers_of_agenta() {
    let directory = Directory::new();
    for (answer, expected) in [
        ("0.75", "0.75 PASSED"),
        ("0", "0.0 FAILED"),
        ("true", "1.0 PASSED"),
        ("false", "0.0 FAILED"),
        ("\"0.75\"", "0.75 PASSED"),
        (r#"{"score": 0.75, "success": false}"#, "0.75 FAILED"),
        (r#"{"score": 0.3}"#, "0.3 FAILED"),
        (r#"{"success": true, "words": 12}"#, "1.0 PASSED"),
    ] {
        assert_eq!(answered(&directory, ", contract: agenta", answer), expected, "{answer}");
    }
    for (answer, error) in [
        ("2", "expected a number from 0 to 1, true, false"),
        ("-1", "expected a number from 0 to 1"),
        ("\"good\"", "found \"good\""),
        ("\"nan\"", "found \"nan\""),
        ("null", "it is null"),
        ("[1]", "found [1]"),
        ("{}", "has neither"),
        (r#"{"words": 12}"#, "has neither"),
        (r#"{"score": 2}"#, "score: expected a number from 0 to 1, found 2"),
        (r#"{"score": null}"#, "score: expected a number"),
        (r#"{"score": 1, "success": "yes"}"#, "success: expected true or false"),
    ] {
        let answered = answered(&directory, ", contract: agenta", answer);
        assert!(answered.contains(error), "{answer}: {answered}");
    }
}

#[test]
fn a_reported_error_is_one_under_every_contract() {
    let directory = Directory::new();
    directory.script(
        "say",
        r#"cat >/dev/null; echo '{"error": {"kind": "rejected", "message": "no"}}'"#,
    );
    for contract in ["agentevals", "agentv", "adk", "agenta"] {
        let ran = run(&directory, &format!("path: say, contract: {contract}"), &[]).exits(3);
        assert_eq!(metric(&ran)["error_type"], "reported", "{contract}");
    }
}

#[test]
fn documents_are_those_of_the_host() {
    let directory = Directory::new();
    directory.script("say", "cat >document.json; echo 1");
    let goldens = eval_set("library");
    let document = |contract: &str, more: &[&str]| -> serde_json::Value {
        let config = "config: {minLength: 3}, threshold: 0.25";
        run(&directory, &format!("path: say, contract: {contract}, {config}"), more);
        let text = std::fs::read_to_string(directory.path().join("document.json")).unwrap();
        assert!(!text.contains('\n'), "one line: {text}");
        serde_json::from_str(&text).unwrap()
    };
    let agentv = document("agentv", &["-e", &goldens]);
    assert_eq!(agentv["question"], "traj ab");
    assert_eq!(agentv["candidate_answer"], "done");
    assert_eq!(agentv["output"], "done");
    assert_eq!(agentv["reference_answer"], "done");
    assert_eq!(agentv["config"], serde_json::json!({"min_length": 3}));
    assert_eq!(agentv["trace_summary"]["tool_calls_by_name"], serde_json::json!({"a": 1, "b": 1}));
    assert_eq!(agentv["trace_summary"]["token_usage"]["input"], 100);
    assert_eq!(agentv["expected_messages"][0]["tool_calls"][0]["tool"], "a");
    let without = document("agentv", &[]);
    for key in ["reference_answer", "criteria", "expected_outcome"] {
        assert_eq!(without.get(key), None, "{key} is not made up");
    }
    assert_eq!(without["expected_messages"], serde_json::json!([]));

    let adk = document("adk", &["-e", &goldens]);
    assert_eq!(
        adk["eval_metric"],
        serde_json::json!({"metric_name": "it", "criterion": {"threshold": 0.25, "minLength": 3}})
    );
    assert_eq!(adk["actual_invocations"][0]["final_response"]["parts"][0]["text"], "done");
    assert_eq!(adk["expected_invocations"][0]["intermediate_data"]["tool_uses"][0]["name"], "a");
    assert_eq!(document("adk", &[])["expected_invocations"], serde_json::Value::Null);

    let agenta = document("agenta", &["-e", &goldens]);
    assert_eq!(
        agenta["inputs"],
        serde_json::json!({"question": "traj ab", "correct_answer": "done"})
    );
    assert_eq!(agenta["output"], "done");
    // A document has the one or the other.
    assert_eq!(agenta.get("outputs"), None);
    assert_eq!(agenta["parameters"], serde_json::json!({"minLength": 3, "threshold": 0.25}));
    assert_eq!(document("agenta", &[]).get("correct_answer"), None);
}

#[test]
fn a_judge_of_agentv_is_run_unchanged_and_in_every_way() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("judge.py", AGENTV_JUDGE);
    let entry = "path: judge.py, config: {requiredWords: [done, missing]}";
    let error = run(&directory, entry, &[]).exits(3).error_of("it");
    assert!(error.contains("KeyError: 'candidate_answer'"), "{error}");
    assert!(error.ends_with("add `contract: agentv` to its entry)"), "{error}");
    for isolation in ["auto", "process"] {
        let entry = format!("{entry}, contract: agentv, isolation: {isolation}");
        let ran = run(&directory, &entry, &[]).exits(0);
        let metric = metric(&ran);
        assert_eq!(metric["score"], 0.5);
        assert_eq!(metric["details"]["misses"], serde_json::json!(["lacks missing"]));
        assert_eq!(metric["details"]["reasoning"], "1 found");
        // Enough conversations for forks.
        let ran =
            directory.run(&[&trace("i14_fifteen_traces"), "-c", "c.yaml", "-o", "json"]).exits(1);
        for conversation in 0..15 {
            assert_eq!(ran.evaluations(conversation), ["it FAILED"]);
        }
    }
}

#[test]
fn functions_of_agenta_are_called() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let goldens = eval_set("library");
    directory.file("check.py", AGENTA_V1);
    let ran = run(&directory, "path: check.py, contract: agenta", &["-e", &goldens]).exits(0);
    assert_eq!(metric(&ran)["score"], 1.0);
    let ran = run(&directory, "path: check.py, contract: agenta", &[]).exits(3);
    assert!(ran.error_of("it").contains("give an eval set"), "{}", ran.error_of("it"));
    // Without the contract nothing is printed, and the error says what is to be done.
    let ran = run(&directory, "path: check.py", &["-e", &goldens]).exits(3);
    directory.file("quiet.py", AGENTA_V1.replace("print(\"noise of the module\")", ""));
    let quiet = run(&directory, "path: quiet.py", &["-e", &goldens]).exits(3);
    assert!(quiet.error_of("it").contains("add `contract: agenta`"), "{}", quiet.error_of("it"));
    assert!(ran.error_of("it").contains("invalid JSON"), "{}", ran.error_of("it"));

    for (body, score) in [
        (
            "def evaluate(inputs, outputs, trace): return {'score': 0.75, 'success': True, 'words': len(outputs)}",
            0.75,
        ),
        ("def evaluate(inputs, outputs, trace=None): return inputs['question'] == 'traj ab'", 1.0),
        ("def evaluate(app_params, inputs, output, correct_answer): return '0.5'", 0.5),
        ("evaluate = lambda inputs, outputs, trace: 0.25", 0.25),
    ] {
        directory.file("check.py", body);
        let function = if body.starts_with("def") { "" } else { ", function: evaluate" };
        let entry = format!("path: check.py, contract: agenta, threshold: 0.25{function}");
        let ran = run(&directory, &entry, &["-e", &goldens]).exits(0);
        assert_eq!(metric(&ran)["score"], score, "{body}");
    }
    for (body, error) in [
        ("def evaluate(inputs, outputs, trace): return None", "returned nothing"),
        ("def evaluate(inputs, outputs, trace): return float('nan')", "returned nan"),
        (
            "def evaluate(inputs, outputs, trace): return {'score': float('nan')}",
            "cannot be written as JSON",
        ),
        (
            "def evaluate(inputs, outputs, trace): return {'score': {1}}",
            "cannot be written as JSON",
        ),
        ("def evaluate(a, b, c, d): return {'score': 1}", "returned a dict"),
        ("def evaluate(a, b): return 1", "Agenta calls it with"),
        ("async def evaluate(a, b, c): return 1", "is async"),
        ("def evaluate(a, b, c): return inputs['missing']", "NameError"),
        ("def evaluate(a, b, c): import sys; sys.exit(0)", "produced no output"),
        ("def evaluate(a, b, c): import os; os._exit(0)", "produced no output"),
        ("import no_such_module\ndef evaluate(a, b, c): return 1", "no_such_module"),
        (
            "import sys\nsys.modules['agenta'] = None\nimport agenta\ndef evaluate(a, b, c): return 1",
            "the package agenta is missing: name it in a requirements.txt",
        ),
    ] {
        directory.file("check.py", body);
        let ran = run(&directory, "path: check.py, contract: agenta", &["-e", &goldens]).exits(3);
        let answered = ran.error_of("it");
        assert!(answered.contains(error), "{body}: {answered}");
    }
}

#[test]
fn functions_are_called_in_forks_with_the_modules_next_to_them() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("checks/helper.py", "def words(text): return len(text.split())\n");
    directory.file(
        "checks/check.py",
        "import helper\nseen = []\ndef evaluate(inputs, outputs, trace):\n    seen.append(1)\n    \
         assert len(seen) == 1, 'every conversation is judged afresh'\n    return helper.words(outputs) > 0\n",
    );
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: it, type: code, path: checks/check.py, contract: agenta}\n",
    );
    let trace = trace("i14_fifteen_traces");
    let ran = directory.run(&[&trace, "-c", "c.yaml", "-o", "json", "-v"]).exits(0);
    for conversation in 0..15 {
        assert_eq!(ran.evaluations(conversation), ["it PASSED"]);
    }
    assert!(!ran.stderr.contains("not forked"), "{}", ran.stderr);
}

#[test]
fn the_configuration_is_checked() {
    let directory = Directory::new();
    directory.file(
        "metric.py",
        "def exact(eval_metric, actual_invocations, expected_invocations, scenario):\n    pass\n",
    );
    directory.file(
        "check.py",
        "def evaluate(app_params, inputs, output, correct_answer):\n    return 1\n",
    );
    directory.script("program", "");
    let check = |entry: &str| {
        directory.file("c.yaml", format!("evaluators:\n  - {{name: it, type: code, {entry}}}\n"));
        directory.evaluator(&["check", "c.yaml"])
    };
    for (entry, error) in [
        ("path: check.py, contract: agentvv", "did you mean `agentv`?"),
        (
            "path: check.py, contract: promptfoo",
            "`contract` must be one of agentevals, agentv, adk, agenta",
        ),
        ("path: check.py, contrct: adk", "did you mean `contract`?"),
        (
            "path: check.py, function: evaluate",
            "`function` belongs to `contract: adk` and `contract: agenta`",
        ),
        (
            "path: check.py, contract: agenta, function: 'a b'",
            "must be the name of a Python function",
        ),
    ] {
        let ran = check(entry);
        assert_eq!(ran.code, Some(2), "{entry}: {}", ran.stderr);
        assert!(ran.stderr.contains(error), "{entry}: {}", ran.stderr);
    }
    for (entry, problem) in [
        ("path: check.py", "add `contract: agenta`"),
        ("path: metric.py", "add `contract: adk` and `function: exact`"),
        ("path: metric.py, contract: adk", "`function: exact`"),
        ("path: metric.py, contract: adk, function: exat", "defines no function `exat`"),
        ("path: program, contract: adk, function: exact", "needs a Python file"),
    ] {
        let ran = check(entry);
        assert_ne!(ran.code, Some(0), "{entry}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(problem), "{entry}: {said}");
    }
    for (file, keys) in
        [("check.py", "contract: agenta\n"), ("metric.py", "contract: adk\n    function: exact\n")]
    {
        let ran = directory.evaluator(&["config", file]).exits(0);
        assert!(ran.stdout.contains(keys), "{}", ran.stdout);
    }
    for entry in [
        "path: check.py, contract: agenta",
        "path: metric.py, contract: adk, function: exact",
        "path: program, contract: agentv",
    ] {
        check(entry).exits(0);
    }
}

/// The parts of `google-adk` that a metric is called with, as far as these tests need them.
const ADK_STANDIN: &str = r#"
class Model:
    def __init__(self, **fields):
        self.__dict__.update(fields)
    @classmethod
    def model_validate(cls, document):
        def read(value):
            if isinstance(value, dict):
                return Model(**{key: read(member) for key, member in value.items()})
            return [read(item) for item in value] if isinstance(value, list) else value
        return cls(**read(document).__dict__)
    def model_dump(self, mode, exclude, exclude_none):
        return dict(self.__dict__)

class Invocation(Model): pass
class EvalMetric(Model): pass
class EvaluationResult(Model): pass
"#;

const ADK_METRICS: &str = r#"
import asyncio
from google.adk.evaluation.evaluator import EvaluationResult

def text(turn):
    return "".join(part.text for part in turn.final_response.parts)

def exact(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
    print("noise")
    if not expected_invocations:
        return EvaluationResult(overall_eval_status=3)
    scores = [float(text(a) == text(e)) for a, e in zip(actual_invocations, expected_invocations)]
    mean = sum(scores) / len(scores)
    status = 1 if mean >= eval_metric.criterion.threshold else 2
    rows = [{"score": score, "eval_status": 1} for score in scores]
    return EvaluationResult(overall_score=mean, overall_eval_status=status, per_invocation_results=rows)

async def later(*arguments):
    return exact(*arguments)

def task(*arguments):
    return asyncio.ensure_future(later(*arguments))

class Metric:
    @staticmethod
    def call(*arguments):
        return exact(*arguments)

def number(*arguments):
    return 1.0

def broken(*arguments):
    raise RuntimeError("boom")
"#;

#[test]
fn metrics_of_adk_are_called() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("metric.py", ADK_METRICS);
    let goldens = eval_set("library");
    let entry = |function: &str| format!("path: metric.py, contract: adk, function: {function}");
    for module in ["__init__", "evaluator", "eval_case", "eval_metrics"] {
        directory.file(&format!("google/adk/evaluation/{module}.py"), ADK_STANDIN);
    }
    for package in ["google/__init__.py", "google/adk/__init__.py"] {
        directory.file(package, "");
    }
    for module in ["evaluator", "eval_case", "eval_metrics"] {
        directory.file(
            &format!("google/adk/evaluation/{module}.py"),
            "from google.adk.evaluation import EvalMetric, EvaluationResult, Invocation, Model\n",
        );
    }
    for function in ["exact", "later", "task", "Metric.call"] {
        let ran = run(&directory, &entry(function), &["-e", &goldens]).exits(0);
        let metric = metric(&ran);
        assert_eq!(metric["score"], 1.0);
        assert_eq!(metric["per_invocation_scores"], serde_json::json!([1.0]));
        run(&directory, &entry(function), &[]).exits(1).says("NOTHING EVALUATED");
    }
    for (function, error) in [
        ("number", "`number` returned a float; ADK takes an EvaluationResult"),
        ("broken", "RuntimeError: boom"),
        ("text", "TypeError"),
    ] {
        let ran = run(&directory, &entry(function), &["-e", &goldens]).exits(3);
        assert!(ran.error_of("it").contains(error), "{function}: {}", ran.error_of("it"));
    }
}

#[test]
fn a_judge_that_reads_keys_of_another_host_is_an_error_without_its_contract() {
    let directory = Directory::new();
    directory.script(
        "grep.sh",
        r#"case "$(cat)" in *'"candidate_answer":"done"'*) score=1;; *) score=0;; esac; echo "{\"score\": $score}""#,
    );
    directory.file(
        "get.py",
        "import json, sys\nanswer = json.load(sys.stdin).get('candidate_answer', '')\n\
         print(json.dumps({'score': 1.0 if 'done' in answer else 0.0}))\n",
    );
    directory.file(
        "read.js",
        "const d = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\
         console.log(JSON.stringify({score: d.output_messages.length > 1 ? 1 : 0}));\n",
    );
    for (file, runner) in [("grep.sh", "sh"), ("get.py", "python3"), ("read.js", "node")] {
        if !has(runner) {
            continue;
        }
        let error = run(&directory, &format!("path: {file}"), &[]).exits(3).error_of("it");
        assert!(error.contains("add `contract: agentv` to its entry"), "{file}: {error}");
        let ran = directory.evaluator(&["check", "c.yaml"]).exits(2);
        assert!(ran.stdout.contains("add `contract: agentv`"), "{}", ran.stdout);
        run(&directory, &format!("path: {file}, contract: agentv"), &[]).exits(0);
    }
    // What the entry says counts.
    let ran = run(&directory, "path: grep.sh, contract: agentevals", &[]).exits(1);
    assert_eq!(metric(&ran)["score"], 0.0);
}

#[test]
fn a_function_that_agenta_does_not_call_is_named_with_the_parameters_to_take() {
    if !has("python3") || !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", "def evaluate(output):\n    return 1\n");
    directory.file("check.js", "function evaluate(output) {\n  return 1;\n}\n");
    let parameters = "(app_params, inputs, output, correct_answer) or";
    for (entry, hint) in [
        (
            "path: check.py",
            "it defines `evaluate(output)`, which nothing calls; Agenta calls it with",
        ),
        ("path: check.py, contract: agenta", "`evaluate` takes (output); Agenta calls it with"),
        ("path: check.js", "functions of Agenta are called in Python files only"),
        ("path: check.js, contract: agenta", "functions of Agenta are called in Python files only"),
    ] {
        directory.file("c.yaml", format!("evaluators:\n  - {{name: a, type: code, {entry}}}\n"));
        let args = [&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "summary"];
        let said = directory.run(&args).exits(3).stdout;
        assert!(said.contains(hint), "{entry}: {said}");
        assert_eq!(said.contains(parameters), entry.contains("check.py"), "{said}");
    }
}

#[test]
fn a_function_of_agenta_is_called_though_its_file_tries_it() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "check.py",
        "def evaluate(app_params, inputs, output, correct_answer):\n    return 0 if output == 'done' else 1\n\n\
         if __name__ == '__main__':\n    print(evaluate({}, {}, 'a', 'a'))\n",
    );
    let entry = "path: check.py, contract: agenta";
    let ran = run(&directory, entry, &["-e", &eval_set("library")]).exits(1);
    assert_eq!(metric(&ran)["score"], 0.0, "the function judges, not its trial");
    run(&directory, entry, &[]).exits(3);
}
