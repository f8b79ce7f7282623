//! The JSON dialect of recordings.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::json(text));
