//! Certificates: evaluators held against labels, and pass rates corrected for their errors.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{Directory, Ran, kept_source};

/// Number of conversations. Those with an even number are good.
const CONVERSATIONS: usize = 60;

/// Conversations about which evaluators of these tests are wrong: two good ones, and three bad ones.
const WRONG: [usize; 5] = [10, 20, 11, 21, 31];

fn is_good(number: usize) -> bool {
    number.is_multiple_of(2)
}

fn passes(number: usize) -> bool {
    number >= CONVERSATIONS || is_good(number) != WRONG.contains(&number)
}

/// A recording of conversations of one turn, whose answers are what an evaluator says about them.
fn recording(conversations: usize) -> String {
    let line = |number: usize| {
        let attribute = |key: &str, value: &Value| json!({"key": key, "value": {"stringValue": value.to_string()}});
        let message = |role: &str, text: String| json!([{"role": role, "parts": [{"type": "text", "content": text}]}]);
        let answer = if passes(number) { "fine" } else { "poor" };
        let span = json!({
            "traceId": format!("t{number:02}"), "spanId": "s",
            "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                attribute("gen_ai.input.messages", &message("user", format!("<{number}>"))),
                attribute("gen_ai.output.messages", &message("assistant", format!("{answer} <{number}>"))),
            ],
        });
        format!("{span}\n")
    };
    (0..conversations).map(line).collect()
}

/// Labels of the first conversations, with what precedes and follows each.
fn labels(count: usize) -> String {
    let line =
        |number: usize| format!("t{number:02},{}\n", if is_good(number) { "good" } else { "bad" });
    let lines: String = (0..count).map(line).collect();
    format!("trace_id,label\n{lines}")
}

const PYTHON: &str = "import json, sys\n\
    from rules import WORD\n\
    text = sys.stdin.read()\n\
    print(json.dumps({'score': 1.0 if WORD in text else 0.0}))\n";

const ENTRY: &str = "{name: check, type: code, path: check.py";

/// A directory with a Python evaluator of two files.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(CONVERSATIONS));
    directory.file("labels.csv", labels(CONVERSATIONS));
    directory.file("check.py", PYTHON);
    directory.file("rules.py", "WORD = 'fine'\n");
    configure(&directory, &format!("{ENTRY}}}"));
    directory
}

fn configure(directory: &Directory, entry: &str) {
    directory.file("c.yaml", format!("evaluators:\n  - {entry}\n"));
}

fn run(directory: &Directory, more: &[&str]) -> Ran {
    directory.run(&[&["t.json", "-c", "c.yaml"], more].concat())
}

fn certify(directory: &Directory, more: &[&str]) -> Ran {
    let args = ["agree", "labels.csv", "r.evalrun", "--certify", "check.json", "-o", "json"];
    directory.evaluator(&[&args[..], more].concat())
}

/// Certifies the evaluator of a directory by all labels, and writes an entry with the certificate and this gate.
fn certified(directory: &Directory, gate: &str) {
    run(directory, &["--save-run", "r.evalrun", "-o", "summary"]).exits(1);
    certify(directory, &[]).exits(0);
    configure(directory, &format!("{ENTRY}, certificate: check.json, gate: {gate}}}"));
}

const GATE: &str = "{pass_rate: 0.2, certified: true}";

