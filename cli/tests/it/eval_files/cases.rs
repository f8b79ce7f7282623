//! Recorded cases: an eval file each, with the results that are expected of it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use evaluator_test_support::finish;
use serde_json::Value;

use super::judge_server;
use crate::support::{Directory, command, has};

/// Cases that run at the same time. Most of their time they wait for processes.
const AT_ONCE: usize = 4;

#[test]
fn vectors_of_eval_files_agree() {
    if !has("python3") {
        return;
    }
    let cases = cases();
    assert!(cases.len() > 20, "{} cases", cases.len());
    let (queue, failed) = (Arc::new(Mutex::new(cases)), Arc::new(Mutex::new(Vec::new())));
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (queue, failed) = (Arc::clone(&queue), Arc::clone(&failed));
            thread::spawn(move || {
                while let Some(case) = { queue.lock().unwrap().pop() } {
                    let differences = differences(&case);
                    if !differences.is_empty() {
                        failed.lock().unwrap().push(format!("{}: {differences}", case.display()));
                    }
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let failed = failed.lock().unwrap();
    assert!(failed.is_empty(), "{} cases differ:\n{}", failed.len(), failed.join("\n"));
}

/// Returns the directories of the cases.
fn cases() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agentv/tests");
    let given =
        env::var_os("EVALUATOR_VECTORS_DIR").map(|it| PathBuf::from(it).join("agentv-evals"));
    let directories = match given.filter(|given| given.is_dir()) {
        Some(given) => vec![given],
        None => vec![own.join("cases"), own.join("own_cases")],
    };
    let entries =
        directories.iter().flat_map(|directory| fs::read_dir(directory).unwrap().flatten());
    let mut cases: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("case.json").is_file()).collect();
    cases.sort();
    cases
}

fn json(file: &Path) -> Option<Value> {
    let text = fs::read_to_string(file).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// Runs a case, and returns how its results differ from the expected ones; empty if they do not.
fn differences(case: &Path) -> String {
    let meta = json(&case.join("case.json")).unwrap();
    let expected = json(&case.join("expected.json")).unwrap()["ours"].take();
    let server = judge_server::start(json(&case.join("replies.json")));
    let directory = Directory::new();
    let (home, place) = (directory.path().join("home"), directory.path().join("case"));
    fs::create_dir_all(&home).unwrap();
    copy(case, &place);
    for file in ["case.json", "expected.json", "replies.json"] {
        let _ = fs::remove_file(place.join(file));
    }
    let eval = place.join(meta["eval"].as_str().unwrap()).to_string_lossy().into_owned();
    let targets = place.join("targets.yaml").to_string_lossy().into_owned();
    let mut args = vec!["run", &eval, "--targets", &targets, "--output", "json"];
    args.extend(meta["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
    let mut command = command(&place, &args);
    command
        .env("HOME", &home)
        .env("OPENAI_BASE_URL", format!("{}/v1", server.url()))
        .env("OPENAI_API_KEY", "sk-local")
        .env("JUDGE_MODEL", "judge-model")
        .env("AZURE_OPENAI_ENDPOINT", server.url())
        .env("AZURE_OPENAI_API_KEY", "az-local")
        .env("AZURE_DEPLOYMENT_NAME", "judge-model")
        .env("TZ", "UTC");
    for (name, value) in meta["env"].as_object().into_iter().flatten() {
        match value.as_str() {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = finish(command.spawn().unwrap());
    let mut found = compared(&expected, ran.code, &ran.stdout);
    if let Some(requests) = expected["judge_requests"].as_u64()
        && requests != server.requests().len() as u64
    {
        found.push(format!("{} requests, expected {requests}", server.requests().len()));
    }
    if !found.is_empty() {
        found.push(ran.stderr);
    }
    found.join("; ")
}

fn compared(expected: &Value, code: Option<i32>, stdout: &str) -> Vec<String> {
    let mut found = Vec::new();
    if code.map(i64::from) != expected["exit_code"].as_i64() {
        found.push(format!("exit code {code:?}, expected {}", expected["exit_code"]));
    }
    let Some(results) = expected["results"].as_array() else {
        // Nothing may have run.
        if !stdout.is_empty() {
            found.push("there is a report".to_owned());
        }
        return found;
    };
    let Ok(report) = serde_json::from_str::<Value>(stdout) else {
        found.push("there is no report".to_owned());
        return found;
    };
    let by_id = |results: &[Value]| -> BTreeMap<String, Value> {
        let id = |result: &Value| result["id"].as_str().unwrap_or_default().to_owned();
        results.iter().map(|result| (id(result), result.clone())).collect()
    };
    let (expected, actual) = (by_id(results), by_id(report["results"].as_array().unwrap()));
    if !expected.keys().eq(actual.keys()) {
        found.push(format!("tests {:?}", actual.keys()));
        return found;
    }
    for (id, expected) in &expected {
        let actual = &actual[id];
        if !same(expected, actual) {
            found.push(format!("{id}: {} {}", actual["status"], actual["score"]));
        }
        let Some(evaluators) = expected["evaluators"].as_array() else { continue };
        let mut left = actual["evaluators"].as_array().cloned().unwrap_or_default();
        for expected in evaluators {
            match left.iter().position(|actual| actual["name"] == expected["name"]) {
                Some(at) => {
                    let actual = left.remove(at);
                    if !same(expected, &actual) {
                        let (status, score) = (&actual["status"], &actual["score"]);
                        found.push(format!("{id}/{}: {status} {score}", expected["name"]));
                    }
                }
                None => found.push(format!("{id}/{}: missing", expected["name"])),
            }
        }
        found.extend(left.iter().map(|it| format!("{id}/{}: not expected", it["name"])));
    }
    found
}

/// Compares status and score.
fn same(expected: &Value, actual: &Value) -> bool {
    let score = |value: &Value| value["score"].as_f64();
    let near = match (score(expected), score(actual)) {
        (Some(expected), Some(actual)) => (expected - actual).abs() <= 1e-9,
        (expected, actual) => expected == actual,
    };
    expected["status"] == actual["status"] && near
}
