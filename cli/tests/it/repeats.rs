//! Repeats: each conversation is evaluated several times.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::{
    gates::recording,
    support::{Directory, Ran, eval_set, finish, trace},
};

/// Replies of a judge, each with another reason.
fn reply(number: usize, is_valid: bool) -> String {
    let verdict = if is_valid { "valid" } else { "invalid" };
    json!({"reasoning": format!("reply {number}"), "is_the_agent_response_valid": verdict})
        .to_string()
}

/// A directory with a script of replies.
fn judged(verdicts: &[bool]) -> Directory {
    let directory = Directory::new();
    let lines = verdicts.iter().enumerate().map(|(number, it)| json!(reply(number, *it)));
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    directory.file("replies.jsonl", lines.join("\n"));
    directory
}

/// Judges a conversation with one sample for each repeat, and a cassette.
fn judge(directory: &Directory, options: &[&str]) -> Ran {
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
    let args = [
        "run",
        &trace,
        "-e",
        &goldens,
        "-m",
        "final_response_match_v2",
        "--no-config",
        "-o",
        "json",
        "-j",
        "fake:replies.jsonl",
        "--judge-samples",
        "1",
        "--judge-cassette",
        "c.jsonl",
    ];
    finish(directory.command(&[&args[..], options].concat()).spawn().unwrap())
}

/// The report without durations and without whether replies were recorded before.
fn comparable(ran: &Ran) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|key, _| !["duration_ms", "replayed"].contains(&&**key));
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut report = ran.json();
    strip(&mut report);
    report
}

fn metric(report: &Value) -> &Value {
    &report["traces"][0]["metrics"][0]
}

#[test]
fn each_repeat_of_a_judge_has_a_reply_of_its_own_and_is_replayed_with_it() {
    let directory = judged(&[true, false, true]);
    let recorded = judge(&directory, &["--repeat", "3"]).exits(0);
    let report = recorded.json();
    let metric = metric(&report);
    assert_eq!(metric["eval_status"], "PASSED");
    assert!((metric["score"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9, "{metric}");
    let outcomes = metric["repeats"].as_array().unwrap().iter().map(|it| &it["outcome"]);
    assert_eq!(outcomes.collect::<Vec<_>>(), ["passed", "failed", "passed"]);
    let cassette = directory.read("c.jsonl");
    assert_eq!(cassette.lines().count(), 3);
    for number in 0..3 {
        assert!(cassette.contains(&format!("reply {number}")), "{cassette}");
    }
    fs::remove_file(directory.join("replies.jsonl")).unwrap();
    let replayed = judge(&directory, &["--repeat", "3", "--judge-mode", "replay"]).exits(0);
    assert_eq!(comparable(&replayed), comparable(&recorded));
    assert_eq!(directory.read("c.jsonl"), cassette);
}

#[test]
fn replies_that_are_asked_for_again_are_not_those_of_the_next_repeat() {
    let directory = judged(&[]);
    let (unreadable, valid, invalid) =
        ("I cannot say.".to_owned(), reply(1, true), reply(2, false));
    let lines = [unreadable, valid, invalid].map(|line| json!(line).to_string());
    directory.file("replies.jsonl", lines.join("\n"));
    directory.file(
        "c.yaml",
        "judge: {model: 'fake:replies.jsonl', samples: 1, reask: 1, cassette: c.jsonl}\nrepeat: 2\n\
         evaluators:\n- {name: final_response_match_v2, type: builtin}\n",
    );
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
    let args = ["run", &trace, "-e", &goldens, "-c", "c.yaml", "-o", "json"];
    let ran = finish(directory.command(&args).spawn().unwrap()).exits(1);
    let report = ran.json();
    let scores = metric(&report)["repeats"].as_array().unwrap().iter().map(|it| &it["score"]);
    assert_eq!(scores.collect::<Vec<_>>(), [&json!(1.0), &json!(0.0)]);
    assert_eq!(directory.read("c.jsonl").lines().count(), 3);
}

/// A directory with conversations and an evaluator that answers otherwise the third time.
fn unsteady(conversations: usize) -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(conversations));
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; [ $(($(wc -l <calls) % 3)) = 0 ] && echo '{"score": 0.2}' || echo '{"score": 0.8}'"#);
    directory.file(
        "c.yaml",
        "evaluators:\n- {type: code, path: ./moody, name: moody, isolation: process}\n",
    );
    directory
}

