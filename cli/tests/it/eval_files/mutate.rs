//! `evaluator mutate` with an eval file: the graders of its tests, on damaged outputs.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// A grader that sees the messages: a call of `book` in the first one, and the answer in the last one.
const GRADER: &str = "import json, sys
document = json.load(sys.stdin)
first, last = document['output_messages'][0], document['output_messages'][-1]
names = [call['tool'] for call in first['tool_calls']]
failed = any(call.get('status') == 'error' or 'error' in call['output'] for call in first['tool_calls'])
good = 'book' in names and not failed and last['content'].strip().startswith('Your table')
print(json.dumps({'score': 1.0 if good else 0.0, 'assertions': [], 'reasoning': ' '.join(names)}))
";

/// Tests whose outputs are recorded, with these graders.
fn recorded(number: usize, graders: &str) -> Directory {
    let directory = Directory::new();
    let (mut tests, mut outputs) = (String::new(), String::new());
    for n in 0..number {
        let (question, answer) =
            (format!("Book a table for {n}"), format!("Your table for {n} is booked."));
        tests += &format!(
            "- id: t{n}\n  criteria: c\n  input: {question}\n  expected_output: {answer}\n  assertions:\n{graders}\n"
        );
        let calls = json!([
            {"tool": "search", "input": {"people": n}, "output": {"free": true}, "id": format!("s{n}")},
            {"tool": "book", "input": {"people": n, "date": "2026-12-31"}, "output": {"number": 100 + n}},
        ]);
        let messages = json!([
            {"role": "assistant", "content": "One moment.", "tool_calls": calls},
            {"role": "assistant", "content": answer},
        ]);
        outputs += &format!("{}\n", json!({"test_id": format!("t{n}"), "output": messages}));
    }
    directory.file("e.yaml", format!("name: bookings\ntests:\n{tests}"));
    directory.file("outputs.jsonl", outputs);
    directory.file("check.py", GRADER);
    directory
}

const GRADERS: &str = "  - {name: booked, type: contains, value: is booked}
  - {name: calls, type: tool-trajectory, mode: exact, expected: [{tool: search}, {tool: book}]}
  - {name: messages, type: code-grader, command: [python3, check.py]}";

fn mutate(directory: &Directory, more: &[&str]) -> Ran {
    directory.evaluator(&[&["mutate", "e.yaml", "--outputs", "outputs.jsonl"], more].concat())
}

fn operator<'r>(report: &'r Value, name: &str) -> &'r Value {
    let all = report["operators"].as_array().unwrap();
    all.iter().find(|it| it["operator"] == name).unwrap_or(&Value::Null)
}

#[test]
fn graders_are_tried_on_damaged_outputs() {
    let directory = recorded(6, GRADERS);
    let ran = mutate(&directory, &["--sample", "2000", "-o", "json"]).exits(0);
    let report = ran.json();
    let all = report["evaluators"].as_array().unwrap();
    let about = |it: &Value| (it["evaluator"].clone(), it["kind"].clone());
    let expected = [
        ("bookings", Value::Null),
        ("booked", json!("answer")),
        ("calls", json!("tools")),
        ("messages", Value::Null),
    ];
    let expected: Vec<_> = expected.map(|(name, kind)| (json!(name), kind)).into();
    assert_eq!(all.iter().map(about).collect::<Vec<_>>(), expected);
    for it in all {
        assert_eq!((&it["conversations"]["passed"], &it["broke"]), (&json!(6), &json!(0)));
        assert_eq!(it["violations"], 0, "{}", it["violated"]);
        assert!(it["relations"].as_array().unwrap().len() >= 4, "{it}");
    }
    let [suite, booked, calls, messages] = [0, 1, 2, 3].map(|index| &all[index]);
    // Its text is in the answers of all others.
    let killed = |report: &Value, name: &str| operator(report, name)["killed"].clone();
    assert_eq!(
        (&killed(booked, "swap_answers"), &operator(booked, "swap_answers")["survived"]),
        (&json!(0), &json!(6))
    );
    for name in ["empty_answer", "refuse", "truncate_answer", "echo_question", "quote_verdict"] {
        let operator = operator(booked, name);
        assert_eq!(
            (&operator["killed"], operator["mutants"] == 0),
            (&operator["mutants"], false),
            "{name}"
        );
    }
    assert_eq!(booked["survived"], 6);
    for (report, names) in [
        (calls, &["drop_call", "swap_calls", "rename_tool"][..]),
        (messages, &["error_result", "empty_answer", "refuse"]),
        (suite, &["refuse", "drop_call"]),
    ] {
        for name in names {
            let operator = operator(report, name);
            assert_eq!(
                (&operator["killed"], operator["mutants"] == 0),
                (&operator["mutants"], false),
                "{name}"
            );
        }
    }
    // `book` is the second of two calls.
    let dropped = operator(messages, "drop_call");
    assert_eq!((&dropped["mutants"], &dropped["killed"]), (&json!(12), &json!(6)));
    // An output without an answer is refused before it is graded.
    assert_eq!(operator(suite, "null_answer"), &Value::Null);
    let survivor = &booked["survivors"][0];
    let again = survivor["again"].as_str().unwrap();
    let words: Vec<&str> = again.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
    let alone = directory.evaluator(&[&words[..], &["-o", "json"]].concat()).exits(0).json();
    let alone = &alone["evaluators"][0];
    assert_eq!((&alone["evaluator"], &alone["mutants"]), (&json!("booked"), &json!(1)));
    assert_eq!(alone["survivors"][0]["diff"], survivor["diff"]);
}

