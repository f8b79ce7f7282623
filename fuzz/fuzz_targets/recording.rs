//! Well-formed files with odd recordings in them.

#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = evaluator_fuzz::recording(&mut Unstructured::new(data)) {
        evaluator_fuzz::load(&text, None);
    }
});
