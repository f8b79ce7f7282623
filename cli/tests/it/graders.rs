//! Graders of OpenAI's API and metrics of text similarity, from the configuration to the report.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use serde_json::{Value, json};

use crate::support::{Directory, Ran, eval_set, trace};

const TRACE: &str = "a01_otlp_basic_parts";

/// An eval set whose case is the conversation of [`TRACE`], with these expected answers; an empty one is left out.
fn golden(answers: &[&str]) -> String {
    let turn = |(index, answer): (usize, &&str)| {
        let text = |text: &str| json!({"parts": [{"text": text}]});
        let user = if index == 0 { "What is the weather in Paris?" } else { "And tomorrow?" };
        let mut turn = json!({"invocation_id": format!("g{index}"), "user_content": text(user)});
        if !answer.is_empty() {
            turn["final_response"] = text(answer);
        }
        turn
    };
    let turns: Vec<Value> = answers.iter().enumerate().map(turn).collect();
    json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": turns}]}).to_string()
}

/// Runs an entry for each of these settings over a trace.
fn run_on(trace: &str, entries: &[&str], golden: Option<&str>) -> Ran {
    let directory = Directory::new();
    let entries = entries.iter().enumerate().map(|(index, entry)| {
        let kind = if entry.contains("grader:") { "openai_eval" } else { "builtin" };
        let name = if kind == "builtin" { String::new() } else { format!("name: g{index}, ") };
        format!("  - {{{name}type: {kind}, {entry}}}\n")
    });
    directory.file("c.yaml", format!("evaluators:\n{}", entries.collect::<String>()));
    directory.file("golden.json", golden.unwrap_or_default());
    let mut args = vec![trace, "-c", "c.yaml", "-o", "json"];
    if golden.is_some() {
        args.extend(["-e", "golden.json"]);
    }
    directory.run(&args)
}

fn run(entries: &[&str], golden: Option<&str>) -> Ran {
    run_on(&trace(TRACE), entries, golden)
}

/// Returns the score and the outcome of each evaluation.
fn outcomes(ran: &Ran) -> Vec<Value> {
    let json = ran.json();
    let metrics = json["traces"][0]["metrics"].as_array().unwrap();
    metrics.iter().map(|metric| json!([metric["score"], metric["outcome"]])).collect()
}

