//! `evaluator conform`: good and bad programs, and what hosts would record of them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::{Directory, Ran, has};
use serde_json::Value;

/// Reads any host's document, and answers with the value of an expression over the document `d` and its `turns`.
fn python(directory: &Directory, name: &str, answer: &str) {
    directory.file(name, HEAD.to_owned() + &format!("\nanswer({answer})\n"));
}

const HEAD: &str = r#"
import json, os, signal, sys
text = sys.stdin.buffer.read()
try:
    d = json.loads(text)
    assert isinstance(d, dict)
except Exception as error:
    sys.exit(f"the input is no document: {error}")

turns = d.get("actual_invocations", d.get("actualInvocations"))
adk = turns is not None
agentevals = "invocations" in d

def answer(value):
    print(value if isinstance(value, str) else json.dumps(value))

def union(score):
    if adk:
        row = {"score": score, "eval_status": 1 if score >= 0.5 else 2}
        status = row["eval_status"] if turns else 3
        return {"overall_score": score, "overall_eval_status": status, "per_invocation_results": [row for _ in turns]}
    if agentevals:
        return {"score": score, "per_invocation_scores": [score for _ in d["invocations"]], "details": {}}
    texts = {"hits": ["h"], "misses": ["m"], "reasoning": "r", "reason": "r", "pass": score >= 0.8, "success": score >= 0.5}
    rows = [("h", True), ("m", False)]
    return texts | {
        "score": score,
        "assertions": [{"text": text, "passed": passed} for text, passed in rows],
        "checks": [{"text": text, "pass": passed, "reason": "because"} for text, passed in rows],
    }
"#;

/// Tries a program, the last argument. Python takes half as long to start without `site`, and starts a hundred times.
fn conform(directory: &Directory, args: &[&str]) -> Ran {
    let (program, options) = args.split_last().unwrap();
    let python: &[&str] = if program.ends_with(".py") { &["python3", "-S"] } else { &[] };
    directory.evaluator(&[&["conform", "-o", "json"], options, python, &[*program]].concat())
}

fn host<'v>(json: &'v Value, name: &str) -> &'v Value {
    json["hosts"].as_array().unwrap().iter().find(|host| host["host"] == name).unwrap()
}

/// The standings of all hosts, as they are listed.
fn standings(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let hosts = json["hosts"].as_array().unwrap();
    hosts.iter().map(|host| host["standing"].as_str().unwrap().to_owned()).collect()
}

/// Behavior of a case, outcome and score of its record.
#[track_caller]
fn case(ran: &Ran, host_name: &str, name: &str) -> (String, String, Value) {
    let json = ran.json();
    let cases = host(&json, host_name)["cases"].as_array().unwrap().clone();
    let case = cases.iter().find(|case| case["case"] == name).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let recorded = &case["recorded"];
    (text(&case["behavior"]), text(&recorded["outcome"]), recorded["score"].clone())
}

#[track_caller]
fn problem(ran: &Ran, host_name: &str, name: &str) -> String {
    let json = ran.json();
    let cases = host(&json, host_name)["cases"].as_array().unwrap().clone();
    let case = cases.iter().find(|case| case["case"] == name).unwrap();
    case["problem"].as_str().unwrap_or_default().to_owned()
}

const AGENTV: [&str; 3] = ["agentv-2.5.1", "agentv-4.42.4", "agentv-5"];

#[test]
fn a_program_that_answers_everybody_conforms_everywhere() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "good.py", "union(0.7)");
    let ran = conform(&directory, &["good.py"]).exits(0);
    assert_eq!(standings(&ran), ["conforms"; 9], "{}", ran.stdout);
    assert_eq!(ran.json()["conforms"], true);
    for name in ["plain", "nulls", "unknown keys", "huge"] {
        let got = case(&ran, "agentv-4.42.4", name);
        assert_eq!(got, ("answered".to_owned(), "recorded".to_owned(), 0.7.into()), "{name}");
    }
    for name in ["empty input", "not JSON", "cut short", "huge and broken"] {
        let got = case(&ran, "agentevals-0.11.0", name);
        assert_eq!(got, ("refused".to_owned(), "error".to_owned(), Value::Null), "{name}");
        // There, an error is a score all the same; its message is all that tells them apart.
        assert_eq!(case(&ran, "agentv-5", name).1, "looks_failed", "{name}");
    }
    let args = ["conform", "--host", "agentv-2.5.1", "--host", "adk-2.13", "./good.py"];
    let text = directory.evaluator(&args).exits(0).stdout;
    assert!(text.contains("AgentV 2.5.1: conforms\n"), "{text}");
    assert!(text.contains("recorded, score 0.7, borderline, 2 rows: r\n"), "{text}");
    assert!(
        text.ends_with(
            "2 releases: 2 it conforms to, 0 it does not, 0 whose documents it does not answer\n"
        ),
        "{text}"
    );
}

