//! Trace files whose format is detected from their content.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::load(text, None));