#[test]
fn graders_are_named_and_gated() {
    let directory = recorded(6, GRADERS);
    let gated = ["--min-killed", "0.9"];
    mutate(&directory, &[&gated[..], &["--evaluator", "calls"]].concat())
        .exits(0)
        .says("PASSED: calls: ");
    mutate(&directory, &["--min-killed", "0.95", "--evaluator", "booked"])
        .exits(1)
        .says("and 95 % are required");
    mutate(&directory, &gated).exits(2).says("to know what `bookings` measures: name graders");
    mutate(&directory, &["--evaluator", "bokked"]).exits(2).says("did you mean `booked`?");
    // Fewer than five tests have it.
    let few = recorded(4, GRADERS);
    mutate(&few, &[]).exits(2).says("it passes 4 of 4 tests, and at least 5 are needed");
}

/// Returns the numbers of an operator: mutants, killed, allowed.
fn numbers(report: &Value, name: &str) -> [u64; 3] {
    let operator = operator(report, name);
    ["mutants", "killed", "allowed"].map(|key| operator[key].as_u64().unwrap())
}

#[test]
fn the_loss_of_calls_that_a_mode_asks_for_has_to_be_noticed() {
    let both = "expected: [{tool: search}, {tool: book}]";
    let graders = format!(
        "  - {{name: some, type: tool-trajectory, mode: any_order, minimums: {{book: 1}}}}
  - {{name: ordered, type: tool-trajectory, mode: in_order, {both}}}
  - {{name: later, type: tool-trajectory, mode: in_order, expected: [{{tool: book, args: {{date: '2026-12-31'}}, args_match: exact}}]}}
  - {{name: all, type: tool-trajectory, mode: superset, {both}}}
  - {{name: only, type: tool-trajectory, mode: subset, {both}}}"
    );
    let directory = recorded(6, &graders);
    let outputs = directory.read("outputs.jsonl");
    for n in 0..6 {
        assert!(outputs.contains(&format!(r#""date":"2026-12-31","people":{n}"#)), "{outputs}");
    }
    let one = |outputs: &str| {
        (0..6).fold(outputs.to_owned(), |it, n| {
            it.replace(
                &format!(r#","people":{n}}},"output":{{"number""#),
                r#"},"output":{"number""#,
            )
        })
    };
    directory.file("outputs.jsonl", one(&outputs));
    let named = ["some", "ordered", "later", "all", "only"];
    let named: Vec<&str> = named.iter().flat_map(|it| ["--evaluator", *it]).collect();
    let asked = ["--sample", "2000", "-o", "json", "--min-killed", "1"];
    let report = mutate(&directory, &[&named[..], &asked].concat()).exits(0).json();
    // Mutants, killed and allowed, of six tests with a call of `search` and one of `book`.
    for (index, expected) in [
        [[12, 6, 6], [12, 6, 6], [6, 0, 6], [12, 0, 12], [12, 0, 12]],
        [[12, 12, 0], [12, 12, 0], [6, 6, 0], [12, 0, 12], [12, 0, 12]],
        [[12, 6, 6], [12, 6, 6], [6, 0, 6], [12, 0, 12], [12, 6, 6]],
        [[12, 12, 0], [12, 12, 0], [6, 0, 6], [12, 0, 12], [12, 0, 12]],
        [[12, 0, 12], [12, 12, 0], [6, 0, 6], [12, 0, 12], [12, 0, 12]],
    ]
    .into_iter()
    .enumerate()
    {
        let it = &report["evaluators"][index];
        let operators = ["drop_call", "rename_tool", "swap_calls", "duplicate_call", "add_arg"];
        assert_eq!(operators.map(|name| numbers(it, name)), expected, "{}", it["evaluator"]);
        assert_eq!((&it["violations"], &it["survived"]), (&json!(0), &json!(0)), "{it}");
    }
    let some = &report["evaluators"][0];
    let expect = |name: &str| operator(some, name)["expect"].clone();
    assert_eq!([expect("drop_call"), expect("duplicate_call")], ["down", "any"]);
}

#[test]
fn calls_beyond_a_budget_have_to_be_noticed() {
    let graders = "  - {name: full, type: execution-metrics, max_tool_calls: 2}
  - {name: roomy, type: execution-metrics, max_tool_calls: 3}
  - {name: cheap, type: cost, budget: 1}";
    let directory = recorded(6, graders);
    let outputs =
        directory.read("outputs.jsonl").replace("\"output\":[", "\"cost_usd\":0.5,\"output\":[");
    directory.file("outputs.jsonl", outputs);
    let of = |name: &str, code: i32| {
        let ran = mutate(&directory, &["--evaluator", name, "-o", "json", "--min-killed", "1"]);
        (ran.json()["evaluators"][0].clone(), ran.exits(code))
    };
    let (full, _) = of("full", 0);
    assert_eq!(numbers(&full, "duplicate_call"), [12, 12, 0]);
    assert_eq!(numbers(&full, "drop_call"), [12, 0, 12]);
    for name in ["roomy", "cheap"] {
        let (report, ran) = of(name, 2);
        assert_eq!(numbers(&report, "duplicate_call"), [12, 0, 12], "{name}");
        ran.says("nothing has to be killed among ");
        let ran = mutate(&directory, &["--evaluator", name]).exits(0);
        ran.says(" mutants, none of which has to be noticed");
    }
}

#[test]
fn what_is_not_damaged_has_not_passed() {
    let directory = recorded(6, GRADERS);
    let outputs =
        directory.read("outputs.jsonl").replace("Your table for 3 is", "The table for 3 was");
    directory.file("outputs.jsonl", outputs);
    let booked = |more: &[&str]| mutate(&directory, &[&["--evaluator", "booked"], more].concat());
    booked(&["--case", "t3"])
        .exits(2)
        .says("NOT RUN: booked: nothing to damage: it passes 0 of 1 tests (1 fail); only `t3` was asked for");
    booked(&["--case", "t4"]).exits(0).says("PASSED: booked: ");
    booked(&["--case", "t9"]).exits(2).says("the eval file has no test `t9`");
    booked(&["--operators", "drop_call"]).exits(2).says(
        "NOT RUN: booked: nothing to damage: no operator that concerns it changes one of the tests",
    );
    booked(&["--only", "refuse@7"])
        .exits(2)
        .says("does not apply to any test, or no grader passes any test");
    // A relation alone is tried.
    booked(&["--only", "white_space@1", "--case", "t4"]).exits(0);
    assert!(booked(&[]).exits(0).stdout.contains("booked (answer): passes 5 tests\n"));
}

#[test]
fn a_grader_that_breaks_is_an_error() {
    let broken = GRADER.replace("good = ", "assert last['content']\ngood = ");
    let directory = recorded(6, GRADERS);
    directory.file("check.py", broken);
    let options = ["--operators", "empty_answer,refuse", "--no-relations", "-o", "json"];
    let ran = mutate(&directory, &options).exits(3);
    let all = ran.json()["evaluators"].clone();
    let broke = |index: usize| all[index]["broke"].clone();
    // Also of the suite, but not of the other graders.
    assert_eq!([0, 1, 3].map(broke), [6, 0, 6].map(Value::from));
    let error = all[3]["broken"][0]["error"].as_str().unwrap();
    assert!(error.contains("AssertionError"), "{error}");
}

#[test]
fn tests_that_break_before_they_are_graded_are_errors_of_their_graders() {
    let directory = recorded(8, "  - {name: booked, type: contains, value: is booked}");
    let outputs = fs::read_to_string(directory.path().join("outputs.jsonl")).unwrap();
    let first: Vec<&str> = outputs.lines().take(6).collect();
    directory.file("outputs.jsonl", first.join("\n") + "\n");
    for named in [&["--evaluator", "booked"][..], &[]] {
        let ran = mutate(&directory, &[named, &["-o", "json"]].concat()).exits(3);
        let report = ran.json();
        let all = report["evaluators"].as_array().unwrap();
        let booked = all.iter().find(|it| it["evaluator"] == "booked").unwrap();
        assert_eq!(booked["conversations"]["errors"], 2, "{booked}");
    }
}

#[test]
fn outputs_of_targets_that_are_asked_are_refused() {
    let directory = recorded(6, GRADERS);
    let target = "targets: [{name: default, provider: cli, command: 'echo x > {OUTPUT_FILE}'}]";
    directory.file("targets.yaml", target);
    let ran = directory.evaluator(&["mutate", "e.yaml"]).exits(2);
    let ran = ran.says("the output of the test `t0` is not recorded");
    assert!(ran.stderr.contains("--outputs"), "{}", ran.stderr);
    // A recording of `replay` is one.
    let line = |n: usize| {
        let messages =
            json!([{"role": "assistant", "content": format!("Your table for {n} is booked.")}]);
        let fixture = json!({"schema_version": "agentv.replay_fixture.v1", "test_id": format!("t{n}"), "source_target": "agent", "output": messages});
        format!("{fixture}\n")
    };
    directory.file("fixtures.jsonl", (0..6).map(line).collect::<String>());
    let replay = "targets: [{name: default, provider: replay, fixtures: fixtures.jsonl, source_target: agent}]";
    directory.file("targets.yaml", replay);
    let named =
        ["mutate", "e.yaml", "--evaluator", "booked", "--operators", "refuse", "-o", "json"];
    let report = directory.evaluator(&named).exits(0).json();
    assert_eq!(report["evaluators"][0]["killed"], 6);
    let mixed = ["mutate", "e.yaml", "-c", "c.yaml"];
    directory.file("c.yaml", "evaluators: []\n");
    directory.evaluator(&mixed).exits(2).says("--config belongs to trace files");
}