#[test]
fn a_program_that_is_made_for_one_host_conforms_to_that() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "one.py", "{'score': len(d['invocations']) / 10}");
    let ran = conform(&directory, &["one.py"]).exits(0);
    let mut wanted = vec!["not_answered"; 9];
    wanted[0] = "conforms";
    assert_eq!(standings(&ran), wanted);
    conform(&directory, &["--host", "agentevals", "one.py"]).exits(0);
    // What was asked for is demanded, and nothing else is played.
    let ran = conform(&directory, &["--host", "agentv-5", "one.py"]).exits(1);
    assert_eq!(standings(&ran), ["not_answered"]);
    conform(&directory, &["--host", "agentevals", "--host", "adk", "one.py"]).exits(1);
    let ran = directory.evaluator(&["conform", "--host", "agentw", "one.py"]).exits(2);
    assert!(ran.stderr.contains("there is no host `agentw`"), "{}", ran.stderr);
}

#[test]
fn a_program_that_does_not_read_may_end_the_host() {
    let directory = Directory::new();
    directory.script("deaf", "echo '{\"score\": 0.9}'");
    let ran = conform(&directory, &["./deaf"]).exits(1);
    for name in AGENTV {
        assert_eq!(case(&ran, name, "huge").1, "host_dies", "{name}");
    }
    assert!(problem(&ran, "agentv-5", "huge").contains("did not read its input"));
    // Others do not mind that, but that it answers what it cannot have understood.
    assert_eq!(case(&ran, "agentevals-0.11.0", "huge").1, "recorded");
    assert_eq!(
        problem(&ran, "agentevals-0.11.0", "empty input"),
        "it answers what is not a document"
    );
}

#[test]
fn death_by_a_signal_is_shown_as_a_pass_by_some() {
    let directory = Directory::new();
    directory.script("dies", "cat > /dev/null; echo panicked >&2; kill -ABRT $$");
    let ran = conform(&directory, &["./dies"]).exits(1);
    assert_eq!(case(&ran, "agentv-2.5.1", "plain").1, "looks_failed");
    assert_eq!(case(&ran, "agentv-4.42.4", "plain").1, "looks_passed");
    assert_eq!(case(&ran, "agentv-5", "plain").1, "looks_passed");
    assert_eq!(problem(&ran, "agentv-5", "plain"), "it was ended by signal 6");
    assert_eq!(case(&ran, "adk-2.13", "plain").1, "looks_failed");
    assert_eq!(case(&ran, "agenta-code-v1", "plain").1, "error");
    assert_eq!(case(&ran, "agentevals-0.11.0", "plain").1, "error");
}

#[test]
fn what_is_no_answer_is_shown_as_a_pass_by_some() {
    if !has("python3") {
        return;
    }
    for (answer, agentevals, v2, v4, adk) in [
        (
            "'starting\\n' + json.dumps(union(0.3))",
            "error",
            "looks_failed",
            "looks_passed",
            "looks_failed",
        ),
        ("union(1.7)", "error", "looks_passed", "looks_passed", "recorded"),
    ] {
        let directory = Directory::new();
        python(&directory, "bad.py", answer);
        let wanted = [
            ("agentevals-0.11.0", agentevals),
            ("agentv-2.5.1", v2),
            ("agentv-4.42.4", v4),
            ("adk-2.13", adk),
        ];
        let mut args: Vec<&str> = wanted.iter().flat_map(|(name, _)| ["--host", name]).collect();
        args.push("bad.py");
        let ran = conform(&directory, &args).exits(1);
        for (name, wanted) in wanted {
            assert_eq!(case(&ran, name, "plain").1, wanted, "{name} {answer}");
        }
    }
}

