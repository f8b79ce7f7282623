//! Requirements of fetched evaluators: what is refused has a line.

#![no_main]

use evaluator_host::runtime::requirements::check_plain;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let ends = ['\n', '\r'];
    match check_plain(text) {
        Err(refused) => {
            assert!((1..=text.split(ends).count()).contains(&refused.line), "{refused:?}");
        }
        Ok(()) => {
            let mut uncommented = text.split(ends).filter(|line| !line.contains('#'));
            assert!(uncommented.all(|line| !line.contains("://")), "an address is no package");
        }
    }
});