fn run(directory: &Directory, options: &[&str]) -> Ran {
    directory.run(&[&["t.json", "-c", "c.yaml", "--jobs", "1"], options].concat())
}

fn calls(directory: &Directory) -> usize {
    fs::read_to_string(directory.join("calls")).map_or(0, |calls| calls.lines().count())
}

#[test]
fn a_program_that_differs_between_repeats_is_named() {
    let directory = unsteady(2);
    let ran = run(&directory, &["--repeat", "3", "-o", "json"]).exits(0);
    let report = ran.json();
    assert_eq!(report["summary"]["passed"], 2);
    assert!((metric(&report)["score"].as_f64().unwrap() - 0.6).abs() < 1e-9);
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("moody asks no model, and its repeats differ in 2 conversations"),
        "{warning}"
    );
    assert!(warning.contains("a clock, a random number or the network"), "{warning}");
    assert_eq!(calls(&directory), 6);
    // Two repeats of which one passes are no majority.
    directory.file("calls", "x\n");
    run(&directory, &["--repeat", "2"]).exits(1);
}

/// Scores by chance, and says whether its interpreter was forked.
const CHANCE: &str = r#"import sys
was_forked = "statistics" in sys.modules
import json, random, statistics
json.load(sys.stdin)
print(json.dumps({"score": random.random(), "details": {"forked": was_forked}}))
"#;

/// Repeats a Python program that scores by chance, and checks that each repeat is a fork with random numbers of its own.
fn assert_forks_differ(executor: &str, options: &[&str]) {
    let directory = Directory::new();
    directory.file("t.json", recording(1));
    directory.file("src/chance.py", CHANCE);
    let entry = format!("{{type: code, path: src/chance.py, name: chance, executor: {executor}}}");
    directory.file("c.yaml", format!("evaluators: [{entry}]\n"));
    let args = [&["t.json", "-c", "c.yaml", "--repeat", "4", "-o", "json", "-v"], options].concat();
    let ran = directory.run(&args);
    let report = ran.json();
    let repeats = metric(&report)["repeats"].as_array().unwrap().clone();
    let scores: BTreeSet<String> = repeats.iter().map(|it| it["score"].to_string()).collect();
    assert_eq!((repeats.len(), scores.len()), (4, 4), "{report}");
    assert!(repeats.iter().all(|it| it["details"]["forked"] == true), "{report} {}", ran.stderr);
    assert!(
        report["warnings"][0].as_str().unwrap().starts_with("chance asks no model"),
        "{report}"
    );
}

#[test]
fn repeats_of_forked_interpreters_have_random_numbers_of_their_own() {
    assert_forks_differ("local", &[]);
}

#[test]
#[cfg(target_os = "linux")]
fn repeats_of_contained_forks_have_random_numbers_of_their_own() {
    if crate::containment::is_available() {
        assert_forks_differ("sandbox", &["--contain"]);
    }
}

#[test]
fn each_repeat_is_retried_by_itself() {
    let directory = unsteady(1);
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; [ $(wc -l <calls) = 2 ] && kill -9 $$; echo '{"score": 0.8}'"#);
    let repeat = ["--repeat", "3", "-o", "json"];
    let report = run(&directory, &[&repeat[..], &["--retries", "1"]].concat()).exits(0).json();
    let repeats = metric(&report)["repeats"].as_array().unwrap();
    let again = repeats.iter().filter(|it| it["attempts"] == 2).count();
    assert_eq!((repeats.len(), again, calls(&directory)), (3, 1, 4), "{report}");
    assert!(repeats.iter().all(|it| it["outcome"] == "passed"), "{report}");
    // A repeat that is not tried again is an error, and so is the evaluation.
    directory.file("calls", "");
    let report = run(&directory, &repeat).exits(3).json();
    let repeats = metric(&report)["repeats"].as_array().unwrap();
    let broken = repeats.iter().filter(|it| it["error_type"] == "signalled").count();
    assert_eq!((broken, calls(&directory)), (1, 3), "{report}");
}

