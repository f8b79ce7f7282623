//! `type: llm_judge`, from the configuration to the report.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// Two turns: `turn one`, answered after a call of the tool `a`, and `turn two`, after one of `b`.
const TRACE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/events/traces/k09_traj_two_turns.json");

/// Runs one entry with scripted replies; `more` are further arguments.
fn run_in(directory: &Directory, entry: &str, replies: &[Value], more: &[&str]) -> Ran {
    let lines: Vec<String> = replies.iter().map(Value::to_string).collect();
    directory.file("replies.jsonl", lines.join("\n"));
    let judge = if entry.contains("judge:") {
        ""
    } else {
        ", judge: {model: 'fake:replies.jsonl', samples: 1}"
    };
    let text = format!("evaluators:\n  - {{name: j, type: llm_judge, {entry}{judge}}}\n");
    directory.file("c.yaml", text);
    let json: &[&str] = if more.contains(&"-o") { &[] } else { &["-o", "json"] };
    directory.run(&[&[TRACE, "-c", "c.yaml"], json, more].concat())
}

fn run(entry: &str, replies: &[Value]) -> Ran {
    run_in(&Directory::new(), entry, replies, &[])
}

/// A reply with a score.
fn score(score: f64) -> Value {
    Value::String(json!({"reasoning": format!("{score} it is"), "score": score}).to_string())
}

/// A reply with checks of the rubrics `a` and `b`.
fn checks(a: bool, b: bool) -> Value {
    let check = |id, satisfied| json!({"id": id, "satisfied": satisfied, "reasoning": "r"});
    let reply = json!({"checks": [check("a", a), check("b", b)], "overall_reasoning": "o"});
    Value::String(reply.to_string())
}

fn metric(ran: &Ran) -> Value {
    ran.json()["traces"][0]["metrics"][0].clone()
}

const RUBRICS: &str = "rubrics: [{id: a, text: A, required: true}, {id: b, text: B, weight: 3}]";

#[test]
fn turns_are_judged_one_by_one() {
    let judge = "judge: {model: 'fake:replies.jsonl', samples: 3}";
    let replies = [0.9, 0.2, 0.6, 1.0, 0.8, 0.9].map(score);
    let ran = run(&format!("criteria: It is kind., {judge}"), &replies).exits(0);
    let metric = metric(&ran);
    assert_eq!((&metric["score"], &metric["outcome"]), (&json!(0.75), &json!("passed")));
    assert_eq!(metric["per_invocation_scores"], json!([0.6, 0.9]));
    let judge = &metric["details"]["judge"];
    assert_eq!(judge["votes"][0]["positive"], 2);
    assert_eq!(judge["votes"][0]["scores"], json!([0.9, 0.2, 0.6]));
    assert_eq!(judge["votes"][0]["reason"], "0.9 it is");
    assert_eq!(judge["close"], false);
    assert_eq!(judge["replies"].as_array().unwrap().len(), 6);
}

#[test]
fn a_required_rubric_decides_and_its_reason_is_reported() {
    let ran =
        run(&format!("threshold: 0.7, {RUBRICS}"), &[checks(true, true), checks(false, true)]);
    let metric = metric(&ran.exits(1));
    assert_eq!((&metric["score"], &metric["outcome"]), (&json!(0.875), &json!("failed")));
    assert_eq!(metric["failure_reason"], "turn 2: `a` is required and not fulfilled");
    let details = &metric["details"];
    assert_eq!(details["judge"]["missed"], json!(["turn 2: `a` is required and not fulfilled"]));
    assert_eq!(
        details["per_invocation"][1]["rubric_scores"][0],
        json!({"rubric_id": "a", "score": 0.0, "rationale": "r"})
    );
    assert_eq!(details["overall_rubric_scores"][0]["score"], 0.5);
    run(&format!("threshold: 0.7, {RUBRICS}"), &[checks(true, true), checks(true, false)]).exits(1);
    run(&format!("threshold: 0.6, {RUBRICS}"), &[checks(true, true), checks(true, false)]).exits(0);
}

#[test]
fn every_format_names_the_reason_of_a_failure_that_the_score_does_not_show() {
    let directory = Directory::new();
    let judge = "judge: {model: 'fake:replies.jsonl', samples: 2, min_agreement: 0.9}";
    let replies = [1.0, 0.9, 1.0, 0.0].map(score);
    for form in ["table", "summary", "junit", "markdown", "json"] {
        let entry = format!("criteria: c, threshold: 0, {judge}");
        run_in(&directory, &entry, &replies, &["-o", form]).exits(0);
        let entry = format!("criteria: c, threshold: 0.4, {judge}");
        let ran = run_in(&directory, &entry, &replies, &["-o", form]).exits(1);
        let reason = "turn 2: agreement 0.50 is below 0.9";
        assert!(ran.stdout.contains(reason), "{form}: {}", ran.stdout);
    }
}

