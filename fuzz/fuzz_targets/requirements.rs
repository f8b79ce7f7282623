//! Requirements of fetched evaluators: what is refused has a line.

#![no_main]

use evaluator_host::runtime::requirements::check_plain;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(refused) = check_plain(text) {
        // Lines end where Python ends them.
        let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        assert!((1..=text.split(ends).count()).contains(&refused.line), "{refused:?}");
    } else {
        assert!(!text.contains("://"), "an address is no name of a package");
    }
});
