//! Configurations, ours and those of ADK: every problem has a valid position.

#![no_main]

use std::path::Path;

use evaluator_host::config::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Config::parse(text, Path::new("fuzzed.yaml")) {
        evaluator_fuzz::problems_can_be_shown(&error);
    }
});
