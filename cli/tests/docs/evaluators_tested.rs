//! How good the evaluators of this repository are: what they notice of damaged conversations, and the page about it.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_test_support::{TestDirectory, has, run};
use serde_json::Value;
use snapbox::{Assert, Data, data::DataFormat};

use crate::{judge_prompts, root};

const NOTE: &str = "<!-- Written by `DOCS=overwrite cargo test -p evaluator-cli --test docs evaluators_tested:: -- --ignored`. Do not edit. -->";

const HEAD: &str = "\
An evaluator that never says no is green forever. [`evaluator mutate`](../reference/mutation.md) damages conversations that an
evaluator passes, and looks whether it notices. This page has the result for the evaluators of this repository: examples, ports of
community evaluators, templates, and prompts of judges. The conversations are in `tests/mutation`, and so is the
configuration, which says what each evaluator has to notice.

- **Killed** counts the damage that an evaluator has to notice, with the interval of Clopper and Pearson at 95 %. A survivor fails the
  test that writes this page: either the evaluator is mended, or the configuration says why it need not notice that damage.
- **Violations** are scores that change where they must not, or rise with damage.
- A dash means that no damage has to be noticed by itself.

Not here: examples that are programs and ask a model themselves (`retrieval_precision`, `contextual_precision`), `cited_answer` for
Agenta, which needs columns of a test set that conversations do not have, `expected_outcome` for AgentV, which needs an expected
outcome that version 5 of AgentV does not send, the template with typed settings, which is a package, the template of TypeScript, which
has the code of that of JavaScript and types, and `raw.rs`, which is the basic template without the SDK.

";

const JUDGES: &str = "
## Prompts of judges

What a judge notices is the merit of its model, and differs from model to model. Without one it can be tested that damage reaches the
model, and that its verdict is read. So the model is a stand-in here, with one rule: it gives the best verdict to a question that
it was asked about an undamaged conversation, letter for letter, and the worst verdict to any other question. A kill means
that the damage changes the question, and that the evaluation fails by the verdict. It does not mean that a model would notice; try
that with yours, as [`evaluator mutate`](../reference/mutation.md#judges) says. What attacks achieve is in
[Attacks on judges](../reference/injection.md).

Relations are not tried: any other question would be a violation. `leak_golden` is left out for the same reason. Not here are
`hallucinations_v1`, which asks for the sentences of the answer before it asks about them, and
`per_turn_user_simulator_quality_v1`, which judges the user, whom no operator damages.

";

const TAIL: &str = "\
## An evaluator of yours

[Testing evaluators](../guides/testing.md) has a worked example. For an evaluator of this repository, add an entry to
`tests/mutation/eval_config.yaml`, with at least five conversations that it passes (`tests/mutation/make.py`), and run

```sh
DOCS=overwrite cargo test -p evaluator-cli --test docs evaluators_tested:: -- --ignored
```
";

/// Templates that are one file, with the names that the configuration has.
const TEMPLATES: [(&str, &str, &str); 4] = [
    ("basic/src/main.rs", "basic", "basic.rs"),
    ("tool-trajectory/src/main.rs", "tool_trajectory", "tool_trajectory.rs"),
    ("python/{{crate_name}}.py", "python", "python.py"),
    ("javascript/{{crate_name}}.js", "javascript", "javascript.js"),
];

/// Returns the comments above the entries of a configuration, by their names.
fn reasons(config: &str) -> BTreeMap<String, String> {
    let (mut reasons, mut comment) = (BTreeMap::new(), String::new());
    for line in config.lines() {
        if let Some(text) = line.strip_prefix("  # ") {
            comment = format!("{comment} {text}").trim().to_owned();
        } else if let Some((_, rest)) = line.split_once("- {name: ").or(line.split_once("- name: "))
        {
            let name = rest.split(',').next().unwrap_or_default();
            reasons.insert(name.to_owned(), std::mem::take(&mut comment));
        }
    }
    reasons
}

/// Damages the conversations for the evaluators of a configuration. Returns their results.
fn mutate(directory: &Path, config: &str) -> Vec<Value> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators/target");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(tsx().into_iter().chain(env::split_paths(&path))).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evaluator"));
    command
        .args([
            "mutate",
            "tests/mutation/traces.jsonl",
            "-c",
            config,
            "--sample",
            "60",
            "-o",
            "json",
        ])
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", target)
        .env("PATH", path)
        .env("CARGO_NET_OFFLINE", "true");
    let ran = run(&mut command);
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    report["evaluators"].as_array().unwrap().clone()
}