#[test]
fn numbers_of_a_range_choices_and_score_ranges_become_scores() {
    let ran = run("criteria: c, score_range: [1, 5]", &[score(5.0), score(3.0)]).exits(0);
    assert_eq!(metric(&ran)["per_invocation_scores"], json!([1.0, 0.5]));
    let choice = |name: &str| Value::String(json!({"reasoning": "r", "choice": name}).to_string());
    let entry = "prompt: 'Tone? {{ response }}', choices: {kind: 1, neutral: 0.5, rude: 0}";
    let ran = run(entry, &[choice("neutral"), choice("rude")]).exits(1);
    assert_eq!(metric(&ran)["score"], 0.25);
    let ranged = |n| Value::String(json!({"checks": [{"id": "rubric_0", "score": n}]}).to_string());
    let entry = "rubrics: [{text: Depth, score_ranges: {0: bad, 6: good}, min_score: 0.6}]";
    let ran = run(entry, &[ranged(6), ranged(10)]).exits(0);
    assert_eq!(metric(&ran)["score"], 0.8);
    let ran = run(entry, &[ranged(5), ranged(10)]).exits(1);
    assert_eq!(metric(&ran)["score"], 0.75);
}

#[test]
fn what_a_judge_cannot_say_is_an_error() {
    let incomplete = json!({"checks": [], "overall_reasoning": "all is fine"}).to_string();
    for (entry, reply, reason) in [
        (RUBRICS, json!(incomplete), "turn 1: unreadable reply: no check has the id `a`"),
        (
            "criteria: c",
            json!("It is good."),
            "turn 1: unreadable reply: the reply is not one JSON object",
        ),
        ("criteria: c", json!("{\"score\": 7}"), "`score` is 7, which is not within 0 and 1"),
        ("criteria: c", json!("{\"score\": 0.2} {\"score\": 0.9}"), "not one JSON object"),
        ("criteria: c", json!({"error": "429"}), "turn 1: sample 1: "),
        ("criteria: c", json!({"timeout": true}), "turn 1: sample 1: "),
    ] {
        let ran = run(entry, &[reply, score(1.0)]).exits(3);
        let metric = metric(&ran);
        assert_eq!((&metric["score"], &metric["outcome"]), (&json!(null), &json!("error")));
        let error = metric["error"].as_str().unwrap();
        assert!(error.contains(reason), "{entry}: {error}");
    }
}

#[test]
fn a_panel_has_a_vote_per_model() {
    let directory = Directory::new();
    for (name, number) in [("a", 0.9), ("b", 0.2), ("c", 0.8)] {
        directory.file(&format!("{name}.jsonl"), format!("{}\n{}", score(number), score(number)));
    }
    let run = |more: &str| {
        let judge = "judge: {models: ['fake:a.jsonl', 'fake:b.jsonl', 'fake:c.jsonl'], samples: 1";
        run_in(&directory, &format!("criteria: c, {judge}{more}}}"), &[], &[])
    };
    for (rule, score, exit) in [("majority", 0.8, 0), ("all", 0.2, 1), ("any", 0.9, 0)] {
        let ran = run(&format!(", panel: {rule}")).exits(exit);
        assert_eq!(metric(&ran)["score"], score, "{rule}");
    }
    let votes = metric(&run(""))["details"]["judge"]["votes"][0].clone();
    assert_eq!((&votes["positive"], &votes["negative"]), (&json!(2), &json!(1)));
    assert_eq!(votes["models"].as_array().unwrap().len(), 3);
    directory.file("b.jsonl", "\"no verdict\"\n\"no verdict\"");
    run("").exits(3);
    let ran = run(", panel_quorum: 2").exits(0);
    assert_eq!(metric(&ran)["score"], 0.8, "the lower median of 0.9 and 0.8");
}

/// Returns the messages of the recorded requests.
fn asked(directory: &Directory) -> Vec<(String, String)> {
    let text = directory.read("c.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let message = |line: &Value, index: usize| {
        line["messages"][index]["content"].as_str().unwrap().to_owned()
    };
    lines.map(|line| (message(&line, 0), message(&line, 1))).collect()
}

