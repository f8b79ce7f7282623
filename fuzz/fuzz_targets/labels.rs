//! Labels of people: CSV, JSON lines, exports of Label Studio, scores of Langfuse.

#![no_main]

use evaluator_fuzz::scratch;
use evaluator_host::report::{Agreement, AgreementSettings, Meanings, Report, read_labels};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let path = scratch("fuzzed.csv", text);
    match read_labels(&[path], &Meanings::default()) {
        Ok(labels) => {
            assert!(!labels.labels.is_empty());
            for label in &labels.labels {
                assert!(!label.name().is_empty());
                assert!(label.place.to_string().contains("fuzzed.csv"));
            }
            // No conversation has these labels.
            let none = Agreement::new(&Report::default(), Some(&labels), &AgreementSettings::default());
            assert!(none.is_err());
        }
        Err(error) => assert!(error.to_string().contains("fuzzed.csv"), "{error}"),
    }
});
