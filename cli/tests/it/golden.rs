//! Golden turns and golden cases without a recording, and recordings that may belong to another case.
#![cfg(unix)]

use crate::support::{Directory, Ran, output_formats, trace};
use serde_json::{Value, json};

/// One call of a model that answers a prompt, in a trace of its own.
fn turn(number: usize, conversation: &str, prompt: Option<&str>, answer: &str) -> Value {
    let attribute = |key: &str, text: String| json!({"key": key, "value": {"stringValue": text}});
    let message = |role: &str, text: &str| json!([{"role": role, "parts": [{"type": "text", "content": text}]}]);
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "chat".to_owned()),
        attribute("gen_ai.request.model", "m".to_owned()),
        attribute("gen_ai.conversation.id", conversation.to_owned()),
        attribute("gen_ai.output.messages", message("assistant", answer).to_string()),
    ];
    if let Some(prompt) = prompt {
        attributes.push(attribute("gen_ai.input.messages", message("user", prompt).to_string()));
    }
    json!({
        "traceId": format!("{number:032x}"), "spanId": format!("{number:016x}"), "name": "chat m", "kind": 3,
        "startTimeUnixNano": (number * 1_000_000_000).to_string(),
        "endTimeUnixNano": (number * 1_000_000_000 + 1_000_000).to_string(),
        "attributes": attributes,
    })
}

/// A recording of conversations, each a list of prompts; the answer to `x` is `re x`.
fn recording(conversations: &[&[&str]]) -> String {
    let mut spans = Vec::new();
    for (conversation, prompts) in conversations.iter().enumerate() {
        for prompt in *prompts {
            let name = format!("conversation-{conversation}");
            spans.push(turn(spans.len() + 1, &name, Some(prompt), &format!("re {prompt}")));
        }
    }
    otlp(&spans)
}

