//! Jaeger JSON, right or wrong.

#![no_main]

use evaluator_host::trace::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::load(text, Some(Format::JaegerJson)));
