//! Answers of model servers, scripted replies and cassettes.
//!
//! The first line names the reader: `openai`, `anthropic`, `gemini`, `fake` or `cassette`.

#![no_main]

use std::fs;

use evaluator_fuzz::scratch;
use evaluator_models::{ErrorKind, Fake, Waits, read, read_reply, tidy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (name, text) = text.split_once('\n').unwrap_or(("", text));
    match name {
        "cassette" => cassette(text),
        "fake" => drop(Fake::parse(text)),
        shape => match read_reply(shape, text.as_bytes()) {
            Ok(reply) => {
                let is_text = reply.readable().is_ok_and(|text| !text.trim().is_empty());
                assert!(is_text || reply.readable().is_err(), "an empty reply is not an answer");
            }
            Err(error) => {
                assert!(error.to_string().starts_with(&error.kind.to_string()), "{error}")
            }
        },
    }
});

/// Tidying keeps the records that were read, and does nothing the second time.
fn cassette(text: &str) {
    let path = scratch("fuzzed.cassette.jsonl", text.as_bytes());
    match read(&path, false) {
        Ok(found) => {
            let tidied = tidy(&path, None, &Waits::default()).expect("what was read can be tidied");
            assert_eq!(tidied.kept, found.records.len());
            let bytes = fs::read(&path).unwrap();
            let again = read(&path, false).expect("what was written can be read");
            assert_eq!(again.records.len(), found.records.len());
            tidy(&path, None, &Waits::default()).expect("what was written can be tidied");
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Cassette);
            assert!(error.message.contains("fuzzed.cassette.jsonl"), "{error}");
        }
    }
}
