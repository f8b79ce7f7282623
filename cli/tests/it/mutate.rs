//! `evaluator mutate`: damaged conversations, and whether evaluators notice.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use serde_json::{Value, json};

use crate::{
    containment::is_available,
    support::{Directory, Ran, has, kept_source, page::Page},
};

/// An evaluator that always answers this.
const ALWAYS: &str = "print('{\"score\": %}')";

/// An evaluator that reads the document: a long answer, and a call of `book` with a date.
const CAREFUL: &str = "import json, sys
document = json.load(sys.stdin)
good = all(
    turn['final_response'] and turn['final_response'].strip().startswith('Your table')
    and [call['args'].get('date') for call in turn['intermediate_steps']['tool_calls'] if call['name'] == 'book'] == ['2026-12-31']
    for turn in document['invocations']
)
print(json.dumps({'score': 1.0 if good else 0.0}))
";

/// Conversations in which a table is booked, each with a golden case that it meets.
fn booked(number: usize) -> Directory {
    let directory = Directory::new();
    let (mut lines, mut cases) = (String::new(), Vec::new());
    for n in 0..number {
        let (people, id) = (n + 2, 16 * (n + 1));
        let question = format!("Book a table for {people} at seven");
        let answer = format!("Your table for {people} is booked at 19:00, number {}.", 100 + n);
        let calls = [
            ("search", json!({"city": "Bern", "people": people}), json!({"free": true, "at": 19})),
            ("book", json!({"date": "2026-12-31", "people": people}), json!({"number": 100 + n})),
        ];
        let span = |index: usize, name: &str, attributes: &[(&str, String)]| {
            let attributes: Vec<Value> = attributes
                .iter()
                .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                .collect();
            let mut span = json!({
                "traceId": format!("{:032x}", n + 1), "spanId": format!("{:016x}", id + index), "name": name,
                "startTimeUnixNano": (1_700_000_000_000_000_000_u64 + index as u64).to_string(),
                "endTimeUnixNano": "1700000001000000000", "attributes": attributes,
            });
            if index > 0 {
                span["parentSpanId"] = format!("{id:016x}").into();
            }
            span.to_string() + "\n"
        };
        let message = |role: &str, text: &str| {
            json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
        };
        lines += &span(
            0,
            "invoke_agent",
            &[
                ("gen_ai.operation.name", "invoke_agent".to_owned()),
                ("gen_ai.input.messages", message("user", &question)),
                ("gen_ai.output.messages", message("assistant", &answer)),
            ],
        );
        for (index, (name, arguments, result)) in calls.iter().enumerate() {
            let attributes = [
                ("gen_ai.operation.name", "execute_tool".to_owned()),
                ("gen_ai.tool.name", (*name).to_owned()),
                ("gen_ai.tool.call.id", format!("call-{index}")),
                ("gen_ai.tool.call.arguments", arguments.to_string()),
                ("gen_ai.tool.call.result", result.to_string()),
            ];
            lines += &span(index + 1, "execute_tool", &attributes);
        }
        let uses: Vec<Value> =
            calls.iter().map(|(name, args, _)| json!({"name": name, "args": args})).collect();
        cases.push(json!({"eval_id": format!("case-{n}"), "conversation": [{
            "user_content": {"parts": [{"text": question}]},
            "final_response": {"parts": [{"text": answer}]},
            "intermediate_data": {"tool_uses": uses},
        }]}));
    }
    directory.file("traces.jsonl", lines);
    directory.file("set.json", json!({"eval_set_id": "set", "eval_cases": cases}).to_string());
    directory
}

fn configure(directory: &Directory, entry: &str) {
    directory.file("c.yaml", format!("eval_set: set.json\nevaluators:\n- {entry}\n"));
}

/// Six conversations, and an entry of a program in Python with these keys.
fn python(text: &str, keys: &str) -> Directory {
    let directory = booked(6);
    directory.file("check.py", text);
    configure(&directory, &format!("{{name: check, type: code, path: check.py{keys}}}"));
    directory
}