#[test]
fn a_certified_evaluator_has_a_corrected_rate_in_every_report() {
    let directory = directory();
    certified(&directory, GATE);
    let certificate: Value = serde_json::from_str(&directory.read("check.json")).unwrap();
    let labels = &certificate["labels"];
    let counts = ["good", "good_passed", "bad", "bad_failed"].map(|it| labels[it].clone());
    assert_eq!(counts, [30, 28, 30, 27].map(Value::from));
    assert_eq!((&certificate["evaluator"], &labels["split"]), (&json!("check"), &Value::Null));
    // The order of the labels does not count.
    let bytes = directory.read("check.json");
    let labels = self::labels(CONVERSATIONS);
    let (header, lines) = labels.split_once('\n').unwrap();
    let reversed: Vec<&str> = lines.lines().rev().collect();
    directory.file("labels.csv", format!("{header}\n{}", reversed.join("\n")));
    certify(&directory, &[]).exits(0);
    assert_eq!(directory.read("check.json"), bytes);

    let ran = run(&directory, &["-o", "json", "--save-run", "r.evalrun"]).exits(0);
    let says = "gate check: pass_rate >= 0.2: PASS, 0.500 (0.285 to 0.706 with 95 % confidence) of 60 cases, corrected from 0.516";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    let report = ran.json();
    let evaluator = &report["evaluators"][0];
    // (31/60 + 0.9 - 1) / (28/30 + 0.9 - 1)
    assert_eq!(evaluator["corrected_pass_rate"]["value"], 0.5);
    assert_eq!(evaluator["pass_rate"]["value"], 0.516_667);
    let gate = &report["gates"][0];
    assert_eq!((&gate["value"], &gate["raw"]["value"]), (&json!(0.5), &json!(0.516_667)));
    assert_eq!((&gate["certified"], &gate["verdict"]), (&json!(true), &json!("pass")));
    // A saved run decides as the run did, without the certificate.
    directory.file("check.json", "");
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(0);
    assert_eq!(saved.json()["gates"], report["gates"]);
    assert_eq!(saved.json()["evaluators"], report["evaluators"]);
    let line = "check: 51.7 % passed; corrected for its errors 50.0 % (0.285 to 0.706 with 95 % confidence)";
    for (form, says) in [
        ("overview", line.to_owned()),
        ("markdown", line.to_owned()),
        ("junit", format!("<property name=\"corrected_pass_rate\" value=\"{line}\"/>")),
        ("openmetrics", "evaluator_corrected_pass_rate{evaluator=\"check\"} 0.5".to_owned()),
    ] {
        let ran = directory.evaluator(&["report", "r.evalrun", "-o", form]).exits(0);
        assert!(ran.stdout.contains(&says), "{form}: {}", ran.stdout);
    }
    // The limit of the command line keeps the condition of the entry.
    let gate = ["report", "r.evalrun", "-o", "json", "--gate", "check: pass_rate >= 0.45"];
    let other = directory.evaluator(&gate).exits(4);
    assert_eq!(other.json()["gates"][0]["certified"], true);
}

#[test]
fn an_evaluator_that_changed_is_not_certified_any_more() {
    let directory = directory();
    certified(&directory, GATE);
    let entry = |more: &str, gate: &str| {
        configure(&directory, &format!("{ENTRY}, certificate: check.json, {more}gate: {gate}}}"));
    };
    let undecided = |says: &str| {
        let ran = run(&directory, &["-o", "json", "--inconclusive", "pass"]).exits(4);
        let report = ran.json();
        let reason = format!("changed since it was certified: {says}");
        assert_eq!(report["gates"][0]["undecided"], reason.as_str());
        let warning = format!("`check` has no certificate that holds: {reason}");
        assert_eq!(report["warnings"], json!([warning]));
        let evaluator = &report["evaluators"][0];
        assert_eq!(evaluator["uncorrected"], reason.as_str());
        assert_eq!(evaluator["corrected_pass_rate"], Value::Null);
    };
    entry("threshold: 0.75, ", GATE);
    undecided("threshold");
    entry("config: {strict: true}, ", GATE);
    undecided("setting `config.strict`");
    entry("", GATE);
    directory.file("rules.py", "WORD = 'fine' \n");
    undecided("file `rules.py`");
    directory.file("rules.py", "WORD = 'fine'\n");
    // Without the condition it is a warning, and another measure than the pass rate has the same condition.
    entry("threshold: 0.75, ", "{pass_rate: 0.25}");
    let ran = run(&directory, &["-o", "overview"]).exits(0);
    let says = "not corrected for its errors: changed since it was certified: threshold";
    assert!(ran.stdout.contains(says), "{}", ran.stdout);
    entry("threshold: 0.75, ", "{mean: 0.3, certified: true}");
    run(&directory, &[]).exits(4);
    entry("", "{mean: 0.3, certified: true}");
    run(&directory, &[]).exits(0);
    // Nor is one certified that was never.
    configure(&directory, &format!("{ENTRY}, gate: {GATE}}}"));
    run(&directory, &["-o", "summary"]).exits(4).says(
        "INCONCLUSIVE: 1 gate undecided (check: the evaluator has no certificate (`certificate: FILE` in its entry))",
    );
    entry("", GATE);
    run(&directory, &["--until-decided"])
        .exits(2)
        .says("decides gates of `mean` and `pass_rate` without `certified` case by case");
}

