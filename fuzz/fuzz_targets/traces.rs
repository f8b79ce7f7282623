//! Trace files of which only the content says what they are.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::load(text, None));
