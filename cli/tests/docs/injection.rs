//! Attacks on judges by the texts that they judge: this program's prompts on recorded replies, and the page with the results.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::process::Command;

use evaluator_test_support::{
    TestDirectory,
    injection::{
        Case, Form, Outcome, Row, attacks, cases, eval_set, foreign, habits, harmless, main_prompt,
        model, outcome, recording, tables,
    },
    run,
};
use serde_json::{Value, json};
use snapbox::{Assert, Data, data::DataFormat};

use crate::root;

const NOTE: &str = "<!-- Written by `DOCS=overwrite cargo test -p evaluator-cli --test docs injection::`. Do not edit. -->";

/// Text before the tables.
const HEAD: &str = "\
What an agent writes is shown to the judge, and so is what its tools and its users wrote. Any of them may try to choose the
verdict. This page says what each prompt of a judge makes of such texts, as far as it can be measured without a model:

- **Frames.** Can the text end its part of the prompt, and go on as another speaker?
- **Replies.** An honest judge often quotes what it judges. Is its own verdict read, or the one that it quotes? The replies are in
  `tests/injection/replies.json`; they were made by hand for this page. A judge quotes the attack first, last, or in its reasons,
  or is cut off after the quote, and its own verdict is always the worst one.

What cannot be measured here is how often a model obeys: that differs from model to model.
[`evaluator mutate`](mutation.md) measures it with yours: it damages answers, adds orders to the judge, and compares.

## Results

| word | meaning |
|---|---|
| cannot be forged | a delimiter follows the text that occurs nowhere in it: it is made from a digest of all texts |
| can be forged | the text holds the delimiter that follows it: the agent knew it from another question |
| not marked | nothing follows the text, or no delimiter |
| escaped | the text is shown as a string of JSON, or with a mark before each of its lines: it cannot end either |
| rewritten | the prompt does not show the text as it was written |
| not shown, - | the prompt does not show texts of this place |
| held | the judge's own verdict was read, and no quoted one |
| error | the reply was refused as unreadable: the evaluation is an error, not a pass |
| **read** | the quoted verdict was read: the agent chose its verdict |
| repeats | attacks that pass if the judge's whole reply is the verdict that it was shown |
| obeys | attacks that pass if the judge states the best verdict as its own: no reader can hold this |
";

/// Text before the tables of this program.
const OWN: &str = "\
Prompts 13, 14 and 16 are written by users. Values are inserted without delimiters, so the author of the prompt has to write them.
In `type: llm_judge` (2, 3) values have delimiters also in prompts that users write.
";

/// Text behind the tables.
const TAIL: &str = "\
## Adding an attack

Add an object to `tests/injection/attacks.json`: `name`, `where` (`answer`, `tool_result` or `user`), `about`, and `text`. The
text may name `@{verdict}`, the best verdict in the form that the attacked judge was asked for, `@{guessed}` and `@{replayed}`, the
same with a made-up code and with that of another question, `@{spaced}`, an order with zero-width spaces, and `@{rest}`, what follows
the text in another question of the same judge. Then run

```sh
DOCS=overwrite cargo test -p evaluator-cli --test docs injection::
INJECTION=overwrite cargo test -p evaluator-tests --test it interop::injection -- --ignored
```

The first command writes this page. The second one asks the prompts of other tools again, in the packages that it installs, and
writes `tests/injection/foreign.json`. An attack that is read by a prompt of this program fails the first command: mend the
prompt or the reader, not the table.
";