#[test]
fn a_line_end_is_nothing_and_a_panic_is_an_error() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory
        .file("no_newline.py", HEAD.to_owned() + "\nsys.stdout.write(json.dumps(union(0.7)))\n");
    assert_eq!(standings(&conform(&directory, &["no_newline.py"]).exits(0)), ["conforms"; 9]);

    directory.script("panics", "cat > /dev/null; echo \"thread 'main' panicked\" >&2; exit 101");
    let ran = conform(&directory, &["./panics"]).exits(1);
    assert_eq!(standings(&ran), ["not_answered"; 9]);
    assert_eq!(case(&ran, "agentv-5", "plain").0, "refused");

    directory.script("mute", "cat > /dev/null; exit 3");
    let ran = conform(&directory, &["./mute"]).exits(1);
    assert!(problem(&ran, "adk-2.13", "plain").contains("prints nothing on standard error"));
    // It may be that it is made for others, but there this is a score.
    assert_eq!(
        standings(&ran)[..5],
        [
            "not_answered",
            "does_not_conform",
            "does_not_conform",
            "does_not_conform",
            "not_answered"
        ]
    );
    directory.script("both", "cat > /dev/null; echo '{\"score\": 1}'; echo why >&2; exit 1");
    let ran = conform(&directory, &["./both"]).exits(1);
    assert_eq!(case(&ran, "agentv-2.5.1", "plain").1, "lost");
    assert!(problem(&ran, "agentv-2.5.1", "plain").contains("prints on standard output"));
}

#[test]
fn rows_that_are_missing_end_the_run_of_adk_and_others_are_lost() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "rows.py", "union(0.7) | ({'per_invocation_results': []} if adk else {})");
    let ran = conform(&directory, &["--host", "adk", "rows.py"]).exits(1);
    assert_eq!(case(&ran, "adk-2.13", "plain").1, "host_dies");
    assert!(problem(&ran, "adk-2.13", "plain").starts_with("0 rows for 2 turns"));
    conform(&directory, &["--host", "agentv", "--host", "agenta", "rows.py"]).exits(0);

    python(&directory, "old.py", "{'score': 0.7, 'hits': ['h'], 'misses': [], 'reasoning': 'r'}");
    conform(&directory, &["--host", "agentv-2.5.1", "old.py"]).exits(0);
    let ran = conform(&directory, &["--host", "agentv", "old.py"]).exits(1);
    assert_eq!(case(&ran, "agentv-4.42.4", "plain").1, "lost");
    assert!(problem(&ran, "agentv-5", "plain").contains("`hits`"));
}

#[test]
fn unknown_keys_must_not_matter() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let answer = "union(0.7) if 'not_known_yet' not in d else sys.exit('unknown key')";
    python(&directory, "strict.py", answer);
    let ran = conform(&directory, &["strict.py"]).exits(1);
    assert_eq!(standings(&ran), ["does_not_conform"; 9]);
    assert!(problem(&ran, "agenta-webhook", "unknown keys").contains("does not know"));
}

#[test]
fn the_answer_in_a_file_is_there_while_the_program_runs() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let answer = "union(0.7) if not d.get('output_path') or len(json.load(open(d['output_path'], encoding='utf-8'))) > 50000 else 'no'";
    python(&directory, "file.py", answer);
    let ran = conform(&directory, &["--host", "agentv", "file.py"]).exits(0);
    assert_eq!(standings(&ran), ["conforms"; 3]);
}

