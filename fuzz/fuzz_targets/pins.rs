//! The lock file of fetched evaluators: reading and writing it keeps its content.

#![no_main]

use std::path::Path;

use evaluator_host::source::Pins;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let path = Path::new("evaluators.lock");
    match Pins::parse(text, path) {
        Ok(pins) => {
            let again = Pins::parse(&pins.to_text(), path).expect("what was written can be read");
            assert_eq!(again.to_text(), pins.to_text());
        }
        Err(error) => assert!(error.to_string().contains("evaluators.lock"), "{error}"),
    }
});
