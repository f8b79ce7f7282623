//! Output of evaluator programs.

#![no_main]

use evaluator_host::verdict::{Verdict, from_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Verdict::Answer(answer) = from_text(text) {
        assert!(answer.score.is_some_and(|score| (0.0..=1.0).contains(&score)), "{answer:?}");
    }
});