/// Returns the names of operators whose damage had this effect, and whether one of them had none.
fn operators(result: &Value, is_wanted: impl Fn(&Value) -> bool) -> String {
    let all = result["operators"].as_array().unwrap().iter();
    let names = all.filter(|operator| operator["mutants"] != 0 && is_wanted(operator));
    let names: Vec<&str> = names.map(|operator| operator["operator"].as_str().unwrap()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

fn row(result: &Value, reason: &str) -> String {
    let name = result["evaluator"].as_str().unwrap();
    let rate = &result["kill_rate"];
    let killed = match rate["of"].as_u64() {
        None | Some(0) => "-".to_owned(),
        Some(of) => {
            let percent = |key: &str| rate[key].as_f64().unwrap() * 100.0;
            let (lower, upper) = (percent("lower"), percent("upper"));
            format!("{} of {of} ({lower:.0} to {upper:.0} %)", rate["killed"])
        }
    };
    let has_to = operators(result, |operator| operator["expect"] == "down");
    let need_not = operators(result, |operator| operator["expect"] != "down");
    format!("| {name} | {killed} | {} | {has_to} | {need_not} | {reason} |\n", result["violations"])
}

/// Describes a result with damage that had to be noticed and was not, with errors, or without any damage.
fn survivor(result: &Value) -> Option<String> {
    let lost = ["survived", "noticed", "broke"].map(|key| result[key].as_u64().unwrap());
    let is_lost = result["kill_rate"]["of"] != result["kill_rate"]["killed"] || lost[2] != 0;
    let is_tried = result["mutants"] != 0;
    let shown = || {
        format!(
            "{}: {lost:?} {} {}",
            result["evaluator"], result["refusal"], result["survivors"][0]
        )
    };
    (is_lost || !is_tried).then(shown)
}

/// Returns the directory with `tsx`, which is installed there if Node.js does not run TypeScript itself; `None` if it does.
fn tsx() -> Option<PathBuf> {
    let version = run(Command::new("node").arg("--version")).stdout;
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    let [major, minor] = [(); 2].map(|()| numbers.next().unwrap().unwrap());
    if (major, minor) >= (22, 18) {
        return None;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tsx");
    let programs = directory.join("node_modules/.bin");
    if !programs.join("tsx").exists() {
        fs::create_dir_all(&directory).unwrap();
        let mut install = Command::new("npm");
        install
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&directory);
        run(install.arg("tsx@4")).exits(0);
    }
    Some(programs)
}

#[test]
#[ignore = "compiles evaluators, and evaluates thousands of conversations"]
fn every_evaluator_notices_what_the_page_says() {
    if !["python3", "node"].iter().all(|program| has(program)) {
        return;
    }
    let directory = TestDirectory::new();
    symlink(root().join("examples"), directory.join("examples")).unwrap();
    let data = root().join("tests/mutation");
    for file in ["traces.jsonl", "eval_set.json", "eval_config.yaml", "templates.yaml"] {
        let text = fs::read_to_string(data.join(file)).unwrap();
        directory.file(&format!("tests/mutation/{file}"), text);
    }
    for (template, name, file) in TEMPLATES {
        let text = fs::read_to_string(root().join("templates").join(template)).unwrap();
        directory.file(&format!("templates/{file}"), text.replace("{{crate_name}}", name));
    }
    let (mut rows, mut survivors) = (String::new(), Vec::new());
    for config in ["tests/mutation/eval_config.yaml", "tests/mutation/templates.yaml"] {
        let reasons = reasons(&fs::read_to_string(directory.join(config)).unwrap());
        for result in mutate(directory.path(), config) {
            let reason = reasons.get(result["evaluator"].as_str().unwrap());
            rows += &row(&result, reason.map_or("", String::as_str));
            survivors.extend(survivor(&result));
        }
    }
    let mut judges = String::new();
    for (result, reason) in judge_prompts::tried(&directory) {
        judges += &row(&result, reason);
        survivors.extend(survivor(&result));
    }
    let table = "| evaluator | killed | violations | has to notice | need not notice | because |\n|---|---|---|---|---|---|\n";
    let page = format!(
        "# How good are these evaluators?\n\n{NOTE}\n\n{HEAD}{table}{rows}{JUDGES}{table}{judges}\n{TAIL}"
    );
    let there = Data::read_from(
        &root().join("docs/explanation/evaluators-tested.md"),
        Some(DataFormat::Text),
    );
    Assert::new().action_env("DOCS").eq(page, there.raw());
    assert!(survivors.is_empty(), "survivors: {survivors:?}");
}

#[test]
fn the_conversations_are_what_their_script_writes() {
    if has("python3") {
        let script = root().join("tests/mutation/make.py");
        run(Command::new("python3").arg(script).arg("--check")).exits(0);
    }
}