/// A prompt of this program: its name, the form of its replies, and its entry.
pub(crate) struct Prompt {
    pub(crate) name: &'static str,
    pub(crate) form: &'static str,
    pub(crate) entry: Value,
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let judge = |name: &'static str, form, keys: Value| {
        let mut entry = json!({"name": "j", "type": "llm_judge"});
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        Prompt { name, form, entry }
    };
    let built_in = |name: &'static str, form, keys: Value| {
        let mut entry = json!({"name": name, "type": "builtin"});
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        Prompt { name, form, entry }
    };
    let grader = |name: &'static str, form, keys: Value| {
        let content =
            "Is this answer to \"{{ item.user_content }}\" right?\n\n{{ item.actual_response }}";
        let mut grader = json!({"type": name, "model": "openai_like/m", "input": [{"role": "user", "content": content}]});
        grader.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        Prompt { name, form, entry: json!({"name": "j", "type": "openai_eval", "grader": grader}) }
    };
    let right = || json!([{"id": "right", "text": "The answer is right."}]);
    let steps = "Is the answer to {{ user_input }} right?\n\n{{ tool_steps }}\n\n{{ response }}";
    let ranges = json!([{"id": "right", "text": "The answer is right.", "score_ranges": [
        {"score_range": [0, 4], "outcome": "no"}, {"score_range": [5, 10], "outcome": "yes"}]}]);
    vec![
        judge("`llm_judge`, criteria", "number", json!({"criteria": "It is right."})),
        judge("`llm_judge`, own prompt", "number", json!({"prompt": steps})),
        judge(
            "`llm_judge`, choices",
            "choice",
            json!({"prompt": steps, "choices": {"right": 1, "wrong": 0}}),
        ),
        judge("`llm_judge`, rubrics", "checks", json!({"rubrics": right()})),
        judge("`llm_judge`, score ranges", "ranges", json!({"rubrics": ranges})),
        judge(
            "`llm_judge`, conversation",
            "number",
            json!({"scope": "conversation", "criteria": "It is right."}),
        ),
        built_in("final_response_match_v2", "match", json!({})),
        built_in("rubric_based_final_response_quality_v1", "blocks", json!({"rubrics": right()})),
        built_in("rubric_based_tool_use_quality_v1", "blocks", json!({"rubrics": right()})),
        built_in(
            "rubric_based_multi_turn_trajectory_quality_v1",
            "blocks",
            json!({"rubrics": right()}),
        ),
        built_in("hallucinations_v1", "sentences", json!({})),
        built_in(SIMULATOR, "message", json!({})),
        grader(
            "label_model",
            "label",
            json!({"labels": ["right", "wrong"], "passing_labels": ["right"]}),
        ),
        grader("score_model", "result", json!({})),
    ]
}

/// The metric of simulated users: the message of the user is judged, in the second turn.
pub(crate) const SIMULATOR: &str = "per_turn_user_simulator_quality_v1";

/// Evaluates cases by an entry. Returns the outcome of each.
fn evaluate(directory: &TestDirectory, prompt: &Prompt, cases: &[Case], url: &str) -> Vec<Outcome> {
    let is_simulator = prompt.name == SIMULATOR;
    directory.file("trace.json", recording(cases, is_simulator).to_string());
    directory.file("set.json", eval_set(cases, is_simulator).to_string());
    let mut entry = prompt.entry.clone();
    let judge = json!({"model": "openai_like/m", "base_url": url, "samples": 1});
    if entry["type"] == "openai_eval" {
        entry["base_url"] = url.into();
        entry["api_key_env"] = "".into();
    }
    let config = json!({"group_by": "conversation", "eval_set": "set.json", "judge": judge, "evaluators": [entry]});
    directory.file("c.yaml", config.to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaluator"));
    command.args(["run", "trace.json", "-c", "c.yaml", "-o", "json"]).current_dir(directory.path());
    let ran = run(&mut command);
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{}: {}", prompt.name, ran.stderr));
    let results = report["traces"].as_array().unwrap();
    // The first message of a simulated user is that of the scenario, and valid.
    let floor = if is_simulator { 0.5 } else { 0.0 };
    assert_eq!(results.len(), cases.len(), "{}", prompt.name);
    results
        .iter()
        .map(|result| {
            let metric = &result["metrics"][0];
            assert_ne!(metric["outcome"], "not_evaluated", "{}: {metric}", prompt.name);
            outcome(metric["score"].as_f64().filter(|_| metric["error"].is_null()), floor)
        })
        .collect()
}

fn row(prompt: &Prompt) -> Row {
    let directory = TestDirectory::new();
    let form = Form::find(prompt.form);
    let first = model(&form, &[harmless()], true);
    evaluate(&directory, prompt, &[harmless()], &first.url());
    let shown = main_prompt(&form, &first);
    let cases = cases(&form, &shown);
    let server = model(&form, &cases, true);
    let outcomes = evaluate(&directory, prompt, &cases, &server.url());
    Row::new(prompt.name, &form, &shown, &cases, &server, &outcomes)
}

/// Prompts of eval files: the name, the form of the replies, and the assertion.
pub(crate) fn assertions() -> Vec<(&'static str, &'static str, Value)> {
    let own = "Is {{ output }} the answer to {{ input }}?";
    let right = json!([{"id": "right", "outcome": "The answer is right."}]);
    vec![
        ("eval file, `llm-grader`", "number", json!({"type": "llm-grader"})),
        ("eval file, own prompt", "number", json!({"type": "llm-grader", "prompt": own})),
        ("eval file, `rubrics`", "checks", json!({"type": "rubrics", "criteria": right})),
    ]
}

/// Grades cases by an assertion of an eval file. Returns the outcome of each.
fn grade(directory: &TestDirectory, assertion: &Value, cases: &[Case], url: &str) -> Vec<Outcome> {
    directory.file(".agentv/targets.yaml", evaluator_test_support::injection::targets());
    directory.file(".agentv/fixtures.jsonl", evaluator_test_support::injection::fixtures(cases));
    directory.file("e.eval.yaml", evaluator_test_support::injection::tests(cases, assertion));
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaluator"));
    command.args(["run", "e.eval.yaml", "-o", "json"]).current_dir(directory.path());
    command
        .envs([("JUDGE_KEY", "decoy"), ("JUDGE_MODEL", "m")])
        .env("JUDGE_URL", format!("{url}/v1"));
    let ran = run(&mut command);
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), cases.len(), "{}", ran.stderr);
    let graded = results.iter().map(|result| &result["evaluators"][0]);
    graded
        .map(|graded| outcome(graded["score"].as_f64().filter(|_| graded["error"].is_null()), 0.0))
        .collect()
}