fn mutate(directory: &Directory, options: &[&str]) -> Ran {
    directory.evaluator(&[&["mutate", "traces.jsonl", "-c", "c.yaml"], options].concat())
}

/// Returns the report of the only evaluator.
fn tried(directory: &Directory, code: i32, options: &[&str]) -> Value {
    let ran = mutate(directory, &[&["-o", "json"], options].concat()).exits(code);
    ran.json()["evaluators"][0].clone()
}

fn operator<'r>(report: &'r Value, name: &str) -> &'r Value {
    let all = report["operators"].as_array().unwrap();
    all.iter().find(|it| it["operator"] == name).unwrap_or(&Value::Null)
}

#[test]
fn an_evaluator_that_always_says_yes_kills_nothing() {
    let directory = python(&ALWAYS.replace('%', "1.0"), ", mutate: {kind: answer}");
    let report = tried(&directory, 0, &[]);
    assert_eq!((&report["kind"], &report["survived"]), (&json!("answer"), &json!(72)));
    assert_eq!((&report["killed"], &report["kill_rate"]["rate"]), (&json!(0), &json!(0.0)));
    assert_eq!(report["violations"], 0);
    let survivors = report["survivors"].as_array().unwrap();
    assert_eq!(json!(survivors.len()), report["survived"]);
    let first = &survivors[0];
    assert_eq!((&first["before"], &first["after"]), (&json!(1.0), &json!(1.0)));
    let diff = first["diff"].as_str().unwrap();
    assert!(diff.contains("\n-") && diff.contains("\n+"), "{diff}");
    // Those that differ least come first, whatever is around the difference.
    let sizes: Vec<usize> =
        survivors.iter().map(|it| lengths(it["diff"].as_str().unwrap())).collect();
    assert!(sizes[0] < sizes[sizes.len() - 1], "{sizes:?}");
    let asked = ["--min-killed", "0.8", "-o", "html=a.html", "-o", "json"];
    let ran = mutate(&directory, &asked).exits(1);
    let ran = ran.says("FAILED: check: 0 of").says("and 80 % are required");
    // The page has the same data.
    let page = Page::read(&directory.read("a.html"));
    assert_eq!(
        (&page.data["subject"], &page.data["verdict"]),
        (&json!("mutation"), &json!("FAILED"))
    );
    assert_eq!(page.data["result"], ran.json());
}

#[test]
fn an_evaluator_that_always_says_no_has_nothing_to_damage() {
    let directory = python(&ALWAYS.replace('%', "0.0"), "");
    let ran = mutate(&directory, &[]).exits(2);
    ran.says("NOT RUN: check: nothing to damage: it passes 0 of 6 conversations (6 fail), and at least 5 are needed");
    let few = booked(4);
    few.file("check.py", ALWAYS.replace('%', "1.0"));
    configure(&few, "{name: check, type: code, path: check.py}");
    mutate(&few, &[]).exits(2).says("it passes 4 of 4 conversations, and at least 5 are needed");
}

#[test]
fn an_evaluator_that_breaks_kills_nothing() {
    let fragile = CAREFUL.replace("turn['final_response'] and ", "");
    let directory = python(&fragile, ", mutate: {kind: answer}");
    let options = ["--operators", "null_answer,refuse", "--no-relations"];
    let report = tried(&directory, 3, &options);
    assert_eq!((&report["killed"], &report["broke"]), (&json!(6), &json!(6)));
    let null_answer = operator(&report, "null_answer");
    let of = (&null_answer["broke"], &null_answer["kill_rate"]["of"]);
    assert_eq!(of, (&json!(6), &json!(6)));
    let broken = &report["broken"][0];
    assert!(broken["error"].as_str().unwrap().contains("AttributeError"), "{broken}");
    let tolerated = [&options[..], &["--max-error-rate", "0.5"]].concat();
    tried(&directory, 0, &tolerated);
    // It has not killed that with which it broke.
    tried(&directory, 1, &[&tolerated[..], &["--min-killed", "0.9"]].concat());
    mutate(&directory, &options).exits(3).says("ERROR: check: 6 of 12 killed");
    let markdown = [&tolerated[..], &["--min-killed", "0.9", "-o", "markdown"]].concat();
    let page = mutate(&directory, &markdown).exits(1).stdout;
    assert!(page.contains("and 90 % are required"), "{page}");
    assert!(page.contains("AttributeError"), "{page}");
}

