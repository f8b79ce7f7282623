//! What the command line does with eval files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use evaluator_test_support::finish;
use serde_json::{Value, json};

use super::judge_server;
use crate::support::{Directory, has, processes, trace};

const TWO_TESTS: &str = "\
name: capitals
tests:
  - {id: one, criteria: x, input: q, assertions: [{type: contains, value: Paris}]}
  - {id: two, criteria: x, input: q, assertions: [{type: contains, value: \"<b>Rome\"}]}
";

/// Returns a directory with the eval file of two tests, and recorded outputs of both.
pub(super) fn two_tests() -> Directory {
    let directory = Directory::new();
    directory.file("capitals.yaml", TWO_TESTS);
    directory.file("out/one.json", r#"{"text": "Paris"}"#);
    directory.file("out/two.txt", "Rome & co");
    directory
}

pub(super) fn report(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns id, status and score of each test.
fn results(report: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = report["results"].as_array().unwrap();
    results.iter().map(|it| (text(&it["id"]), text(&it["status"]), it["score"].clone())).collect()
}

#[test]
fn recorded_outputs_are_graded_in_every_form() {
    let directory = two_tests();
    directory.file("more/three.json", "{}");
    let expected = [
        ("one".to_owned(), "passed".to_owned(), json!(1.0)),
        ("two".to_owned(), "failed".to_owned(), json!(0.0)),
    ];
    let fixture = |id: &str, answer: &str| {
        let message = json!({"role": "assistant", "content": answer});
        let schema = "agentv.replay_fixture.v1";
        let row = json!({"schema_version": schema, "test_id": id, "source_target": "t", "output": [message]});
        format!("{row}\n")
    };
    directory.file("fixtures.jsonl", &(fixture("one", "Paris") + &fixture("two", "Rome")));
    let old = |id: &str, answer: &str| {
        format!("{}\n", json!({"eval_id": id, "candidate_answer": answer}))
    };
    directory.file("old.jsonl", &(old("one", "Paris") + &old("two", "Rome")));
    let row = |id: &str, index: u32, role: &str, content: &str| {
        let schema = "agentv.transcript.v1";
        let row = json!({"schema_version": schema, "test_id": id, "message_index": index, "role": role, "content": content});
        format!("{row}\n")
    };
    // The order of the file does not count.
    let rows = [
        row("one", 1, "assistant", "Paris"),
        row("two", 0, "assistant", "Rome"),
        row("one", 0, "assistant", "Rome"),
    ];
    directory.file("transcripts.jsonl", rows.concat());
    let index = |id: &str, path: &str| {
        format!("{}\n", json!({"test_id": id, "suite": "capitals", "answer_path": path}))
    };
    directory.file("new/index.jsonl", &(index("one", "a/answer.md") + &index("two", "?")));
    directory.file("new/a/answer.md", "Paris");
    directory.file(
        "new/capitals/two/outputs/transcript.jsonl",
        "{\"role\": \"assistant\", \"content\": \"Rome\"}\n",
    );
    for outputs in ["out", "fixtures.jsonl", "old.jsonl", "transcripts.jsonl", "new"] {
        let ran = directory.run(&["capitals.yaml", "--outputs", outputs, "-o", "json"]);
        assert_eq!(ran.code, Some(1), "{outputs}: {}", ran.stderr);
        assert_eq!(results(&report(&ran.stdout)), expected, "{outputs}");
    }
}

#[test]
fn a_recording_without_its_keys_is_an_error_that_names_those_it_has() {
    let directory = two_tests();
    for (row, expected) in [
        (r#"{"id": "one", "output": []}"#, "needs `test_id`, and this one has `id`, `output`\n"),
        (r#"{"testId": "one", "text": "Paris"}"#, "instead of `testId`, did you mean `test_id`?"),
    ] {
        directory.file("rows.jsonl", row);
        let ran = directory.run(&["capitals.yaml", "--outputs", "rows.jsonl"]).exits(2);
        assert!(ran.stderr.contains("rows.jsonl:1: a recording needs"), "{}", ran.stderr);
        ran.says(expected);
    }
    directory.file("rows.jsonl", r#"{"test_id": "one", "outputs": []}"#);
    let ran = directory.run(&["capitals.yaml", "--outputs", "rows.jsonl"]).exits(3);
    assert!(ran.stdout.contains("instead of `outputs`, did you mean `output`?"), "{}", ran.stdout);
}

#[test]
fn text_in_output_is_the_answer() {
    let directory = two_tests();
    directory.file("rows.jsonl", "{\"test_id\": \"one\", \"output\": \"Paris\"}\n{\"test_id\": \"two\", \"text\": \"<b>Rome\"}");
    directory.file("out/one.json", r#"{"output": "Paris", "cost_usd": 1}"#);
    directory.file("out/two.txt", "<b>Rome");
    for outputs in ["rows.jsonl", "out"] {
        directory.run(&["capitals.yaml", "--outputs", outputs]).exits(0);
    }
}

#[test]
fn a_recorded_output_that_was_cut_off_is_an_error_of_its_test() {
    let directory = two_tests();
    for (cut, reason) in [
        (r#"{"output": [{"role": "assistant", "content": "Paris"#, "one.json: not JSON: "),
        ("{\"output\":", "one.json: not JSON: "),
        ("", "one.json: not JSON: "),
        (r#"{"text": 1}"#, "one.json: `text` must be text"),
        (
            r#"{"output": {"role": "assistant"}}"#,
            "one.json: `output` must be messages, each an object with `role`, or text",
        ),
        (
            r#"{"output": [{"content": "Paris"}]}"#,
            "one.json: message 1 of the output has no `role`",
        ),
    ] {
        directory.file("out/one.json", cut);
        let ran = directory.run(&["capitals.yaml", "--outputs", "out"]).exits(3);
        assert!(ran.stdout.contains(reason), "{cut}: {}", ran.stdout);
        ran.says("0 passed, 1 failed, 1 errored (2 tests)");
    }
}

#[test]
fn files_that_hold_no_recordings_name_the_forms() {
    let directory = two_tests();
    directory
        .run(&["capitals.yaml", "--outputs", "out/two.txt"])
        .exits(2)
        .says("JSON lines with `test_id` and `output`");
    directory.file("runs/1/index.jsonl", "");
    directory.file("runs/2/index.jsonl", "");
    directory
        .run(&["capitals.yaml", "--outputs", "runs"])
        .exits(2)
        .says("; the last run in it is runs/2");
}

#[test]
fn conversations_of_traces_are_graded_by_their_ids() {
    let directory = Directory::new();
    let booking = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/booking.json");
    directory.file(
        "booking.yaml",
        "tests:
  - id: f19a546076f78c377ed84db73490bb8e
    criteria: x
    input: q
    assertions:
      - {name: answer, type: contains, value: IC 141}
      - {name: first, type: tool-trajectory, mode: in_order, args_match: [from], expected: [{tool: search_trains, args: {from: Utrecht}}]}
      - {name: limits, type: execution-metrics, max_llm_calls: 2, max_tool_calls: 9, max_duration_ms: 1000000}
",
    );
    let ran = directory.run(&["booking.yaml", "--outputs", booking, "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stderr.contains("no test has the id of the recording"), "{}", ran.stderr);
}

#[test]
fn a_target_may_be_held_to_the_form_of_the_reply() {
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "execution: {target: t}
tests: [{id: one, criteria: x, input: q, assertions: [{type: rubrics, criteria: [Is short]}]}]
",
    );
    let reply = r#"{"checks": [{"id": "rubric-1", "reasoning": "r", "satisfied": true}], "overall_reasoning": "o"}"#;
    for (key, expected) in [("", Value::Null), (", structured: true", json!("json_schema"))] {
        let server = judge_server::start(Some(json!({"default": [{"text": reply}]})));
        directory.file(
            "targets.yaml",
            format!(
                "targets:
  - {{name: t, provider: mock, response: Paris, grader_target: g}}
  - {{name: g, provider: openai, base_url: '{}/v1', model: m{key}}}
",
                server.url()
            ),
        );
        let ran = directory.run(&["e.yaml", "-o", "json"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let requests = server.requests();
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body["response_format"]["type"], expected);
        // The keys have a code unless the server keeps the form.
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert_eq!(system.contains("\"satisfied\": true"), !key.is_empty(), "{system}");
        assert_eq!(system.contains("\"satisfied_"), key.is_empty(), "{system}");
        // A server on this machine needs no key.
        assert!(!requests[0].headers.contains_key("authorization"));
    }
}

#[test]
fn a_judge_that_is_asked_again_leaves_a_warning() {
    let directory = Directory::new();
    let judge = |prompt: &str| {
        format!("{{name: inner, type: llm-grader, prompt: '{prompt}: {{{{output}}}}'}}")
    };
    let (alone, within) = (judge("Alone"), judge("Within"));
    directory.file(
        "e.yaml",
        format!(
            "execution: {{target: t}}
tests:
  - {{id: one, criteria: x, input: q, assertions: [{alone}]}}
  - {{id: two, criteria: x, input: q, assertions: [{{name: both, type: composite, assertions: [{within}], aggregator: {{type: weighted_average}}}}]}}
"
        ),
    );
    let good = json!({"text": "{\"score\": 1}"});
    let bad = json!({"text": "It is right."});
    for (first, second, warning) in [
        (json!([good]), json!([good]), None),
        (json!([bad, good]), json!([bad, bad, bad, good]), Some([2, 4])),
        (json!([bad, bad, good]), json!([bad, good]), Some([3, 2])),
    ] {
        let rules =
            json!([{"when": "Alone", "replies": first}, {"when": "Within", "replies": second}]);
        let server = judge_server::start(Some(json!({"rules": rules, "default": [good]})));
        let url = server.url();
        directory.file(
            "targets.yaml",
            format!(
                "targets:
  - {{name: t, provider: mock, response: Paris, grader_target: g}}
  - {{name: g, provider: openai, base_url: '{url}/v1', model: m}}
"
            ),
        );
        let ran = directory.run(&["e.yaml", "--jobs", "1", "-o", "json"]).exits(0);
        let report = report(&ran.stdout);
        for (number, result) in report["results"].as_array().unwrap().iter().enumerate() {
            let warnings = warning.map_or(Value::Null, |asked| {
                let asked = asked[number];
                json!([format!(
                    "`inner`: its judge was asked {asked} times until a reply could be read"
                )])
            });
            assert_eq!(result["warnings"], warnings, "{result}");
        }
        assert_eq!(
            ran.stderr.matches("its judge was asked").count(),
            warning.map_or(0, |it| it.len())
        );
    }
}

#[test]
fn a_budget_ends_the_questions_and_money_needs_prices() {
    let directory = Directory::new();
    let test = |id: &str| {
        format!(
            "  - {{id: {id}, criteria: x, input: q, assertions: [{{type: llm-grader, prompt: '{id} {{{{output}}}}'}}]}}\n"
        )
    };
    directory.file(
        "e.yaml",
        format!("execution: {{target: t}}\ntests:\n{}{}", test("one"), test("two")),
    );
    directory.file(
        "targets.yaml",
        "targets:
  - {name: t, provider: mock, response: Paris, grader_target: g}
  - {name: g, provider: mock, response: '{\"score\": 1}'}
",
    );
    let ran = directory.run(&["e.yaml", "-o", "json", "--judge-budget", "calls=1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    let report = report(&ran.stdout);
    assert_eq!(
        (&report["summary"]["passed"], &report["summary"]["errors"]),
        (&json!(1), &json!(1))
    );
    let ran = directory.run(&["e.yaml", "--judge-budget", "money=1"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
}

#[test]
fn a_test_without_a_recording_is_an_error_and_the_other_way_round_a_warning() {
    let directory = two_tests();
    fs::rename(directory.join("out/two.txt"), directory.join("out/three.txt")).unwrap();
    let ran = directory.run(&["capitals.yaml", "--outputs", "out", "-o", "json"]);
    assert_eq!(ran.code, Some(3));
    let report = report(&ran.stdout);
    assert_eq!(report["results"][1]["status"], "error");
    assert_eq!(report["results"][1]["score"], Value::Null);
    assert_eq!(report["warnings"], json!(["no test has the id of the recording `three`"]));
}

#[test]
fn all_problems_of_a_file_are_reported_with_their_positions_before_anything_runs() {
    let directory = Directory::new();
    directory.file(
        "bad.yaml",
        "execution: {target: t, treshold: 0.5}
tests:
  - id: one
    criteria: x
    input: q
    assertions:
      - {type: contains}
      - {type: containz, value: a}
      - {type: regex, value: \"(\"}
      - {type: cost, budget: -1}
      - {include: none}
  - {id: one, criteria: x, input: q, turns: []}
",
    );
    directory.file("targets.yaml", "targets: [{name: t, provider: cli, command: 'touch ran'}]");
    for command in ["run", "check"] {
        let ran = directory.evaluator(&[command, "bad.yaml"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
        for part in [
            "bad.yaml:1:24",
            "did you mean `threshold`?",
            "bad.yaml:7:9",
            "did you mean `contains`?",
            "not a regular expression of JavaScript",
            "`budget` must be a number that is at least 0, not -1",
            "the template `none` does not exist",
            "the id `one` is given twice, first at bad.yaml:3:9",
            "conversation mode, which scores every turn, is not supported",
        ] {
            assert!(ran.stderr.contains(part), "{command}: {part} is not in {}", ran.stderr);
        }
    }
    assert!(!directory.join("ran").exists());
}

#[test]
fn keys_of_producing_outputs_have_no_effect_on_recorded_ones() {
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "suite: s
category: c
requires: {agentv: '>=4'}
workspace: {template: ./w}
execution: {targets: [a, b], budget_usd: 1}
tests:
  - {id: one, criteria: x, input: q, depends_on: [two], on_dependency_failure: run, assertions: [{type: contains, value: Paris}]}
  - {id: two, criteria: x, input: q, workspace: {template: ./w}, assertions: [{type: is-json}]}
",
    );
    directory.file("out/one.txt", "Paris");
    directory.file("out/two.json", r#"{"text": "{}"}"#);
    directory.run(&["e.yaml", "--outputs", "out"]).exits(0);
    let ran = directory.run(&["e.yaml"]).exits(2);
    for key in ["workspace", "depends_on", "on_dependency_failure", "budget_usd"] {
        assert!(ran.stderr.contains(&format!("`{key}`: ")), "{key}: {}", ran.stderr);
    }
    let advice = "record the outputs with AgentV, and grade them with `run --outputs`";
    assert!(ran.stderr.contains(advice), "{}", ran.stderr);
    // What changes the score is refused in any case.
    directory.file(
        "turns.yaml",
        "tests: [{id: one, criteria: x, mode: conversation, input: q, turns: []}]",
    );
    let ran = directory.run(&["turns.yaml", "--outputs", "out"]).exits(2);
    ran.says("`mode`: conversation mode, which scores every turn, is not supported");
    // A list of targets needs a choice.
    directory.file(
        "targets.yaml",
        "targets: [{name: a, provider: mock, response: Paris}, {name: b, provider: mock, response: Rome}]",
    );
    directory.file(
        "matrix.yaml",
        "execution: {targets: [a, b]}
tests: [{id: one, criteria: x, input: q, assertions: [{type: contains, value: Paris}]}]",
    );
    for (args, code) in [(&["--target", "a"][..], 0), (&["--target", "b"], 1), (&[], 2)] {
        directory.run(&[&["matrix.yaml"], args].concat()).exits(code);
    }
}

#[test]
fn problems_of_files_name_their_cause() {
    let directory = Directory::new();
    let test = |input: &str, entry: &str| {
        format!("tests: [{{id: one, criteria: x, input: {input}, assertions: [{entry}]}}]")
    };
    for (file, text, message) in [
        ("e.eval.ts", String::new(), "e.eval.ts: TypeScript eval files are not read; write YAML"),
        ("e.eval.mjs", String::new(), "e.eval.mjs: JavaScript eval files are not read; write YAML"),
        (
            "unset.yaml",
            test("'${{ EVALUATOR_TEST_UNSET }}'", "{type: is-json}"),
            "the variable `EVALUATOR_TEST_UNSET` is not set; its value is empty",
        ),
        (
            "key.yaml",
            test("q", "{type: code-grader, comand: 'true'}"),
            "instead of `comand`, did you mean `command`?",
        ),
        (
            "type.yaml",
            test("q", "{type: word-count}"),
            "custom assertions of AgentV are not read, use `code-grader`",
        ),
    ] {
        directory.file(file, text);
        for command in ["run", "check"] {
            let ran = directory.evaluator(&[command, file]);
            assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{command} {file}: {}", ran.stderr);
            assert!(ran.stderr.contains(message), "{command} {file}: {}", ran.stderr);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_program_that_asks_a_model_without_access_is_told_which_key_to_add() {
    let directory = Directory::new();
    let entry = "{name: g, type: code-grader, command: [python3, ask.py]}";
    directory.file(
        "e.yaml",
        format!("tests: [{{id: a, criteria: x, input: q, assertions: [{entry}]}}]\n"),
    );
    directory.file("ask.py", "import os\nos.environ['AGENTV_TARGET_PROXY_URL']\n");
    directory.file("outputs.jsonl", "{\"test_id\": \"a\", \"output\": \"x\"}\n");
    let mut command = directory.command(&["run", "e.yaml", "--outputs", "outputs.jsonl"]);
    let ran = finish(command.env_remove("AGENTV_TARGET_PROXY_URL").spawn().unwrap()).exits(3);
    assert!(ran.stdout.contains("its entry offers none: add `target: {}`"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn failed_calls_of_a_program_are_a_warning() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "tests:
  - id: a
    criteria: x
    input: q
    assertions:
      - {name: g, type: code-grader, command: [python3, ask.py], target: {max_calls: 1}}
",
    );
    directory.file(
        "ask.py",
        r#"import os, urllib.request
url = os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke"
headers = {"authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"], "content-type": "application/json"}
try:
    urllib.request.urlopen(urllib.request.Request(url, b'{"question": "q"}', headers))
except urllib.error.HTTPError:
    pass
print('{"score": 0}')
"#,
    );
    let broken =
        json!({"default": [{"status": 400, "body": {"error": {"message": "it is down"}}}]});
    let server = judge_server::start(Some(broken));
    directory.file(
        "targets.yaml",
        format!(
            "targets:
  - {{name: default, provider: mock, response: Paris, grader_target: g}}
  - {{name: g, provider: openai, base_url: '{}/v1', model: m}}
",
            server.url()
        ),
    );
    let forms = ["markdown", "github", "junit", "json"];
    let outputs: Vec<String> = forms.iter().map(|form| format!("{form}={form}.txt")).collect();
    let outputs = outputs.iter().flat_map(|output| ["-o", output]);
    let args: Vec<&str> = ["e.yaml"].into_iter().chain(outputs).collect();
    let ran = directory.run(&args).exits(1);
    let texts = forms.map(|form| directory.read(&format!("{form}.txt")));
    for (form, text) in forms.iter().zip(&texts).chain([(&"stderr", &ran.stderr)]) {
        assert!(text.contains("1 of 1 model call failed"), "{form}: {text}");
    }
    let asked = &report(&texts[3])["results"][0]["evaluators"][0]["target_proxy"];
    assert_eq!((&asked["failed_calls"], &asked["tokens"]["input"]), (&json!(1), &json!(0)));
}

#[test]
fn options_of_traces_and_of_eval_files_are_not_mixed() {
    let directory = two_tests();
    directory
        .file("config.yaml", "evaluators: [{name: tool_trajectory_avg_score, type: builtin}]\n");
    let jaeger = trace("a01_otlp_basic_parts");
    directory.file("empty.yaml", "");
    directory.file("other.yaml", "description: nothing\n");
    directory.file("suites/b.yaml", TWO_TESTS);
    directory.file("suites/a.yaml", TWO_TESTS);
    directory.file("traces/a.yaml", TWO_TESTS);
    directory.file("traces/a.json", fs::read(&jaeger).unwrap());
    for (args, message) in [
        (&["empty.yaml"][..], "the eval file is empty"),
        (&["other.yaml"], "the key `tests` is missing"),
        (&["capitals.yaml", "-m", "x"], "--metric belongs to trace files"),
        (&["capitals.yaml", "--locked"], "--locked belongs to trace files"),
        (&["capitals.yaml", &jaeger], "run it alone"),
        (
            &["suites"],
            "suites is a directory with eval files; run them one by one, e.g. suites/a.yaml",
        ),
        (&[&jaeger, "--outputs", "out"], "--outputs belongs to AgentV eval files"),
        (&["config.yaml"], "name it with -c"),
        (&["capitals.yaml", "--outputs", "out", "--test-id", "x*"], "no test has an id like x*"),
        (&["capitals.yaml"], "there is no target `default`: no targets.yaml was found"),
    ] {
        let ran = directory.run(args);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    // A directory with traces stands for its traces.
    let ran = directory.run(&["traces", "-m", "tool_call_count_v1", "--allow-unevaluated"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn check_says_what_was_not_checked() {
    let directory = two_tests();
    let ran = directory.evaluator(&["check", "capitals.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("2 tests, no problems; targets were not checked"),
        "{}",
        ran.stdout
    );
    directory.file("targets.yaml", "targets: [{name: other, provider: mock, response: x}]");
    let ran = directory.evaluator(&["check", "capitals.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there is no target `default`"), "{}", ran.stderr);
}

#[test]
fn check_takes_the_options_of_run() {
    let directory = two_tests();
    let check = |options: &[&str]| {
        directory.evaluator(&[&["check", "capitals.yaml"][..], options].concat())
    };
    let ran = check(&["--outputs", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("2 tests, no problems\n"), "{}", ran.stdout);
    for (options, message) in [
        (&["--outputs", "capitals.yaml"][..], "capitals.yaml"),
        (&["--outputs", "out", "--test-id", "x*"], "no test has an id like x*"),
        (&["--target", "t"], "there is no target `t`: no targets.yaml was found"),
        (&["--judge-model", "m"], "--judge-model belongs to trace files"),
        (&["--locked"], "--locked belongs to configurations"),
        (&["--build"], "--build belongs to configurations"),
    ] {
        let ran = check(options);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{options:?}: {}", ran.stderr);
    }
    directory.file("config.yaml", "evaluators: [{name: tool_call_count_v1, type: builtin}]");
    let ran = directory.evaluator(&["check", "config.yaml", "--outputs", "out"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("--outputs belongs to AgentV eval files"), "{}", ran.stderr);
}

#[test]
fn a_recorded_judge_needs_no_key_and_no_server_and_keys_stay_here() {
    const KEY: &str = "sk-decoy-0123456789abcdef";
    let directory = Directory::new();
    directory.file(
        "judged.yaml",
        "execution: {target: t}
tests:
  - id: one
    criteria: x
    input: q
    assertions:
      - {name: j, type: llm-grader, prompt: 'G {{output}}'}
      - {name: env, type: code-grader, command: 'if env | grep -q sk-decoy; then echo no; else echo ''{\"score\": 1}''; fi'}
",
    );
    directory.file(
        "targets.yaml",
        "targets:
  - {name: t, provider: mock, response: Paris, grader_target: g}
  - {name: g, provider: openai, base_url: '${{ JUDGE_URL }}', api_key: '${{ DECOY_API_KEY }}', model: m}
",
    );
    let reply = json!({"score": 0.9, "reasoning": format!("the key is {KEY}")}).to_string();
    let server = judge_server::start(Some(json!({"default": [{"text": reply}]})));
    let args = ["run", "judged.yaml", "-o", "json", "-vv", "--judge-cassette", "c.jsonl"];
    let mut command = directory.command(&args);
    command.env("JUDGE_URL", format!("{}/v1", server.url())).env("DECOY_API_KEY", KEY);
    let recorded = finish(command.spawn().unwrap());
    assert_eq!(recorded.code, Some(0), "{} {}", recorded.stdout, recorded.stderr);
    let cassette = directory.read("c.jsonl");
    for text in [&recorded.stdout, &recorded.stderr, &cassette] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert!(recorded.stdout.contains("the key is <redacted:DECOY_API_KEY>"), "{}", recorded.stdout);
    let replayed = directory.evaluator(&[&args[..], &["--judge-mode", "replay"]].concat());
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    let (recorded, replayed) = (report(&recorded.stdout), report(&replayed.stdout));
    assert_eq!(results(&recorded), results(&replayed));
    let check = ["check", "judged.yaml", "--judge-cassette", "c.jsonl"];
    for (mode, code) in [("replay", 0), ("auto", 2)] {
        let ran = directory.evaluator(&[&check[..], &["--judge-mode", mode]].concat());
        assert_eq!(ran.code, Some(code), "{mode}: {}{}", ran.stdout, ran.stderr);
    }
    let judge = |report: &Value| report["results"][0]["evaluators"][0]["judge"].clone();
    assert_eq!(
        (&judge(&recorded)["requests"], &judge(&replayed)["requests"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(judge(&replayed)["replayed"], 1);
    assert_eq!(server.requests().len(), 1);
    fs::write(directory.join("c.jsonl"), "").unwrap();
    let missed = directory.evaluator(&[&args[..], &["--judge-mode", "replay"]].concat());
    assert_eq!(missed.code, Some(3), "{}", missed.stdout);
}

#[cfg(unix)]
#[test]
fn a_recorded_command_that_judges_needs_no_variables() {
    let directory = Directory::new();
    let grader = "{name: j, type: llm-grader, prompt: 'G {{output}}'}";
    let suite = format!("tests: [{{id: one, criteria: x, input: q, assertions: [{grader}]}}]");
    directory.file("e.yaml", suite);
    directory.file(
        "targets.yaml",
        "targets:
  - {name: default, provider: mock, response: Paris, grader_target: j}
  - {name: j, provider: cli, cwd: '${{ JUDGE_DIRECTORY }}', command: '${{ JUDGE_COMMAND }}'}
",
    );
    let args = ["run", "e.yaml", "--judge-cassette", "c.jsonl"];
    let mut command = directory.command(&args);
    let judge = r#"echo '{"score": 1}' > {OUTPUT_FILE}"#;
    command.env("JUDGE_DIRECTORY", directory.path()).env("JUDGE_COMMAND", judge);
    finish(command.spawn().unwrap()).exits(0);
    directory.evaluator(&[&args[..], &["--judge-mode", "replay"]].concat()).exits(0);
    directory.evaluator(&args).exits(2).says("`command` needs the variable JUDGE_COMMAND");
}

#[cfg(unix)]
#[test]
fn a_file_of_tests_that_cannot_be_read_is_a_problem() {
    let test = "id: x, criteria: x, input: q, assertions: [{type: is-json}]";
    for (tests, good, bad) in [
        ("[file://cases/*.yaml]", "cases/a.yaml", "cases/b.yaml"),
        ("[file://cases/**/*.yaml]", "cases/a/a.yaml", "cases/b/b.yaml"),
        ("cases", "cases/a/case.yaml", "cases/b/case.yaml"),
    ] {
        let directory = Directory::new();
        let is_list = tests.starts_with('[');
        let text = if is_list { format!("[{{{test}}}]") } else { format!("{{{test}}}") };
        directory.file("e.yaml", format!("tests: {tests}"));
        directory.file(good, text);
        let bad = directory.join(bad);
        fs::create_dir_all(bad.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("nothing", &bad).unwrap();
        let ran = directory.evaluator(&["check", "e.yaml"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{tests}: {}", ran.stderr);
        let name = bad.to_string_lossy();
        assert!(ran.stderr.contains(&*name), "{tests}: {name} is not in {}", ran.stderr);
        fs::remove_file(&bad).unwrap();
        assert_eq!(directory.evaluator(&["check", "e.yaml"]).code, Some(0), "{tests}");
    }
}

#[test]
fn a_pattern_that_takes_exponential_time_is_an_error() {
    let directory = Directory::new();
    directory.file(
        "slow.yaml",
        "tests: [{id: one, criteria: x, input: q, assertions: [{type: regex, value: '^(a+)+$'}]}]",
    );
    directory.file("out/one.txt", format!("{}b", "a".repeat(64)));
    let ran = directory.run(&["slow.yaml", "--outputs", "out", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    let reason = report(&ran.stdout)["results"][0]["evaluators"][0]["reason"].clone();
    assert!(reason.as_str().unwrap().contains("exponentially"), "{reason}");
}

#[cfg(unix)]
#[test]
fn a_stopped_run_reports_what_is_missing() {
    let directory = Directory::new();
    directory.file(
        "slow.yaml",
        "tests: [{id: one, criteria: x, input: q, assertions: [{type: is-json}]}]",
    );
    directory.file(
        "targets.yaml",
        "targets: [{name: default, provider: cli, command: 'touch started; sleep 60'}]",
    );
    let child = directory.command(&["run", "slow.yaml", "-o", "json"]).spawn().unwrap();
    processes::wait_until("the command has started", || directory.join("started").exists());
    processes::signal("INT", &child.id().to_string());
    let ran = finish(child);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(report(&ran.stdout)["results"][0]["error"], "the run was stopped");
}