#[test]
fn an_evaluator_in_rust_is_certified_with_its_source() {
    let source = |word: &str| {
        let text = format!(
            "use evaluator_sdk::{{EvalInput, evaluator}};\n\n#[evaluator]\nfn check(input: &EvalInput) -> bool {{\n    \
             input.invocations.iter().all(|turn| turn.final_response.as_deref().is_some_and(|it| it.contains({word:?})))\n}}\n\n\
             fn main() -> std::process::ExitCode {{\n    check::run()\n}}\n"
        );
        kept_source("certified_word", &text)
    };
    let directory = directory();
    let entry = format!("{{name: check, type: code, path: {}", source("fine").display());
    configure(&directory, &format!("{entry}}}"));
    run(&directory, &["--save-run", "r.evalrun", "-o", "summary"]).exits(1);
    certify(&directory, &[]).exits(0);
    configure(&directory, &format!("{entry}, certificate: check.json, gate: {GATE}}}"));
    let certified = run(&directory, &["-o", "json"]).exits(0).json();
    assert_eq!(certified["evaluators"][0]["corrected_pass_rate"]["value"], 0.5);
    // Another word that finds the same answers: the scores are the same, the evaluator is not.
    source("fine ");
    let changed = run(&directory, &["-o", "json", "--inconclusive", "pass"]).exits(4).json();
    assert_eq!(changed["evaluators"][0]["pass_rate"], certified["evaluators"][0]["pass_rate"]);
    let undecided = changed["gates"][0]["undecided"].as_str().unwrap();
    assert_eq!(undecided, "changed since it was certified: file `certified_word.rs`");
    source("fine");
    run(&directory, &["-o", "summary"]).exits(0);
}

#[test]
fn a_certificate_that_cannot_be_used_ends_the_run_before_anything_is_evaluated() {
    let directory = directory();
    certified(&directory, GATE);
    let good = directory.read("check.json");
    let refused = |text: &str, says: &str| {
        directory.file("check.json", text);
        let ran = run(&directory, &[]).exits(2);
        assert!(ran.stderr.contains("c.yaml:2:"), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        directory.evaluator(&["check", "c.yaml"]).exits(2);
    };
    let edited = good.replace("\"good_passed\": 28", "\"good_passed\": 30");
    assert_ne!(edited, good);
    refused(&edited, "check.json was edited by hand or is damaged");
    refused("", "check.json is not a certificate of `evaluator agree --certify`");
    refused(&good.replace("\"version\": 1", "\"version\": 2"), "its version is 2, and 1 is known");
    directory.file("check.json", &good);
    let other = ENTRY.replace("name: check", "name: other");
    configure(&directory, &format!("{other}, certificate: check.json}}"));
    let ran = run(&directory, &[]).exits(2);
    assert!(ran.stderr.contains("is a certificate of `check`, not of `other`"), "{}", ran.stderr);
    std::fs::create_dir(directory.join("folder")).unwrap();
    configure(&directory, &format!("{ENTRY}, certificate: folder}}"));
    let ran = run(&directory, &[]).exits(2);
    assert!(ran.stderr.contains("folder is not a file"), "{}", ran.stderr);
    configure(&directory, &format!("{ENTRY}, certificate: gone.json}}"));
    let ran = run(&directory, &[]).exits(2);
    assert!(
        ran.stderr.contains("`certificate` names") && ran.stderr.contains("gone.json"),
        "{}",
        ran.stderr
    );
}

#[test]
fn labels_that_do_not_suffice_give_no_certificate() {
    let directory = directory();
    run(&directory, &["--save-run", "r.evalrun", "-o", "summary"]).exits(1);
    let refused = |labels: &str, says: &str| {
        directory.file("labels.csv", labels);
        certify(&directory, &[]).exits(2).says(says);
        assert!(!directory.join("check.json").exists());
    };
    refused(
        &labels(38),
        "check: 19 good and 19 bad cases are labelled, and at least 20 of each are needed",
    );
    // Every second label is turned around.
    let chance: String = (0..CONVERSATIONS)
        .map(|number| format!("t{number:02},{}\n", if number % 4 < 2 { "good" } else { "bad" }))
        .collect();
    refused(&format!("trace_id,label\n{chance}"), "which does not show that it tells them apart");
    let with_split = |split: fn(usize) -> &'static str| {
        let all = labels(CONVERSATIONS);
        let mut lines = all.lines().enumerate();
        lines.next();
        let lines = lines.map(|(number, line)| format!("{line},{}\n", split(number)));
        format!("trace_id,label,split\n{}", lines.collect::<String>())
    };
    refused(&with_split(|_| "dev"), "they have parts (`split`), and none is `test`");
    refused(
        &with_split(|number| if number <= 30 { "dev" } else { "test" }),
        "check: 15 good and 15 bad cases are labelled",
    );
    directory.file("labels.csv", with_split(|number| if number <= 10 { "dev" } else { "test" }));
    certify(&directory, &[]).exits(0);
    let certificate: Value = serde_json::from_str(&directory.read("check.json")).unwrap();
    assert_eq!(
        (&certificate["labels"]["split"], &certificate["labels"]["good"]),
        (&json!("test"), &json!(25))
    );
    let says = "a certificate counts those of the part `test`, and --split excludes them; leave --split out";
    certify(&directory, &["--split", "dev"]).exits(2).says(says);
}

