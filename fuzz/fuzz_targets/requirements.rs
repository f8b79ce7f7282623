//! Requirements of fetched evaluators: what is refused has a line.

#![no_main]

use evaluator_host::runtime::requirements::check_plain;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(refused) = check_plain(text) {
        assert!((1..=text.lines().count() + 1).contains(&refused.line), "{refused:?}");
    } else {
        assert!(!text.contains("://"), "an address is no name of a package");
    }
});
