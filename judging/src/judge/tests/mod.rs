//! Vectors of judge metrics: results of the original software with a scripted judge.

mod adk;
mod agentevals;
mod llm_judge;
mod material;
mod metrics;
mod outcome;
mod parsers;
mod prompts;
mod quotes;
mod rules;
mod schemes;

use std::{env, fs, path::PathBuf};

use evaluator_json::{ParseOptions, Value, parse};

/// Returns the lines of a file of vectors.
fn vectors(file: &str) -> Vec<Value> {
    let copy = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");
    let directory = env::var_os("EVALUATOR_VECTORS_DIR").map_or(copy.into(), PathBuf::from);
    let path = directory.join("judges").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let lines: Vec<Value> =
        text.lines().map(|line| parse(line, &ParseOptions::default()).unwrap().value).collect();
    assert!(!lines.is_empty(), "{path:?} is empty");
    lines
}

/// Reasons why vectors have another result here, by id: replies that ADK reads and that are ambiguous.
fn stricter() -> Vec<Value> {
    vectors("stricter.jsonl")
}

/// Checks that exactly the vectors differ that are known to be read more strictly here.
fn check_vectors(file: &str, check: impl Fn(&Value) -> Result<(), String>) {
    let (lines, stricter) = (vectors(file), stricter());
    let wrong = lines.iter().filter_map(|line| {
        let (id, note) = (text(line, "id"), text(line, "note"));
        match (check(line), stricter.iter().find(|known| text(known, "id") == id)) {
            (Ok(()), None) | (Err(_), Some(_)) => None,
            (Err(problem), None) => Some(format!("{id} ({note}): {problem}")),
            (Ok(()), Some(_)) => Some(format!("{id} ({note}) is not stricter")),
        }
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no text {key} in {value:?}"))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("no list {key} in {value:?}"))
}
