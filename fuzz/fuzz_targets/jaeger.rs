//! Jaeger JSON, valid or not.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::load(text, Some("jaeger-json")));