#[test]
fn what_computes_the_same_is_computed_once() {
    let directory = Directory::new();
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
    let args = [&*trace, "-e", &goldens, "-o", "json", "--no-config", "--repeat", "5"];
    let report = directory.run(&args).exits(0).json();
    assert_eq!(metric(&report).get("repeats"), None);
}

#[test]
fn an_entry_has_repeats_of_its_own_and_the_option_replaces_them() {
    let directory = unsteady(1);
    directory.file("c.yaml", "repeat: 2\nevaluators:\n- {type: code, path: ./moody, name: a, repeat: 4}\n- {type: code, path: ./moody, name: b}\n");
    let counts = |ran: &Ran| {
        let report = ran.json();
        let metrics = report["traces"][0]["metrics"].as_array().unwrap().clone();
        let repeats = |it: &Value| it["repeats"].as_array().map_or(1, Vec::len);
        metrics.iter().map(repeats).collect::<Vec<_>>()
    };
    assert_eq!(counts(&run(&directory, &["-o", "json"])), [4, 2]);
    assert_eq!(counts(&run(&directory, &["-o", "json", "--repeat", "3"])), [3, 3]);
    assert_eq!(counts(&run(&directory, &["-o", "json", "--repeat", "1"])), [1, 1]);
    run(&directory, &["--repeat", "0"]).exits(2).says("from 1 to 100");
    directory.file("c.yaml", "repeat: 101\nevaluators:\n- {type: code, path: ./moody, name: a}\n");
    run(&directory, &[]).exits(2).says("c.yaml:1:9");
}