#[test]
fn settings_are_where_each_host_has_them() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let found = "[c for c in [d.get('config'), d.get('eval_metric', d.get('evalMetric', {})).get('criterion')] if c]";
    let answer = format!(
        "union(0.7) if any(c.get('minLength', c.get('min_length')) == 3 for c in {found}) else sys.exit('no settings')"
    );
    python(&directory, "set.py", &answer);
    let one = ["--host", "agentevals", "set.py"];
    conform(&directory, &one).exits(1);
    directory.file("settings.json", r#"{"minLength": 3}"#);
    conform(&directory, &[&["--config", "settings.json"], &one[..]].concat()).exits(0);
    let ran = conform(&directory, &["--config", r#"{"minLength": 3}"#, "set.py"]).exits(0);
    let wanted: Vec<_> =
        (0..9).map(|at| if at < 5 { "conforms" } else { "not_answered" }).collect();
    assert_eq!(standings(&ran), wanted);
    for wrong in ["{", "missing.json", "set.py"] {
        directory.evaluator(&["conform", "-c", wrong, "set.py"]).exits(2).reports_nothing();
    }
}

#[test]
fn what_hangs_is_ended_and_not_waited_for_again_and_again() {
    let directory = Directory::new();
    directory.script("hangs", "cat > /dev/null; exec sleep 600");
    let ran = conform(&directory, &["--timeout", "1", "./hangs"]).exits(1);
    assert_eq!(problem(&ran, "agentevals-0.11.0", "plain"), "it was not done after 1 s");
    assert!(ran.stdout.contains("not played: its time ran out too often"));
    // What was not played may do any harm.
    for host in ran.json()["hosts"].as_array().unwrap() {
        let cases = host["cases"].as_array().unwrap();
        let skipped = |case: &Value| case["behavior"] == "not_run" && case["kind"] == "document";
        assert!(!cases.iter().any(skipped) || host["standing"] == "does_not_conform", "{host}");
    }
}

#[test]
fn a_command_line_is_as_good_as_a_file() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    python(&directory, "good.dat", "union(0.7 if sys.argv[1:] == ['-o', 'x'] else 2)");
    for command in [&["python3", "good.dat", "-o", "x"][..], &["python3 good.dat -o 'x'"]] {
        // All releases start the program in the same way.
        let args = [&["--host", "agentevals", "--host", "adk"], command].concat();
        assert_eq!(standings(&conform(&directory, &args).exits(0)), ["conforms"; 2]);
    }
}

#[test]
fn an_option_after_the_program_is_reported() {
    let directory = Directory::new();
    directory.file("settings.json", "{}");
    let stderr = |args: &[&str]| directory.evaluator(&[&["conform"], args].concat()).stderr;
    for (args, option) in [
        (&["missing.py", "-c", "settings.json"][..], "-c"),
        (&["missing.py", "-c", "{\"a b\": 1}"], "-c"),
        (&["./missing", "x.py", "--config=settings.json"], "--config"),
        (&["missing.py", "--host", "adk"], "--host"),
    ] {
        let said = stderr(args);
        assert!(
            said.contains(&format!("`{option}` after the program goes to the program")),
            "{said}"
        );
        assert!(said.contains("`evaluator conform -- PROGRAM ..`"), "{said}");
    }
    for args in [
        &["-c", "settings.json", "missing.py"][..],
        &["--", "missing.py", "-c", "settings.json"],
        &["missing.py", "--", "-c", "settings.json"],
        &["missing.py", "--unknown", "x"],
        &["./missing", "-c", "exec python3 good.py"],
    ] {
        let said = stderr(args);
        assert!(
            said.contains("missing") && !said.contains("after the program"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn what_cannot_be_started_is_said() {
    let directory = Directory::new();
    directory.file("data.txt", "x");
    for (command, words) in [
        ("no-such-program-anywhere", "was not found on PATH"),
        ("./missing", "not found"),
        ("missing.py", "not found"),
        ("./data.txt", "no runtime for"),
        ("'", "not a command line"),
    ] {
        let ran = directory.evaluator(&["conform", command]).exits(3).reports_nothing();
        assert!(ran.stderr.contains(words), "{command}: {}", ran.stderr);
    }
    directory.evaluator(&["conform", "--hots", "adk", "x"]).exits(2).reports_nothing();
    directory.evaluator(&["conform"]).exits(2).reports_nothing();
    directory.evaluator(&["conform", "--timeout", "0", "x"]).exits(2).reports_nothing();
}

#[test]
fn a_function_of_a_host_is_named_instead_of_tried() {
    let directory = Directory::new();
    directory.file(
        "check.py",
        "def evaluate(app_params, inputs, output, correct_answer):\n    return 1\n",
    );
    for command in [&["check.py"][..], &["python3", "check.py"], &["python3 check.py"]] {
        let mut args = vec!["conform"];
        args.extend(command);
        let ran = directory.evaluator(&args).exits(3).reports_nothing();
        assert!(ran.stderr.contains("add `contract: agenta`"), "{}", ran.stderr);
        assert!(ran.stderr.lines().count() < 4, "{}", ran.stderr);
    }
}
