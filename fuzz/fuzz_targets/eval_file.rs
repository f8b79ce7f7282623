//! Eval files in YAML, JSON and JSON lines: every problem has a valid position, and what is read can be recognized.

#![no_main]

use std::path::Path;

use evaluator_agentv::read::{ReadOptions, is_eval_file, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Nothing exists there, so no other file is read.
    let options = ReadOptions::new("/nonexistent", |name| Some(format!("value of {name}")));
    for name in ["fuzzed.yaml", "fuzzed.json", "fuzzed.jsonl"] {
        let file = Path::new(name);
        let is_recognized = is_eval_file(file, text);
        match parse(file, text, &options) {
            Ok(suite) => assert!(is_recognized && !suite.tests.is_empty()),
            Err(errors) => errors.iter().for_each(evaluator_fuzz::problems_can_be_shown),
        }
    }
});