fn reason(ran: &Ran) -> String {
    ran.json()["traces"][0]["metrics"][0]["details"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn graders_without_a_model_score_and_decide() {
    let library = fs::read_to_string(eval_set("library")).unwrap();
    let ran = run(
        &[
            "grader: {type: string_check, operation: like, reference: sunny}",
            "grader: {type: string_check, operation: eq}",
            "threshold: 0.92, grader: {type: text_similarity, evaluation_metric: fuzzy_match}",
            "grader: {type: text_similarity, evaluation_metric: fuzzy_match, pass_threshold: 0.93}",
            "grader: {type: text_similarity, evaluation_metric: rouge_1, reference: '{{ sample.output_text }}'}",
            "threshold: 0.75, grader: {type: multi, calculate_output: '0.25 * has + 0.5', graders: {has: {type: \
             string_check, operation: ilike, reference: PARIS}}}",
            "grader: {type: string_check, operation: eq, input: '{{ item.tool_calls[0].name }}', reference: get_weather}",
        ],
        Some(&library),
    )
    .exits(1);
    let fuzzy = 0.923_076_923_076_923_1;
    assert_eq!(
        outcomes(&ran),
        [
            json!([1.0, "passed"]),
            json!([0.0, "failed"]),
            json!([fuzzy, "passed"]),
            json!([fuzzy, "failed"]),
            json!([1.0, "passed"]),
            json!([0.75, "passed"]),
            json!([1.0, "passed"]),
        ]
    );
}

#[test]
fn the_built_in_metric_and_the_grader_agree() {
    let library = fs::read_to_string(eval_set("library")).unwrap();
    for (metric, variant) in [
        ("gleu", ""),
        ("bleu", ":sacre"),
        ("rouge_l", ":stem"),
        ("rouge_2", ":char"),
        ("meteor", ":nosyn"),
    ] {
        let setting = variant.strip_prefix(':').map(|it| format!(", variant: {it}"));
        let builtin = format!("name: {metric}, threshold: 0.1{}", setting.unwrap_or_default());
        let grader = format!(
            "threshold: 0.1, grader: {{type: text_similarity, evaluation_metric: '{metric}{variant}'}}"
        );
        let found = outcomes(&run(&[&builtin, &grader], Some(&library)).exits(0));
        assert_eq!(found[0], found[1], "{metric}{variant}");
        assert_eq!(found[0][1], "passed", "{metric}{variant}: {found:?}");
    }
}

#[test]
fn golden_turns_without_a_recording_fail_what_compares() {
    let two = golden(&["It is 21 degrees and sunny in Paris.", "Rain."]);
    let grader = "grader: {type: text_similarity, evaluation_metric: fuzzy_match}";
    let ran = run(&[grader], Some(&two)).exits(1);
    assert_eq!(outcomes(&ran)[0][1], "failed");
    assert!(ran.stdout.contains("1 of 2 golden turns"), "{}", ran.stdout);
    run(&[&format!("missing_turns: ignore, {grader}")], Some(&two)).exits(0);
    // What does not compare does not need the other turns.
    run(&["grader: {type: string_check, operation: like, reference: sunny}"], Some(&two)).exits(0);
}

#[test]
fn what_cannot_be_compared_is_not_evaluated() {
    let grader = "grader: {type: text_similarity, evaluation_metric: rouge_1}";
    for (answer, part) in [
        ("", "no expected answer"),
        ("\u{5df4}\u{9ece}", "rouge_1 sees no word in the expected text; `rouge_1:char`"),
    ] {
        let ran = run(&[grader], Some(&golden(&[answer]))).exits(1);
        assert_eq!(outcomes(&ran), [json!([null, "not_evaluated"])], "{}", ran.stdout);
        assert!(reason(&ran).contains(part), "{}", ran.stdout);
    }
    // No case of the eval set is this conversation.
    let library = fs::read_to_string(eval_set("library")).unwrap();
    let other = library.replace("What is the weather in Paris?", "What is the time?");
    let ran = run(&[grader, "name: bleu"], Some(&other)).exits(1);
    assert_eq!(outcomes(&ran), [json!([null, "not_evaluated"]), json!([null, "not_evaluated"])]);
}

#[test]
fn content_that_was_not_recorded_is_not_evaluated() {
    let directory = Directory::new();
    let recorded = fs::read_to_string(trace(TRACE)).unwrap();
    directory.file("t.json", recorded.replace("gen_ai.output.messages", "elsewhere"));
    let path = directory.path().join("t.json").to_string_lossy().into_owned();
    let set = golden(&["It is sunny."]);
    for entry in [
        "grader: {type: text_similarity, evaluation_metric: fuzzy_match}",
        "grader: {type: string_check, operation: ne, reference: x}",
        "name: fuzzy_match",
    ] {
        let ran = run_on(&path, &[entry], Some(&set)).exits(1);
        assert_eq!(outcomes(&ran), [json!([null, "not_evaluated"])], "{entry}: {}", ran.stdout);
        assert!(reason(&ran).contains("the answer was not recorded"), "{}", ran.stdout);
    }
}

#[test]
fn what_a_turn_does_not_have_is_an_error() {
    for (grader, part) in [
        (
            "grader: {type: string_check, operation: eq, input: '{{ item.tool_calls[7].name }}', reference: x}",
            "turn 1: `item.tool_calls[7].name` has no value",
        ),
        (
            "grader: {type: string_check, operation: ne, input: '{{ sample.output_json.a }}', reference: x}",
            "turn 1: the answer is not a JSON object or list",
        ),
        (
            "grader: {type: multi, calculate_output: 1 / x, graders: {x: {type: string_check, operation: like, \
             reference: snow}}}",
            "it divides by zero",
        ),
    ] {
        let ran = run(&[grader], None).exits(3);
        assert_eq!(outcomes(&ran)[0], json!([null, "error"]), "{}", ran.stdout);
        assert!(ran.stdout.contains(part), "{grader}: {}", ran.stdout);
    }
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_runs() {
    let message = "model: m, input: [{role: user, content: '{{ item.actual_response }}'}]";
    for (entry, parts) in [
        (
            "grader: {type: text_similarity, evaluation_metric: bleu}".to_owned(),
            &["compares with expected answers, and there is no eval set"][..],
        ),
        (
            "grader: {type: string_check, operation: eq, reference: '{{ item.actual_responce }}'}"
                .to_owned(),
            &["--> c.yaml:2:90", "did you mean `actual_response`?"],
        ),
        (
            format!(
                "grader: {{type: label_model, labels: [a, b], passing_labels: [a], {message}}}"
            ),
            &["model `openai/m` needs a key: set OPENAI_API_KEY"],
        ),
        (
            "grader: {type: text_similarity, evaluation_metric: cosine, reference: Rome}"
                .to_owned(),
            &["model `openai/text-embedding-3-large` needs a key", "cosine:tf"],
        ),
        (
            "execution: api, grader: {type: string_check, operation: eq}".to_owned(),
            &[
                "--> c.yaml:2:46",
                "OpenAI's Evals API ends on 2026-11-30",
                "string_check, text_similarity, multi, label_model, score_model and python",
            ],
        ),
    ] {
        let ran = run(&[&entry], None).exits(2).reports_nothing();
        parts.iter().fold(ran, |ran, part| ran.says(part));
    }
}

#[test]
fn check_names_what_a_grader_is() {
    let directory = Directory::new();
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: a, type: openai_eval, grader: {type: string_check, operation: like, reference: x}}\n",
    );
    let ran = directory.evaluator(&["check", "c.yaml"]).exits(0);
    assert!(ran.stdout.contains("string_check grader, computed here"), "{}", ran.stdout);
}