#[test]
fn a_resumed_run_takes_its_repeats_one_by_one() {
    let directory = unsteady(2);
    let saved = ["--save-run", "r.evalrun", "-o", "json"];
    let resumed = [&saved[..], &["--resume"]].concat();
    run(&directory, &saved).exits(0);
    assert_eq!(calls(&directory), 2);
    // The first repeat is what a run without repeats evaluates.
    run(&directory, &[&resumed[..], &["--repeat", "3"]].concat()).says("2 of 6");
    assert_eq!(calls(&directory), 6);
    let again = run(&directory, &[&resumed[..], &["--repeat", "3"]].concat()).says("6 of 6");
    assert_eq!(calls(&directory), 6);
    let report = directory.evaluator(&["report", "r.evalrun", "-o", "json"]);
    assert_eq!(comparable(&report), comparable(&again));
    let header: Value =
        serde_json::from_str(directory.read("r.evalrun").lines().next().unwrap()).unwrap();
    assert_eq!(
        (&header["settings"]["repeat"], &header["evaluators"][0]["repeat"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn a_run_that_was_killed_has_the_repeats_that_were_finished() {
    let directory = unsteady(1);
    run(&directory, &["--save-run", "r.evalrun", "--repeat", "3"]);
    let text = directory.read("r.evalrun");
    // Without the conversation, its last repeat and the end.
    let kept: Vec<&str> = text.lines().take(3).collect();
    directory.file("r.evalrun", kept.join("\n") + "\n");
    let report = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(3).json();
    let outcomes = metric(&report)["repeats"].as_array().unwrap().iter().map(|it| &it["outcome"]);
    assert_eq!(outcomes.collect::<Vec<_>>(), ["passed", "passed", "not_run"]);
    assert_eq!(metric(&report)["outcome"], "not_run");
}

#[test]
fn fail_fast_stops_at_evaluations_that_fail_and_not_at_repeats() {
    let directory = unsteady(3);
    run(&directory, &["--repeat", "3", "--fail-fast"]).exits(0);
    assert_eq!(calls(&directory), 9);
    fs::remove_file(directory.join("calls")).unwrap();
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; echo '{"score": 0.2}'"#);
    run(&directory, &["--repeat", "3", "--fail-fast"]).exits(1);
    // The next one may be running by then.
    assert!((3..=4).contains(&calls(&directory)), "{}", calls(&directory));
    // An error of one repeat is an error of the evaluation.
    fs::remove_file(directory.join("calls")).unwrap();
    directory.script("moody", "echo x >>calls; exit 3");
    run(&directory, &["--repeat", "3", "--fail-fast"]).exits(3);
    assert_eq!(calls(&directory), 1);
}

#[test]
fn the_repeats_of_a_base_are_said_and_not_refused() {
    let directory = unsteady(2);
    run(&directory, &["--save-run", "a.evalrun"]);
    run(&directory, &["--save-run", "b.evalrun", "--repeat", "3"]);
    let compared = directory.evaluator(&["compare", "a.evalrun", "b.evalrun"]).exits(0);
    let text = format!("{}{}", compared.stdout, compared.stderr);
    assert!(text.contains("`repeat`: 1 -> 3"), "{text}");
}

#[test]
fn a_case_that_is_lost_is_flaky_if_its_repeats_disagree() {
    let directory = unsteady(1);
    directory.script("moody", r#"cat >/dev/null; echo '{"score": 0.8}'"#);
    run(&directory, &["--save-run", "a.evalrun", "--repeat", "3"]).exits(0);
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; [ $(wc -l <calls) = 1 ] && echo '{"score": 0.8}' || echo '{"score": 0.2}'"#);
    run(&directory, &["--save-run", "b.evalrun", "--repeat", "3"]).exits(1);
    let options = ["--allow-changed", "all", "--no-regressions", "-o", "json"];
    let args = [&["compare", "a.evalrun", "b.evalrun"][..], &options].concat();
    let compared = directory.evaluator(&args).exits(4).json();
    assert_eq!(compared["evaluators"][0]["changes"][0]["change"], "flaky", "{compared}");
}

#[test]
fn every_form_for_people_says_how_many_repeats_passed() {
    let directory = unsteady(2);
    run(&directory, &["--repeat", "3", "--save-run", "r.evalrun"]).exits(0);
    let report =
        |form: &str| directory.evaluator(&["report", "r.evalrun", "-o", form]).exits(0).stdout;
    assert!(report("table").contains("PASSED (2 of 3)"), "{}", report("table"));
    assert!(report("summary").contains("0.6000 (PASSED, 2 of 3)"), "{}", report("summary"));
    assert!(report("markdown").contains("0.6000 (2 of 3)"), "{}", report("markdown"));
    let noise = "moody: repeats disagree in 2 of 2 conversations (100 %); of the variance, 0 % is between conversations, 100 % the \
                 evaluator: more cases help, more repeats do, too";
    for form in ["overview", "markdown"] {
        assert!(report(form).contains(noise), "{}", report(form));
    }
    // One of two is no majority, whatever the mean is.
    run(&directory, &["--repeat", "2", "--save-run", "r.evalrun"]).exits(1);
    for form in ["overview", "markdown", "github", "junit"] {
        let shown = directory.evaluator(&["report", "r.evalrun", "-o", form]).exits(1).stdout;
        let failed = "1 of 2 repeats passed, with a mean score of 0.5";
        assert!(shown.contains(failed), "{form}: {shown}");
    }
    // A repeat that broke is counted, too.
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; [ $(($(wc -l <calls) % 2)) = 0 ] || echo '{"score": 1}'"#);
    directory.file("calls", "");
    run(&directory, &["--repeat", "2", "--save-run", "r.evalrun"]).exits(3);
    let broken = directory.evaluator(&["report", "r.evalrun", "-o", "table"]).exits(3).stdout;
    assert!(broken.contains("ERROR (1 of 2)"), "{broken}");
}

#[test]
fn a_gate_counts_the_share_of_repeats_that_pass() {
    let directory = unsteady(2);
    let gate = ["--repeat", "3", "--gate", "moody: pass_rate >= 0.1", "-o", "json"];
    let report = run(&directory, &gate).json();
    assert_eq!(report["gates"][0]["value"], 0.666667, "{report}");
    assert_eq!(report["evaluators"][0]["passed"], 2);
}

#[test]
fn a_program_with_models_has_replies_of_its_own_in_each_repeat() {
    let directory = judged(&[]);
    directory.file("replies.jsonl", "\"one\"\n\"two\"\n\"three\"\n");
    directory.file("t.json", recording(1));
    directory.file("ask.py", ASK);
    directory.file(
        "c.yaml",
        "judge: {model: 'fake:replies.jsonl', cassette: c.jsonl}\nrepeat: 3\n\
         evaluators:\n- {name: ask, type: code, path: ask.py, target: {}}\n",
    );
    let ran = directory.run(&["t.json", "-c", "c.yaml", "--jobs", "1", "-o", "json"]).exits(0);
    let said = |ran: &Ran| {
        let report = ran.json();
        let repeats = metric(&report)["repeats"].as_array().unwrap().clone();
        repeats.iter().map(|it| it["details"]["said"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(said(&ran), ["one", "two", "three"]);
    // It asks a model, so it may differ.
    assert_eq!(ran.json().get("warnings"), None);
    fs::remove_file(directory.join("replies.jsonl")).unwrap();
    let replay = ["t.json", "-c", "c.yaml", "--judge-mode", "replay", "-o", "json"];
    assert_eq!(said(&directory.run(&replay).exits(0)), ["one", "two", "three"]);
}

/// Asks its model, and says what it answered.
const ASK: &str = r#"
import json, os, sys, urllib.request
json.load(sys.stdin)
request = urllib.request.Request(
    os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke",
    json.dumps({"question": "how?"}).encode(),
    {"Authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"], "Content-Type": "application/json"},
)
said = json.load(urllib.request.urlopen(request))["rawText"]
print(json.dumps({"score": 1.0, "details": {"said": said}}))
"#;

#[test]
fn the_tests_of_an_eval_file_are_repeated() {
    let directory = Directory::new();
    directory.script("moody", r#"cat >/dev/null; echo x >>calls; [ $(($(wc -l <calls) % 3)) = 0 ] && echo '{"score": 0.2}' || echo '{"score": 1}'"#);
    directory.file(
        "s.eval.yaml",
        "tests:\n- id: a\n  input: hello\n  criteria: polite\n  assertions:\n  - {name: moody, type: code-grader, command: [./moody]}\n",
    );
    fs::create_dir(directory.join("out")).unwrap();
    directory.file("out/a.txt", "hello");
    let args = ["s.eval.yaml", "--outputs", "out", "--repeat", "3", "--jobs", "1", "-o", "json"];
    let report = directory.run(&args).exits(0).json();
    let repeats = report["results"][0]["repeats"].as_array().unwrap();
    let statuses: Vec<&Value> = repeats.iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["passed", "passed", "failed"]);
    assert_eq!(repeats[2]["evaluators"][0]["score"], 0.2);
    assert_eq!(calls(&directory), 3);
}

#[test]
fn a_gate_that_needs_several_recordings_is_refused_before_anything_is_evaluated() {
    let directory = unsteady(4);
    let says =
        "pass^3 needs three recordings of a case; --repeat repeats the evaluation, not the agent";
    let gate = ["--repeat", "3", "--gate", "moody: pass^3 >= 0.5"];
    run(&directory, &gate).exits(2).says(&format!(
        "the gate `moody: pass^3 >= 0.5` cannot be decided: {says}; without golden"
    ));
    assert_eq!(calls(&directory), 0);
    // A saved run stays as it is, and cannot be decided either.
    run(&directory, &["--save-run", "r.evalrun"]);
    let saved = directory.read("r.evalrun");
    run(&directory, &[&gate[..], &["--save-run", "r.evalrun"]].concat()).exits(2).says(says);
    assert_eq!(directory.read("r.evalrun"), saved);
    let args = ["report", "r.evalrun", "--gate", "moody: pass^3 >= 0.5", "--inconclusive", "pass"];
    directory.evaluator(&args).exits(2).says(says);
    // Two of the three that have a golden case are recordings of the same one.
    let case = |id: &str, said: &str| json!({"eval_id": id, "conversation": [{"user_content": {"parts": [{"text": said}]}}]});
    let cases = [case("a", "<0>"), case("b", "<1>")];
    directory.file("set.json", json!({"eval_set_id": "s", "eval_cases": cases}).to_string());
    let again = recording(2).replace(r#""traceId":"t"#, r#""traceId":"u"#);
    directory.file("t.json", recording(2) + &again);
    let gate = |k: u32| format!("moody: pass^{k} >= 0.01");
    let with = |k: u32| run(&directory, &["-e", "set.json", "--gate", &gate(k)]);
    with(2).exits(4);
    let evaluated = calls(&directory);
    with(3).exits(2).says(says);
    assert_eq!(calls(&directory), evaluated);
}