#[test]
fn kappa_and_counts_of_a_certificate_are_of_the_same_cases_and_ties_are_said() {
    let directory = directory();
    // Two people, who are divided about the first two conversations.
    let all = labels(CONVERSATIONS);
    let lines = all.lines().skip(1).map(|line| format!("{line},Ana\n"));
    let lines: String =
        lines.chain(["t00,bad,Bo\n".to_owned(), "t01,good,Bo\n".to_owned()]).collect();
    directory.file("labels.csv", format!("trace_id,label,rater\n{lines}"));
    // The evaluator is wrong about one more conversation, which is a further recording of a case.
    let spans: Vec<Value> = recording(CONVERSATIONS)
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let mut span: Value = serde_json::from_str(line).unwrap();
            let case = if number == 40 || number == 10 {
                "same".to_owned()
            } else {
                format!("c{number:02}")
            };
            let attribute = json!({"key": "item", "value": {"stringValue": case}});
            span["attributes"].as_array_mut().unwrap().push(attribute);
            span
        })
        .collect();
    let spans: String = spans.iter().map(|span| format!("{span}\n")).collect();
    directory.file("t.json", spans);
    run(&directory, &["--case-key", "item", "--save-run", "r.evalrun", "-o", "summary"]).exits(1);
    certify(&directory, &[])
        .exits(0)
        .says("the certificate rests on one recording of each case; 1 further recording of them left out")
        .says("the certificate leaves out 2 conversations about which as many people say one as the other");
    let certificate: Value = serde_json::from_str(&directory.read("check.json")).unwrap();
    let counts = &certificate["labels"];
    let [good, good_passed, bad, bad_failed, ties] =
        ["good", "good_passed", "bad", "bad_failed", "ties"]
            .map(|key| counts[key].as_f64().unwrap());
    assert_eq!([good, good_passed, bad, bad_failed, ties], [28.0, 26.0, 29.0, 26.0, 2.0]);
    let all = good + bad;
    let (passed, failed) = (good_passed + bad - bad_failed, bad_failed + good - good_passed);
    let by_chance = (good * passed + bad * failed) / (all * all);
    let kappa = ((good_passed + bad_failed) / all - by_chance) / (1.0 - by_chance);
    assert!((certificate["kappa"].as_f64().unwrap() - kappa).abs() < 1e-8, "{certificate}");
}