#[test]
fn prompts_show_what_they_name_and_the_format_of_the_reply() {
    let directory = Directory::new();
    directory.file("ask.md", "You know {{ config.city }}.\n=====\n{{ tool_calls }} {{ output }}");
    let judge = "judge: {model: 'fake:replies.jsonl', samples: 1, cassette: c.jsonl, mode: record}";
    let entry = format!(
        "prompt: 'file:ask.md', system: 'Mind {{{{ config.city }}}}.', config: {{city: Lund}}, {judge}"
    );
    run_in(&directory, &entry, &[score(1.0), score(1.0)], &[]).exits(0);
    let asked = asked(&directory);
    assert_eq!(asked.len(), 2);
    for (system, user) in &asked {
        assert!(
            system.starts_with("Mind Lund.\n\nYou know Lund.\n\n") && system.contains("\"score_"),
            "{system}"
        );
        assert!(user.contains("<<<tool_calls ") && user.contains("<<<output "), "{user}");
    }
    assert!(asked.iter().any(|(_, user)| user.contains("- a({\"x\": 1})")), "{asked:?}");
}

#[test]
fn servers_get_the_prompt_and_the_schema_of_the_reply() {
    let message = json!({"role": "assistant", "content": checks(true, true)});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({"model": "m", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    let json = "Content-Type: application/json";
    let server = Server::always(response("200 OK", &[json], body.to_string()));
    let url = server.url();
    let judge = format!(
        "judge: {{model: hosted_vllm/m, base_url: '{url}/v1', samples: 1, params: {{json_schema: true}}}}"
    );
    let ran = run_in(&Directory::new(), &format!("{RUBRICS}, {judge}"), &[], &[]).exits(0);
    assert_eq!(metric(&ran)["score"], 1.0);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    let schema = &body["response_format"]["json_schema"]["schema"];
    let check = &schema["properties"]["checks"]["items"];
    assert_eq!(check["properties"]["id"]["enum"], json!(["a", "b"]), "{body}");
    // The server keeps the form: the schema is the same for all questions, and the prompt asks for no code.
    assert_eq!(check["required"], json!(["id", "reasoning", "satisfied"]));
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("\"satisfied\": true"), "{system}");
}

/// An eval set whose case is the conversation of [`TRACE`], with these expected answers; an empty one is left out.
fn golden(answers: &[&str]) -> String {
    let text = |text: &str| json!({"parts": [{"text": text}]});
    let turns = ["turn one", "turn two"].into_iter().zip(answers).map(|(user, answer)| {
        let mut turn = json!({"invocation_id": user, "user_content": text(user)});
        if !answer.is_empty() {
            turn["final_response"] = text(answer);
        }
        turn
    });
    let turns: Vec<Value> = turns.collect();
    json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": turns}]}).to_string()
}

#[test]
fn a_prompt_with_the_golden_answer_needs_a_golden_case() {
    let entry = "prompt: '{{ response }} or {{ reference_answer }}'";
    let ran = run(entry, &[]);
    let found = metric(&ran);
    assert_eq!((&found["score"], &found["outcome"]), (&json!(null), &json!("not_evaluated")));
    let directory = Directory::new();
    let run = |answers: &[&str], replies: &[Value]| {
        directory.file("golden.json", golden(answers));
        metric(&run_in(&directory, entry, replies, &["-e", "golden.json"]))
    };
    let found = run(&["one", "two"], &[score(1.0), score(0.5)]);
    assert_eq!(found["per_invocation_scores"], json!([1.0, 0.5]));
    let found = run(&["one", ""], &[score(1.0)]);
    assert_eq!(found["per_invocation_scores"], json!([1.0, null]));
    let warning = "turn 2: not evaluated: the golden turn has no answer";
    assert_eq!(found["details"]["judge"]["warnings"], json!([warning]));
    let found = run(&["", ""], &[]);
    assert_eq!(found["details"]["reason"], "turn 1: the golden turn has no answer");
}

#[test]
fn mistakes_have_a_position_and_a_hint() {
    let directory = Directory::new();
    directory.file("ask.md", "One\n{{ responce }}");
    for (entry, message, hint) in [
        (
            "prompt: 'Rate {{ responce }}'",
            "the prompt has no variable `responce`\n --> c.yaml:2:49",
            "did you mean `response`?",
        ),
        (
            "prompt: 'file:ask.md'",
            "ask.md, line 2: the prompt has no variable `responce`\n --> c.yaml:2:40",
            "did you mean `response`?",
        ),
        ("prompt: {file: ask.md}", "ask.md, line 2: ", "did you mean `response`?"),
        ("prompt: ./ask.md", "ask.md, line 2: ", "did you mean `response`?"),
        ("prompt: gone.md", "gone.md, which does not exist", ""),
        ("prompt: 'file:gone.md'", "gone.md, which does not exist", ""),
        ("prompt: 'Rate {{ response'", "has a `{{` without `}}`", ""),
        ("prompt: '{{ file_changes }}'", "no variable `file_changes`", "recordings do not have it"),
        ("prompt: '{{ zzzzzzzz }}'", "no variable `zzzzzzzz`", "known variables: user_input, "),
        (
            "prompt: '{{ config.abb }}', config: {abc: 1}",
            "no variable `config.abb`",
            "did you mean `config.abc`?",
        ),
        ("criteria: c, system: 'See {{ response }}'", "`system` has no variable", "in `prompt`"),
        ("threshold: 1", "the key `prompt` is missing", "or `criteria` or `rubrics`"),
        ("criteria: c, promt: p", "unknown key `promt`", "did you mean `prompt`?"),
        ("criteria: c, scope: turns", "`scope` must be one of turn, conversation", "`turn`?"),
        (
            "rubrics: [A], choices: {a: 1, b: 0}",
            "`choices` and `rubrics` are two forms",
            "keep one",
        ),
        ("criteria: c, choices: {a: 1}", "at least two choices", ""),
        ("criteria: c, choices: {a: 2, b: 0}", "`a` must be in 0..=1", ""),
        ("criteria: c, score_range: [5, 1]", "the lesser one first", "[1, 5]"),
        ("rubrics: []", "there are no rubrics", ""),
        ("rubrics: [{id: a, text: A}, {id: a, text: B}]", "two rubrics have the id `a`", ""),
        ("rubrics: [{id: a}]", "the key `text` is missing", ""),
        ("rubrics: [{text: A, weight: -1}]", "`weight` must be at least 0", ""),
        ("rubrics: [{text: A, weight: 0}]", "the weight of every rubric is 0", ""),
        ("rubrics: [{text: A, min_score: 0.5}]", "with `score_ranges` only", "`required: true`"),
        (
            "rubrics: [{text: A, score_ranges: {0: a, 6: b}, required_min_score: 7}]",
            "`required_min_score` is a key of AgentV's eval files",
            "`min_score: 0.7` for 7 of 10",
        ),
        ("criteria: c, judge_model: m", "`judge_model` is a key of `type: builtin`", "{model: ..}"),
        ("criteria: c, judge_base_url: m", "of `type: builtin`", "{base_url: ..}"),
        ("criteria: c, credential_ref: m", "of `type: builtin`", "{credential_ref: ..}"),
        ("rubrics: [{text: A, score_ranges: {0: a, 11: b}}]", "whole number in 0..=10", ""),
        ("rubrics: [{text: A, score_ranges: {1: a}}]", "leave out the score 0", ""),
        (
            "rubrics: [{text: A, score_ranges: [{score_range: [0, 4], outcome: o}]}]",
            "leave out the score 5",
            "",
        ),
        (
            "prompt: '{{ response }}', judge: {model: 'fake:replies.jsonl', samples: 2, swap: true}",
            "`swap` needs",
            "",
        ),
    ] {
        let ran = run_in(&directory, entry, &[], &[]).exits(2);
        for part in [message, hint] {
            assert!(ran.stderr.contains(part), "{entry}: {}", ran.stderr);
        }
    }
}

#[test]
fn prompts_that_hide_what_is_judged_are_warnings() {
    let directory = Directory::new();
    for (entry, warning) in [
        ("prompt: 'Rate {{ user_input }}'", "the prompt never shows the response"),
        ("prompt: '{{ output }}', rubrics: [rubric]", "the prompt never shows `{{rubrics}}`"),
        ("prompt: '{{ output }}', criteria: c", "the prompt never shows `{{criteria}}`"),
        ("criteria: c, choices: {a: 1, b: 0.5}", "every choice passes with the threshold 0.5"),
    ] {
        let ran = run_in(&directory, entry, &[score(1.0), score(1.0)], &[]);
        assert!(ran.stderr.contains(warning), "{entry}: {}", ran.stderr);
    }
}

#[test]
fn saved_results_are_used_again_only_for_the_same_prompt() {
    let directory = Directory::new();
    let resume = ["--resume", "--save-run", "r.evalrun"];
    directory.file("ask.md", "Rate {{ response }}");
    let entry = "prompt: 'file:ask.md'";
    run_in(&directory, entry, &[score(1.0), score(1.0)], &resume).exits(0);
    let reused = run_in(&directory, entry, &[score(1.0), score(1.0)], &resume).exits(0);
    assert!(!reused.stderr.contains("judges:"), "{}", reused.stderr);
    directory.file("ask.md", "Rate this: {{ response }}");
    run_in(&directory, entry, &[], &resume).exits(3);
    let ran = run_in(&directory, entry, &[score(0.0), score(0.0)], &resume).exits(1);
    assert_eq!(metric(&ran)["score"], 0.0);
}
