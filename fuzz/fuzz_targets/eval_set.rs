//! Eval sets.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::eval_set(text));