#[test]
fn labels_that_were_chosen_by_verdicts_give_no_certificate() {
    let directory = directory();
    // Half of the labelled conversations pass, and most of the run.
    directory.file("t.json", recording(CONVERSATIONS + 140));
    run(&directory, &["--save-run", "r.evalrun", "-o", "summary"]).exits(1);
    certify(&directory, &[]).exits(2).says(
        "check: it passes 31 of 60 labelled conversations and 171 of 200 in the run, so the labels were not chosen at random; \
         `agree --sheet FILE --at-random` draws conversations to label",
    );
    // Nor is a file of labels replaced by a certificate, or a failed one by another.
    let args = ["agree", "labels.csv", "r.evalrun", "--certify", "labels.csv"];
    directory.evaluator(&args).exits(2).says("labels.csv is an input of this command");
    assert_eq!(directory.read("labels.csv"), labels(CONVERSATIONS));
}

#[test]
fn a_baseline_and_a_resumed_run_keep_the_certificate() {
    let directory = directory();
    certified(&directory, GATE);
    let update = ["--baseline", "b.evalrun", "--update-baseline", "--save-run", "s.evalrun"];
    let first = run(&directory, &[&update[..], &["-o", "json"]].concat()).exits(0);
    let resumed = run(&directory, &["--save-run", "s.evalrun", "--resume", "-o", "json"]).exits(0);
    let base = directory.evaluator(&["report", "b.evalrun", "-o", "json"]).exits(0);
    for ran in [resumed, base] {
        assert_eq!(ran.json()["gates"], first.json()["gates"]);
        assert_eq!(ran.json()["evaluators"], first.json()["evaluators"]);
    }
    // Parts with different certificates are not of one run.
    directory.file("labels.csv", labels(50));
    certify(&directory, &[]).exits(0);
    run(&directory, &["--save-run", "o.evalrun", "-o", "summary"]).exits(0);
    directory
        .evaluator(&["report", "s.evalrun", "o.evalrun"])
        .exits(2)
        .says("are not parts of one run");
}

#[test]
fn a_judge_is_certified_with_its_prompt_its_model_and_its_parameters() {
    let directory = directory();
    let replies: Vec<String> = (0..CONVERSATIONS)
        .map(|number| {
            let score = if passes(number) { 1.0 } else { 0.0 };
            json!(json!({"reasoning": "r", "score": score}).to_string()).to_string()
        })
        .collect();
    directory.file("replies.jsonl", replies.join("\n"));
    let judge = |criteria: &str, model: &str, more: &str| {
        configure(
            &directory,
            &format!(
                "{{name: judge, type: llm_judge, criteria: {criteria}, judge: {{model: '{model}', samples: 1, \
                 cassette: c.jsonl{more}}}, gate: {GATE}, certificate: check.json}}"
            ),
        );
    };
    let (fake, kind) = ("fake:replies.jsonl", "It is kind.");
    configure(
        &directory,
        &format!(
            "{{name: judge, type: llm_judge, criteria: {kind}, judge: {{model: '{fake}', samples: 1, cassette: c.jsonl}}}}"
        ),
    );
    let options = ["--jobs", "1", "-o", "json"];
    run(&directory, &[&options[..], &["--save-run", "r.evalrun"]].concat()).exits(1);
    certify(&directory, &[]).exits(0);
    judge(kind, fake, "");
    let replay = [&options[..], &["--judge-mode", "replay"]].concat();
    let ran = run(&directory, &replay).exits(0);
    assert_eq!(ran.json()["evaluators"][0]["corrected_pass_rate"]["value"], 0.5);
    directory.file("other.jsonl", replies.join("\n"));
    for (criteria, model, more, changed) in [
        ("It is polite.", fake, "", "setting `criteria`"),
        (kind, "fake:other.jsonl", "", "setting `judge.models`"),
        (kind, fake, ", params: {temperature: 0.5}", "setting `judge.params.temperature`"),
    ] {
        judge(criteria, model, more);
        let gates = run(&directory, &options).json()["gates"].clone();
        let undecided = gates[0]["undecided"].as_str().unwrap();
        assert!(undecided.starts_with("changed since it was certified: "), "{undecided}");
        assert!(undecided.contains(changed), "{undecided}");
    }
}
