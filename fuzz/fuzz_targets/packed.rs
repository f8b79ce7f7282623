//! Compressed trace files, whole and cut off.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| evaluator_fuzz::packed(input.1, usize::from(input.0)));
