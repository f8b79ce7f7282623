//! OTLP JSON documents, lists of spans, and lines.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| evaluator_fuzz::load(text, Some("otlp-json")));