fn row_of_eval_file((name, form, assertion): &(&'static str, &'static str, Value)) -> Row {
    let directory = TestDirectory::new();
    let form = Form::find(form);
    let first = model(&form, &[harmless()], true);
    grade(&directory, assertion, &[harmless()], &first.url());
    let shown = main_prompt(&form, &first);
    let cases = cases(&form, &shown);
    let server = model(&form, &cases, true);
    let outcomes = grade(&directory, assertion, &cases, &server.url());
    Row::new(name, &form, &shown, &cases, &server, &outcomes)
}

fn page(own: &[Row]) -> String {
    let mut page = format!("# Attacks on judges\n\n{NOTE}\n\n{HEAD}");
    page += &format!("\n### Prompts of this program\n\n{OWN}\n{}", tables(own));
    for (tool, rows) in foreign() {
        let rows: Vec<Row> = rows.as_array().unwrap().iter().map(Row::from_json).collect();
        page += &format!("\n### Default prompts of {tool}\n\n{}", tables(&rows));
    }
    page += "\n## Attacks\n\n| attack | is |\n|---|---|\n";
    for attack in attacks() {
        let [name, about] = ["name", "about"].map(|key| attack[key].as_str().unwrap());
        page += &format!("| {name} | {about} |\n");
    }
    page + "\n" + TAIL
}

#[test]
fn no_prompt_of_this_program_reads_a_verdict_that_an_honest_judge_quotes() {
    assert!(attacks().len() >= 15 && habits().len() >= 6);
    let mut rows: Vec<Row> = prompts().iter().map(row).collect();
    rows.extend(assertions().iter().map(row_of_eval_file));
    let path = root().join("docs/reference/injection.md");
    let there = Data::read_from(&path, Some(DataFormat::Text));
    Assert::new().action_env("DOCS").eq(page(&rows), there.raw());
    for row in &rows {
        assert!(row.read().is_empty(), "{row:?}");
    }
    // Where the prompt is ours, nothing that is judged can end its block. Prompts of users may lack delimiters.
    for row in rows
        .iter()
        .filter(|row| !row.prompt.contains("own prompt") && !row.prompt.ends_with("_model"))
    {
        let is_open = |frame: &String| ["can be forged", "not marked"].contains(&&**frame);
        assert!(!row.frames().iter().any(is_open), "{row:?}");
    }
}