#[test]
fn an_evaluator_that_breaks_where_nothing_must_matter_is_an_error() {
    let fragile = "import json, sys
document = json.load(sys.stdin)
for turn in document['invocations']:
    assert turn['user_content'] == turn['user_content'].strip(), 'white space'
    assert not any(isinstance(it, float) for call in turn['intermediate_steps']['tool_calls'] for it in call['args'].values()), 'float'
good = all(turn['final_response'] for turn in document['invocations'])
print(json.dumps({'score': 1.0 if good else 0.0}))
";
    let directory = python(fragile, ", mutate: {kind: form}");
    let options = ["--operators", "empty_answer"];
    let report = tried(&directory, 3, &options);
    assert_eq!((&report["broke"], &report["violations"]), (&json!(0), &json!(0)));
    for name in ["white_space", "float_arguments"] {
        let all = report["relations"].as_array().unwrap();
        let relation = all.iter().find(|it| it["relation"] == name).unwrap();
        assert_eq!((&relation["checked"], &relation["broke"]), (&json!(0), &json!(6)), "{name}");
        let mut broken = report["broken"].as_array().unwrap().iter();
        let first = broken.find(|it| it["expected"] == name).unwrap();
        assert!(first["error"].as_str().unwrap().contains("AssertionError"), "{first}");
    }
    let ran = mutate(&directory, &options).exits(3).says("12 errors");
    assert!(ran.stdout.contains("white_space broke in 6 of 6"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("all hold"), "{}", ran.stdout);
    tried(&directory, 0, &[&options[..], &["--max-error-rate", "0.5"]].concat());
}

#[test]
fn a_single_edit_is_tried_again() {
    let directory = python(CAREFUL, ", mutate: {kind: answer}");
    let report = tried(&directory, 0, &["--operators", "swap_answers,change_number"]);
    let survivor = &report["survivors"][0];
    assert_eq!(survivor["mutant"], "swap_answers@1");
    let again = survivor["again"].as_str().unwrap();
    let words = shell_words(again);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = directory.evaluator(&[&words[1..], &["-o", "json"]].concat()).exits(0);
    let alone = &ran.json()["evaluators"][0];
    assert_eq!(alone["mutants"], 1);
    for key in ["mutant", "case", "diff"] {
        assert_eq!(alone["survivors"][0][key], survivor[key], "{key}");
    }
    // Without a case, of all conversations.
    let all = tried(&directory, 0, &["--only", "swap_answers@1"]);
    assert_eq!((&all["mutants"], &all["survived"]), (&json!(6), &json!(6)));
    mutate(&directory, &["--only", "refuse@1", "--case", "case-9"])
        .exits(2)
        .says("the traces have no conversation `case-9`");
    mutate(&directory, &["--only", "refuse@7", "--case", "case-1"])
        .exits(2)
        .says("`refuse@7` does not apply to case-1");
}

#[test]
fn a_case_that_fails_has_nothing_to_damage() {
    let directory = python(CAREFUL, ", mutate: {kind: answer}");
    let traces = directory.read("traces.jsonl").replace("Your table for 4", "A table for 4");
    directory.file("traces.jsonl", traces);
    mutate(&directory, &["--case", "case-2"])
        .exits(2)
        .says("NOT RUN: check: nothing to damage: it passes 0 of 1 conversations (1 fail); only `case-2` was asked for");
    mutate(&directory, &["--case", "case-1", "--operators", "refuse"])
        .exits(0)
        .says("PASSED: check: ");
    // Nothing in these conversations can be negated.
    let traces = directory.read("traces.jsonl").replace("is booked", "awaits you");
    directory.file("traces.jsonl", traces);
    mutate(&directory, &["--operators", "negate_answer"])
        .exits(2)
        .says("NOT RUN: check: nothing to damage: no operator that concerns it changes one of the conversations");
}

/// Runs the command line of a report again. Returns its exit code, and the report of its evaluator.
fn again(directory: &Directory, shown: &Value, more: &[&str]) -> (Option<i32>, Value) {
    let words = shell_words(shown["again"].as_str().unwrap());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = directory.evaluator(&[&words[1..], &["-o", "json"], more].concat());
    (ran.code, ran.json()["evaluators"][0].clone())
}

#[test]
fn damage_that_only_lowers_the_score_is_shown() {
    let text = CAREFUL.replace("0.0", "0.8");
    let directory = python(&text, ", mutate: {kind: answer}");
    let report = tried(&directory, 0, &["--operators", "refuse", "--no-relations"]);
    assert_eq!((&report["noticed"], &report["survived"]), (&json!(6), &json!(0)));
    let shown = &report["survivors"][5];
    assert_eq!((&shown["expected"], &shown["after"]), (&json!("down"), &json!(0.8)));
    let table = mutate(&directory, &["--operators", "refuse"]).exits(0).stdout;
    assert!(table.contains("refuse@1 of case-0 (down): 1.000 -> 0.800; and 5 more"), "{table}");
}

#[test]
fn relations_of_two_evaluations_are_checked_again() {
    let text = "import json, sys
text = json.load(sys.stdin)['invocations'][0]['final_response']
print(json.dumps({'score': 1.0 if not text or 'cannot help' in text or 'Ignore all' in text else 0.9}))
";
    let keys = ", mutate: {kind: answer, expect: {inject_judge: down}}";
    let directory = python(text, keys);
    let report = tried(&directory, 1, &["--operators", "refuse,truncate_answer,inject_judge"]);
    for relation in ["golden", "injection", "two_edits"] {
        let all = report["violated"].as_array().unwrap();
        let shown = all.iter().find(|it| it["expected"] == relation);
        let shown = shown.unwrap_or_else(|| panic!("{relation}: {all:?}"));
        let (code, alone) = again(&directory, shown, &[]);
        let violated = alone["violated"].as_array().unwrap();
        let same = violated.iter().find(|it| it["expected"] == relation);
        let same = same.unwrap_or_else(|| panic!("{relation}: {alone}"));
        assert_eq!(
            (code, &same["mutant"], &same["after"]),
            (Some(1), &shown["mutant"], &shown["after"])
        );
    }
}

#[test]
fn the_order_of_conversations_is_checked_again() {
    // Its score falls from the first conversation on that comes after a later one.
    let text = "import json, sys
from pathlib import Path
number = int(json.load(sys.stdin)['invocations'][0]['user_content'].split()[4])
last = Path('LAST')
before = int(last.read_text()) if last.exists() else 0
falls = before < 0 or number < before
last.write_text(str(-1 if falls else number))
print(json.dumps({'score': 0.6 if falls else 1.0}))
";
    let directory = python("", ", mutate: {kind: form}");
    let last = directory.path().join("last");
    directory.file("check.py", text.replace("LAST", &last.display().to_string()));
    let report = tried(&directory, 1, &["--operators", "empty_answer", "--jobs", "1"]);
    let all = report["violated"].as_array().unwrap();
    let shown = all.iter().find(|it| it["expected"] == "other_order").unwrap();
    fs::remove_file(&last).unwrap();
    let (code, alone) = again(&directory, shown, &["--jobs", "1"]);
    let violated = alone["violated"].as_array().unwrap();
    let cases: Vec<&Value> = violated.iter().map(|it| &it["case"]).collect();
    assert_eq!((code, cases.contains(&&shown["case"])), (Some(1), true), "{cases:?}");
}

#[test]
fn a_case_may_have_the_name_of_an_option() {
    let directory = python(&ALWAYS.replace('%', "1.0"), ", mutate: {kind: answer}");
    directory.file("set.json", directory.read("set.json").replace("case-", "--sample="));
    let report = tried(&directory, 0, &["--operators", "refuse"]);
    let (code, alone) = again(&directory, &report["survivors"][0], &[]);
    assert_eq!((code, &alone["survivors"][0]["case"]), (Some(0), &report["survivors"][0]["case"]));
}

#[test]
fn programs_are_named_by_their_paths() {
    let directory = python(CAREFUL, "");
    directory.file("other.py", ALWAYS.replace('%', "1.0"));
    let options =
        ["mutate", "traces.jsonl", "--operators", "refuse", "--no-relations", "-o", "json"];
    let of = |more: &[&str]| {
        let report = directory.evaluator(&[&options[..], more].concat()).exits(0).json();
        let all = report["evaluators"].as_array().unwrap().clone();
        all.iter().map(|it| (it["evaluator"].clone(), it["allowed"].clone())).collect::<Vec<_>>()
    };
    let [check, other] = ["check", "other"].map(Value::from);
    assert_eq!(of(&["--evaluator", "./other.py"]), [(other.clone(), json!(6))]);
    assert_eq!(of(&["-c", "c.yaml", "--evaluator", "./other.py"]), [(other.clone(), json!(6))]);
    assert_eq!(
        of(&["-c", "c.yaml", "--evaluator", "./other.py", "--evaluator", "check"]),
        [(check, json!(0)), (other, json!(6))]
    );
    configure(&directory, "{name: check, type: code, path: check.py, mutate: {kind: answer}}");
    let both = ["--evaluator", "check", "--evaluator", "./other.py", "--operators", "swap_answers"];
    let report = tried(&directory, 0, &[&both[..], &["--no-relations"]].concat());
    let again = report["survivors"][0]["again"].as_str().unwrap();
    assert!(again.contains("--evaluator=check") && !again.contains("other"), "{again}");
}

/// Returns the length of the lines that differ.
fn lengths(diff: &str) -> usize {
    diff.lines().filter(|line| line.starts_with(['-', '+'])).map(str::len).sum()
}

/// Splits a command line that has no quotes but those around whole words.
fn shell_words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn metrics_know_what_they_measure() {
    let directory = booked(6);
    directory.file(
        "c.yaml",
        "eval_set: set.json\nevaluators:\n\
         - {name: tool_trajectory_avg_score, type: builtin}\n\
         - {name: response_match_score, type: builtin, threshold: 0.8}\n\
         - {name: tool_call_count_v1, type: builtin, max: 2}\n",
    );
    let ran = mutate(&directory, &["-o", "json", "--min-killed", "0.9"]).exits(2);
    // Nothing has to exceed a budget.
    let ran = ran.says("tool_call_count_v1: nothing has to be killed");
    let report = ran.json();
    let [tools, answers, budget] = [0, 1, 2].map(|index| report["evaluators"][index].clone());
    assert_eq!((&tools["kind"], &tools["kill_rate"]["rate"]), (&json!("tools"), &json!(1.0)));
    assert_eq!(
        operator(&tools, "empty_answer")["allowed"],
        operator(&tools, "empty_answer")["mutants"]
    );
    assert_eq!(answers["kind"], "answer");
    assert_eq!(operator(&answers, "drop_call"), &Value::Null);
    assert_eq!(operator(&answers, "empty_answer")["killed"], 6);
    assert_eq!(
        operator(&budget, "duplicate_call")["killed"],
        operator(&budget, "duplicate_call")["mutants"]
    );
    for it in [&tools, &answers, &budget] {
        assert_eq!(it["violations"], 0, "{}", it["violated"]);
        assert!(it["relations"].as_array().unwrap().len() >= 5);
    }
    mutate(&directory, &["--evaluator", "tool_trajectory_avg_score", "--min-killed", "0.9"])
        .exits(0)
        .says("PASSED: tool_trajectory_avg_score: ");
    mutate(&directory, &["--evaluator", "response_mach_score"])
        .exits(2)
        .says("did you mean `response_match_score`?");
}

#[test]
fn programs_of_every_language_are_tried() {
    let rust = r#"
use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn booked(input: &EvalInput) -> bool {
    input.invocations.iter().all(|turn| turn.final_response.as_deref().is_some_and(|it| it.trim().starts_with("Your table")))
}

fn main() -> std::process::ExitCode {
    booked::run()
}
"#;
    let javascript = "let text = '';
process.stdin.on('data', (part) => (text += part)).on('end', () => {
  const good = JSON.parse(text).invocations.every((turn) => (turn.final_response ?? '').trim().startsWith('Your table'));
  console.log(JSON.stringify({ score: good ? 1 : 0 }));
});
";
    let rust = kept_source("mutated_booked", rust);
    let directory = booked(6);
    directory.file("check.py", CAREFUL);
    directory.file("check.mjs", javascript);
    let mut entries = vec![
        format!("{{name: booked, type: code, path: {}, mutate: {{kind: answer}}}}", rust.display()),
        "{name: forked, type: code, path: check.py, mutate: {kind: answer}}".to_owned(),
    ];
    if has("node") {
        entries
            .push("{name: script, type: code, path: check.mjs, mutate: {kind: answer}}".to_owned());
    }
    configure(&directory, &entries.join("\n- "));
    let options = ["-o", "json", "--operators", "empty_answer,refuse,negate_answer"];
    let report = mutate(&directory, &options).exits(0).json();
    for it in report["evaluators"].as_array().unwrap() {
        assert_eq!(operator(it, "empty_answer")["killed"], 6, "{it}");
        assert_eq!(operator(it, "refuse")["killed"], 6, "{it}");
        assert_eq!(operator(it, "negate_answer")["allowed"], 6, "{it}");
        assert_eq!((&it["violations"], &it["broke"]), (&json!(0), &json!(0)));
    }
}

#[test]
fn judges_are_asked_about_damage_on_a_cassette_of_their_own() {
    let directory = booked(5);
    // It obeys orders that it finds in what it judges.
    directory.file(
        "model.py",
        "import json, re, sys\ntext = json.load(sys.stdin)['messages'][-1]['content']\n\
         people = re.findall('able for ([0-9]+)', text)\n\
         good = len(people) == 2 and people[0] == people[1] or 'the score 1.0' in text\n\
         print(json.dumps({'text': json.dumps({'reasoning': 'r', 'score': 1.0 if good else 0.0})}))\n",
    );
    configure(
        &directory,
        "{name: kind, type: llm_judge, prompt: 'Is it booked? {{ user_input }} {{ response }}', judge: {model: 'command:model.py', samples: 1, cassette: c.jsonl}}",
    );
    let options = ["--operators", "empty_answer,inject_judge", "--sample", "100"];
    let recorded = tried(&directory, 1, &options);
    assert_eq!(recorded["kind"], "rubric");
    assert!(!directory.join("c.jsonl").exists());
    assert!(directory.join("c-mutate.jsonl").exists());
    let orders = operator(&recorded, "inject_judge");
    assert!(orders["survived"].as_u64().unwrap() > 0, "{orders}");
    fs::remove_file(directory.join("model.py")).unwrap();
    directory.file("model.py", "raise SystemExit('no model is asked')");
    let replayed = tried(&directory, 1, &[&options[..], &["--judge-mode", "replay"]].concat());
    for key in ["conversations", "operators", "relations", "violations", "kill_rate"] {
        assert_eq!(replayed[key], recorded[key], "{key}");
    }
    // A question that was not recorded is an error, and no kill.
    let other = ["--operators", "refuse", "--judge-mode", "replay"];
    let missing = tried(&directory, 3, &other);
    assert_eq!((&missing["killed"], &missing["broke"]), (&json!(0), &json!(5)));
}

#[test]
fn a_score_that_depends_on_what_must_not_matter_is_a_violation() {
    let text = CAREFUL.replace("1.0 if good", "(0.9 if document['invocations'][0]['user_content'].endswith(' ') or document['invocations'][0]['user_content'].endswith('\\n') else 1.0) if good");
    let directory = python(&text, ", mutate: {kind: form}");
    let report = tried(&directory, 1, &["--operators", "empty_answer"]);
    let relations = report["relations"].as_array().unwrap();
    let white_space = relations.iter().find(|it| it["relation"] == "white_space").unwrap();
    assert_eq!((&white_space["checked"], &white_space["violations"]), (&json!(6), &json!(6)));
    assert_eq!(report["violations"], 6);
    assert_eq!(report["violated"][0]["mutant"], "white_space@1");
    let table = mutate(&directory, &["--operators", "empty_answer"]).exits(1).stdout;
    assert!(table.contains("white_space violated in 6 of 6"), "{table}");
    tried(&directory, 0, &["--operators", "empty_answer", "--no-relations"]);
    configure(
        &directory,
        "{name: check, type: code, path: check.py, mutate: {kind: form, skip: [white_space]}}",
    );
    tried(&directory, 0, &["--operators", "empty_answer"]);
}

#[test]
fn a_key_that_no_contract_has_must_not_matter() {
    // One level of the document has the keys each; the third program is told so by its contract.
    for (keys, known) in [
        (
            ", mutate: {kind: form}",
            "set(document) <= {'protocol_version', 'metric_name', 'threshold', 'config', 'invocations', 'expected_invocations'}",
        ),
        (
            ", mutate: {kind: form}",
            "all('unknown_key' not in turn for turn in document['invocations'])",
        ),
        (", contract: agentv, mutate: {kind: form}", "'unknown_key' not in document"),
    ] {
        let text = format!(
            "import json, sys\ndocument = json.load(sys.stdin)\nprint(json.dumps({{'score': 1.0 if {known} else 0.0}}))"
        );
        let directory = python(&text, keys);
        let report = tried(&directory, 1, &["--operators", "refuse"]);
        let checked = |it: &Value| (it["relation"].clone(), it["violations"].clone());
        let relations: Vec<_> =
            report["relations"].as_array().unwrap().iter().map(checked).collect();
        assert!(relations.contains(&(json!("unknown_keys"), json!(6))), "{relations:?}");
        assert_eq!(report["violations"], 6, "{relations:?}");
        let shown = &report["violated"][0];
        assert_eq!(shown["mutant"], "unknown_keys@1");
        assert!(shown["diff"].as_str().unwrap().contains("unknown_key"), "{shown}");
    }
}

#[test]
fn false_alarms_are_violations() {
    // What it has to leave alone is said by its entry.
    let keys = ", mutate: {kind: answer, expect: {drop_call: same, refuse: any}}";
    let directory = python(CAREFUL, keys);
    let report = tried(&directory, 1, &["--operators", "drop_call,refuse", "--no-relations"]);
    // Only one of the two calls matters to it.
    assert_eq!(operator(&report, "drop_call")["false_alarms"], 6);
    assert_eq!(operator(&report, "drop_call")["allowed"], 6);
    assert_eq!(operator(&report, "refuse")["killed"], 6);
    assert_eq!((&report["violations"], &report["kill_rate"]), (&json!(6), &Value::Null));
}

#[test]
fn unstable_conversations_are_left_out_by_name() {
    let directory = booked(6);
    directory.script(
        "check",
        "if grep -q 'for 4 at' && ! mkdir first 2>/dev/null; then echo '{\"score\": 0.5}'; else echo '{\"score\": 1}'; fi",
    );
    configure(&directory, "{name: check, type: code, path: ./check}");
    let report = tried(&directory, 0, &["--operators", "refuse", "--no-relations"]);
    assert_eq!(report["conversations"]["unstable"], json!(["case-2"]));
    assert_eq!((&report["conversations"]["passed"], &report["mutants"]), (&json!(5), &json!(5)));
    mutate(&directory, &["--min-killed", "0.5"])
        .exits(2)
        .says("`--min-killed` needs to know what `check` measures");
}

#[test]
fn entries_name_operators_that_exist() {
    let directory = python(CAREFUL, ", mutate: {kind: answers, expect: {refuze: down}, skip: [x]}");
    let ran = mutate(&directory, &[]).exits(2);
    for said in
        ["`kind`", "there is no operator or relation `refuze`", "did you mean `refuse`?", "`x`"]
    {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    mutate(&directory, &["--operators", "refuze"]).exits(2).says("there is no operator `refuze`");
}

#[test]
fn killed_and_survived_are_saved_with_the_documents_of_survivors() {
    let directory = python(CAREFUL, ", mutate: {kind: answer}");
    let options = ["--operators", "swap_answers,refuse", "--save", "saved"];
    let report = tried(&directory, 0, &options);
    let killed = directory.read("saved/killed.txt");
    assert_eq!(killed.lines().count(), 6);
    assert_eq!(killed.lines().next(), Some("check\trefuse@1\tcase-0"));
    let survived = directory.read("saved/survived.txt");
    assert_eq!(json!(survived.lines().count()), report["survived"]);
    let (file, name) = survived.lines().next().unwrap().split_once('\t').unwrap();
    assert_eq!(name, "check\tswap_answers@1\tcase-0");
    let document: Value = serde_json::from_str(&directory.read(&format!("saved/{file}"))).unwrap();
    assert_eq!(
        document["invocations"][0]["final_response"],
        "Your table for 3 is booked at 19:00, number 101."
    );
}

#[test]
fn contained_programs_stay_contained() {
    if !is_available() {
        return;
    }
    let directory = booked(6);
    directory.file(
        "checks/check.py",
        "import json, pathlib, sys\njson.load(sys.stdin)\nsecret = pathlib.Path(__file__).parent.parent / 'set.json'\n\
         try:\n    secret.read_text()\n    print('{\"score\": 0.0}')\nexcept OSError:\n    print('{\"score\": 1.0}')\n",
    );
    configure(&directory, "{name: check, type: code, path: checks/check.py, executor: sandbox}");
    let report = tried(&directory, 0, &["--contain", "--operators", "refuse,empty_answer"]);
    assert_eq!((&report["allowed"], &report["broke"]), (&json!(12), &json!(0)));
    let open = python(CAREFUL, "");
    mutate(&open, &["--contain"]).exits(2).says("not contained: check");
}

#[test]
fn a_raised_threshold_must_not_make_a_failure_pass() {
    // It passes what it has failed if more is asked.
    let text = "import json, sys\ndocument = json.load(sys.stdin)\nuser = document['invocations'][0]['user_content']\n\
                good = 'for 2' not in user or document['threshold'] > 0.5\nprint(json.dumps({'score': 1.0 if good else 0.0}))\n";
    let directory = python(text, "");
    let report = tried(&directory, 1, &["--operators", "refuse"]);
    let relations = report["relations"].as_array().unwrap();
    let raised = relations.iter().find(|it| it["relation"] == "raised_threshold").unwrap();
    assert_eq!((&raised["checked"], &raised["violations"]), (&json!(1), &json!(1)));
    assert_eq!(report["violated"][0]["case"], "case-0");
    tried(&directory, 0, &["--operators", "refuse", "--no-relations"]);
    let fragile = text.replace("good =", "assert document['threshold'] == 0.5\ngood =");
    directory.file("check.py", fragile);
    let report = tried(&directory, 3, &["--operators", "refuse"]);
    let relations = report["relations"].as_array().unwrap();
    let raised = relations.iter().find(|it| it["relation"] == "raised_threshold").unwrap();
    assert_eq!((&raised["checked"], &raised["broke"]), (&json!(0), &json!(1)));
    assert_eq!(report["broken"][0]["expected"], "raised_threshold");
}
