//! Vectors of judge metrics: results of the original software with a scripted judge.

mod agentevals;
mod llm_judge;
mod material;
mod metrics;
mod outcome;
mod parsers;
mod prompts;
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

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no text {key} in {value:?}"))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_else(|| panic!("no list {key} in {value:?}"))
}
