//! Requirements of fetched evaluators: a refusal has a line number.

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
            // Before comments and markers there is a name with versions.
            let mut packages = text.split(ends).filter_map(|line| line.split(['#', ';']).next());
            assert!(
                packages.all(|package| !package.contains("://")),
                "an address is not a package"
            );
        }
    }
});
