//! Indexes of evaluators, as sources serve them.

#![no_main]

use evaluator_host::{
    process::Cancellation,
    source::{EvaluatorSource, File, Freshness, Reference},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let index = evaluator_fuzz::scratch("index.yaml", text);
    let source = File::new(&index);
    let cancellation = Cancellation::new();
    match source.list(Freshness::Cached) {
        Ok(listing) => {
            for entry in listing.entries {
                let Some(reference) = entry.reference else { continue };
                if let Ok(reference) = Reference::parse(&reference) {
                    // The only allowed error: the files do not exist.
                    let _ = source.fetch(&reference, &cancellation);
                }
            }
        }
        Err(error) => assert!(error.to_string().contains("index.yaml"), "{error}"),
    }
});