fn otlp(spans: &[Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": spans}]}]})
        .to_string()
}

/// An eval set of cases, each an id and its prompts; the expected answer to `x` is `re x`.
fn eval_set(cases: &[(&str, &[&str])]) -> String {
    let content = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let turn = |prompt: &&str| {
        json!({
            "user_content": content("user", prompt),
            "final_response": content("model", &format!("re {prompt}")),
        })
    };
    let case = |(id, prompts): &(&str, &[&str])| json!({"eval_id": id, "conversation": prompts.iter().map(turn).collect::<Vec<_>>()});
    json!({"eval_set_id": "s", "eval_cases": cases.iter().map(case).collect::<Vec<_>>()})
        .to_string()
}

/// An agent that stopped after the first of three turns, and evaluators that are content with it.
fn stopped_early() -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(&[&["book a table"]]));
    directory.file("set.json", eval_set(&[("booking", &["book a table", "for four", "thanks"])]));
    directory.script("pass", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.script("low", r#"cat >/dev/null; echo '{"score": 0.25}'"#);
    directory.script("unsure", r#"cat >/dev/null; echo '{"score": 0, "status": "NOT_EVALUATED"}'"#);
    directory.script("crash", "exit 9");
    directory
}

fn config(directory: &Directory, entries: &[&str]) {
    let entries: String = entries.iter().map(|entry| format!("  - {{{entry}}}\n")).collect();
    directory.file("c.yaml", format!("eval_set: set.json\nevaluators:\n{entries}"));
}

const REASON: &str = "2 of 3 golden turns are not recorded";

#[test]
fn a_resumed_run_counts_golden_turns_again() {
    let directory = stopped_early();
    directory.script("number", "cat >/dev/null; echo started >>starts; echo 1");
    directory.file("set.json", eval_set(&[("booking", &["book a table"])]));
    config(&directory, &["name: number, type: code, path: ./number, contract: agenta"]);
    let args = ["t.json", "-c", "c.yaml", "-o", "json", "--save-run", "r.evalrun", "--resume"];
    directory.run(&args).exits(0);
    assert_eq!(directory.run(&args).exits(0).evaluations(0), ["number PASSED"]);
    // Documents of this contract contain the golden turn of the last recorded one, and no other.
    directory.file("set.json", eval_set(&[("booking", &["book a table", "for four"])]));
    assert_eq!(directory.run(&args).exits(1).evaluations(0), ["number FAILED"]);
    let starts = std::fs::read_to_string(directory.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2, "the second run evaluates nothing");
}

#[test]
fn golden_turns_that_are_not_recorded_fail_whatever_the_score_is() {
    let directory = stopped_early();
    config(
        &directory,
        &[
            "name: response_match_score, type: builtin",
            "name: tool_trajectory_avg_score, type: builtin",
            "name: tool_trajectory_alignment, type: builtin, threshold: 0.1",
            "name: tool_call_count_v1, type: builtin, max: 3",
            "name: pass, type: code, path: ./pass",
            "name: low, type: code, path: ./low",
            "name: unsure, type: code, path: ./unsure",
        ],
    );
    let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", "json"]).exits(1);
    assert_eq!(
        ran.evaluations(0),
        [
            "response_match_score FAILED",
            "tool_trajectory_avg_score FAILED",
            "tool_trajectory_alignment FAILED",
            "tool_call_count_v1 PASSED",
            "pass FAILED",
            "low FAILED",
            "unsure NOT_EVALUATED",
        ]
    );
    let json = ran.json();
    let metrics = json["traces"][0]["metrics"].as_array().unwrap();
    // The score is what it is.
    assert_eq!((&metrics[0]["score"], &metrics[4]["score"]), (&json!(1.0), &json!(1.0)));
    for (metric, fails) in metrics.iter().zip([true, true, true, false, true, true, false]) {
        let reason = if fails { json!(REASON) } else { Value::Null };
        assert_eq!(metric["failure_reason"], reason, "{metric}");
    }
    config(&directory, &["name: response_match_score, type: builtin"]);
    for form in output_formats() {
        let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", form]).exits(1);
        assert!(ran.stdout.contains(REASON), "{form}: {}", ran.stdout);
        assert!(!ran.stdout.contains("below the threshold"), "{form}: {}", ran.stdout);
        ran.says("FAILED: 0 passed, 1 failed");
    }
}

#[test]
fn an_entry_may_ignore_golden_turns_that_are_not_recorded() {
    let directory = stopped_early();
    config(
        &directory,
        &[
            "name: response_match_score, type: builtin, missing_turns: ignore",
            "name: pass, type: code, path: ./pass, missing_turns: ignore",
        ],
    );
    directory.run(&["t.json", "-c", "c.yaml"]).exits(0);
    let adk = |criterion: &str| {
        directory.file(
            "adk.json",
            format!(
                r#"{{"criteria": {{"response_match_score": {criterion}, "pass": {criterion}}},
                     "custom_metrics": {{"pass": {{"code_config": {{"name": "./pass"}}}}}}}}"#
            ),
        );
        directory.run(&["t.json", "-c", "adk.json", "-e", "set.json"])
    };
    adk("0.5").exits(1).says("FAILED: 0 passed, 2 failed");
    adk(r#"{"threshold": 0.5, "missing_turns": "fail"}"#).exits(1);
    adk(r#"{"threshold": 0.5, "missing_turns": "ignore"}"#).exits(0);
    adk(r#"{"threshold": 0.5, "missingTurns": "ignore"}"#).exits(0);
    for criterion in ["response_match_score", "pass"] {
        directory.file(
            "adk.json",
            format!(
                r#"{{"criteria": {{"{criterion}": {{"threshold": 0.5, "missing_turns": "fail", "missingTurns": "ignore"}}}},
                     "custom_metrics": {{"pass": {{"code_config": {{"name": "./pass"}}}}}}}}"#
            ),
        );
        let twice = "`missingTurns` and `missing_turns` are the same key";
        directory.run(&["t.json", "-c", "adk.json", "-e", "set.json"]).exits(2).says(twice);
    }
    let wrong = adk(r#"{"threshold": 0.5, "missing_turns": "ignored"}"#).exits(2);
    assert!(wrong.stderr.contains("did you mean `ignore`?"), "{}", wrong.stderr);
    config(&directory, &["name: pass, type: code, path: ./pass, mising_turns: ignore"]);
    directory.run(&["t.json", "-c", "c.yaml"]).exits(2).says("did you mean `missing_turns`?");
}

#[test]
fn missing_turns_are_a_failure_for_fail_fast_and_for_a_resumed_run() {
    let directory = stopped_early();
    config(
        &directory,
        &["name: response_match_score, type: builtin", "name: crash, type: code, path: ./crash"],
    );
    let args = ["t.json", "-c", "c.yaml", "-o", "json", "--fail-fast", "--jobs", "1"];
    let ran = directory.run(&args).exits(1);
    assert_eq!(ran.evaluations(0), ["response_match_score FAILED", "crash ERROR not_run"]);
    config(&directory, &["name: pass, type: code, path: ./pass"]);
    for _ in 0..2 {
        let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", "json", "--resume"]).exits(1);
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["failure_reason"], REASON);
    }
}

#[test]
fn a_recording_with_more_turns_than_the_golden_case_is_compared_as_far_as_that_goes() {
    let directory = stopped_early();
    directory.file("t.json", recording(&[&["book a table", "for four", "thanks", "bye"]]));
    config(
        &directory,
        &["name: response_match_score, type: builtin", "name: pass, type: code, path: ./pass"],
    );
    let warning = "it compares 3 of 4 turns; there is no golden turn for the others";
    let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", "json"]).exits(0);
    let json = ran.says("PASSED: 2 passed").says(warning).json();
    assert_eq!(json["traces"][0]["metrics"][0]["warnings"], json!([warning]));
    // What a program does with the golden turns is not known.
    assert!(json["traces"][0]["metrics"][1].get("warnings").is_none(), "{json}");
    directory.file("t.json", recording(&[&["book a table", "for four", "thanks"]]));
    let ran = directory.run(&["t.json", "-c", "c.yaml"]).exits(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

/// Three cases, the first of which is recorded.
fn one_of_three(more: &str) -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(&[&["hello"]]));
    directory.file(
        "set.json",
        eval_set(&[("greeting", &["hello"]), ("parting", &["bye"]), ("thanks", &["ta"])]),
    );
    directory.file(
        "c.yaml",
        format!("eval_set: set.json\n{more}evaluators: [{{name: response_match_score, type: builtin}}]\n"),
    );
    directory
}

fn forms_that_name(directory: &Directory, args: &[&str], code: i32) {
    for form in output_formats() {
        let ran = directory.run(&[args, &["-o", form]].concat()).exits(code);
        for case in ["parting", "thanks"] {
            assert!(ran.stdout.contains(case), "{form}: no {case} in {}", ran.stdout);
        }
        // The case that is recorded is named next to its conversation only.
        let named = usize::from(["json", "junit"].contains(&form));
        assert_eq!(ran.stdout.matches("greeting").count(), named, "{form}: {}", ran.stdout);
        if form == "json" {
            assert_eq!(ran.json()["unrecorded_cases"], json!(["parting", "thanks"]));
        }
        if form == "junit" {
            let (failures, skipped) = if code == 0 { (0, 2) } else { (2, 0) };
            let counts = format!("failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
            assert!(ran.stdout.contains(&counts), "{}", ran.stdout);
        }
        let option =
            "2 golden cases without a recording (--require-all-cases fails a run for them)";
        assert_eq!(ran.stderr.contains(option), code == 0, "{form}: {}", ran.stderr);
        ran.says("golden cases without a recording: \"parting\", \"thanks\"");
    }
}

#[test]
fn failures_name_their_golden_case() {
    let directory = one_of_three("");
    directory.file("set.json", eval_set(&[("greeting", &["hello", "bye"])]));
    let args = ["t.json", "-c", "c.yaml", "--save-run", "r.evalrun", "-o", "json"];
    assert_eq!(directory.run(&args).exits(1).json()["traces"][0]["eval_case_id"], "greeting");
    for (form, text) in [
        ("github", "(golden case \"greeting\")::"),
        ("junit", "<property name=\"eval_case_id\" value=\"greeting\"/>"),
        ("markdown", "(golden case `greeting`)"),
    ] {
        let ran = directory.evaluator(&["report", "r.evalrun", "-o", form]).exits(1);
        assert_eq!(ran.stdout.matches(text).count(), 1, "{form}: {}", ran.stdout);
        let ran = directory.run(&["t.json", "-m", "tool_call_count_v1", "-o", form]).exits(1);
        for text in ["golden case", "eval_case_id"] {
            assert!(!ran.stdout.contains(text), "{form}: {}", ran.stdout);
        }
    }
}

#[test]
fn golden_cases_without_a_recording_are_listed_in_every_form() {
    let directory = one_of_three("");
    forms_that_name(&directory, &["t.json", "-c", "c.yaml"], 0);
    let report = directory.path().join("report.txt");
    directory.run(&["t.json", "-c", "c.yaml", "--output-file", "report.txt"]).exits(0);
    let text = std::fs::read_to_string(report).unwrap();
    assert!(text.contains("  - \"parting\"\n"), "{text}");
}

#[test]
fn golden_cases_without_a_recording_fail_where_all_are_required() {
    for flag in ["--require-evaluated", "--require-all-cases"] {
        forms_that_name(&one_of_three(""), &["t.json", "-c", "c.yaml", flag], 1);
    }
    for key in ["require_evaluated", "require_all_cases"] {
        let directory = one_of_three(&format!("{key}: true\n"));
        forms_that_name(&directory, &["t.json", "-c", "c.yaml"], 1);
        directory
            .run(&["t.json", "-c", "c.yaml"])
            .exits(1)
            .says("FAILED: 1 passed, 0 failed")
            .says("; 2 golden cases without a recording, and each must have one");
        directory.file("t.json", recording(&[&["hello"], &["Bye "], &["ta"]]));
        let ran = directory.run(&["t.json", "-c", "c.yaml", "-o", "json"]);
        // The prompts are equal but for case and blanks, the answers are not.
        assert!(ran.json().get("unrecorded_cases").is_none(), "{}", ran.stdout);
        ran.exits(0).says("PASSED: 3 passed");
    }
}

#[test]
fn no_case_is_called_unrecorded_where_the_run_did_not_come_to_its_end() {
    let directory = one_of_three("fail_fast: true\n");
    directory.file("broken.json", "{");
    let ran = directory.run(&["broken.json", "t.json", "-c", "c.yaml", "-o", "json"]).exits(3);
    assert_eq!(ran.json()["partial"], true);
    assert!(ran.json().get("unrecorded_cases").is_none(), "{}", ran.stdout);
}

#[test]
fn many_cases_without_a_recording_are_counted() {
    let directory = Directory::new();
    directory.file("t.json", recording(&[&["hello"]]));
    let names: Vec<String> = (0..500).map(|number| format!("case{number}")).collect();
    let cases: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &["other"][..])).collect();
    directory.file("set.json", eval_set(&[&[("greeting", &["hello"][..])], &cases[..]].concat()));
    let args = ["t.json", "-e", "set.json", "-m", "response_match_score"];
    let ran = directory.run(&args).exits(0);
    assert!(ran.stdout.contains("and 480 more") && ran.stdout.len() < 5000, "{}", ran.stdout);
    assert!(ran.stderr.len() < 2000, "{}", ran.stderr);
    let ran = directory.run(&[&args[..], &["-o", "json"]].concat()).exits(0);
    assert_eq!(ran.json()["unrecorded_cases"].as_array().unwrap().len(), 500);
}

fn lone_pair(prompt: Option<&str>, case: &str) -> Directory {
    let directory = Directory::new();
    directory.file("t.json", otlp(&[turn(1, "c", prompt, "re x")]));
    directory.file("set.json", eval_set(&[("weather", &[case])]));
    directory
}

fn lone(directory: &Directory, more: &[&str]) -> Ran {
    let args = ["t.json", "-e", "set.json", "-m", "tool_trajectory_avg_score"];
    directory.run(&[&args, more].concat())
}

#[test]
fn a_lone_recording_that_may_belong_to_another_case_has_a_warning() {
    for (prompt, case, doubt) in [
        (
            Some("Delete my account"),
            "Is it raining?",
            "their prompts differ: \"Delete my account\" is recorded, and \"Is it raining?\" is expected",
        ),
        (None, "Is it raining?", "the recording has no prompt to compare"),
        (Some("Delete my account"), "", "the golden case has no prompt to compare"),
    ] {
        let directory = lone_pair(prompt, case);
        let warning = format!(
            "is compared with golden case 'weather' only because there is no other: {doubt}"
        );
        for form in output_formats() {
            // It is compared all the same.
            let ran =
                lone(&directory, &["-o", form]).exits(0).says("PASSED: 1 passed").says(&warning);
            let shown =
                ran.stdout.replace("&quot;", "\"").replace("&apos;", "'").replace("\\\"", "\"");
            assert!(shown.contains(&warning), "{form}: {}", ran.stdout);
        }
        let json = lone(&directory, &["-o", "json"]).json();
        assert_eq!(json["warnings"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn strict_matching_does_not_compare_it() {
    for (prompt, reason) in
        [(Some("Delete it"), "no matching eval case"), (None, "no user input to match")]
    {
        let directory = lone_pair(prompt, "Is it raining?");
        let ran = lone(&directory, &["--strict-matching", "-o", "json"]).exits(1);
        assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score NOT_EVALUATED"]);
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["details"]["reason"], reason);
        assert_eq!(ran.json()["unrecorded_cases"], json!(["weather"]));
        assert!(ran.json().get("warnings").is_none(), "{}", ran.stdout);
        directory.file(
            "c.yaml",
            "strict_matching: true\nevaluators: [{name: tool_trajectory_avg_score, type: builtin}]\n",
        );
        directory.run(&["t.json", "-c", "c.yaml", "-e", "set.json"]).exits(1).says(reason);
    }
}

#[test]
fn equal_prompts_are_no_reason_to_doubt() {
    let directory = lone_pair(Some(" is it\tRAINING? "), "Is it raining?");
    for strict in [&[][..], &["--strict-matching"]] {
        let ran = lone(&directory, &[&["-o", "json"], strict].concat()).exits(0);
        assert!(ran.json().get("warnings").is_none(), "{}", ran.stdout);
        assert!(!ran.stderr.contains("golden case"), "{}", ran.stderr);
    }
}

#[test]
fn golden_cases_that_have_to_be_recorded_have_to_be_given() {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    let entry = "evaluators: [{name: good, type: code, path: good}]";
    directory.file("flag.yaml", entry);
    directory.file("key.yaml", format!("require_all_cases: true\n{entry}"));
    let trace = trace("a01_otlp_basic_parts");
    for args in [&["flag.yaml", "--require-all-cases"][..], &["key.yaml"]] {
        directory
            .run(&[&[&*trace, "-c"], args].concat())
            .exits(2)
            .says("every golden case must have a recording (`require_all_cases`), but there is no eval set");
    }
}
