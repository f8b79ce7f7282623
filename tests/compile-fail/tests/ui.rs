//! What the compiler says to authors: one mistake gives one error, at its place and in our words.
//!
//! After a change that is meant, `TRYBUILD=overwrite cargo test -p evaluator-compile-fail` writes the goldens again.

use std::{collections::BTreeMap, fs, path::PathBuf};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ui");

#[test]
fn mistakes_are_reported_as_recorded() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}

/// The recorded messages by path.
fn goldens() -> BTreeMap<PathBuf, String> {
    let entries = fs::read_dir(CASES).expect("the cases are in the package");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let goldens = paths.filter(|path| path.extension().is_some_and(|kind| kind == "stderr"));
    goldens.map(|path| (path.clone(), fs::read_to_string(path).expect("readable"))).collect()
}

#[test]
fn there_is_a_case_for_every_golden() {
    let goldens = goldens();
    assert!(goldens.len() >= 20, "only {}", goldens.len());
    for path in goldens.keys() {
        assert!(path.with_extension("rs").exists(), "{} has no case", path.display());
    }
}

#[test]
fn one_mistake_is_one_error() {
    for (path, text) in goldens() {
        let starting = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((starting("error"), starting("warning")), (1, 0), "{}: {text}", path.display());
    }
}

#[test]
fn no_message_quotes_the_standard_library() {
    // What is quoted from there depends on the component `rust-src`, and helps no reader.
    for (path, text) in goldens() {
        for source in ["$RUST", "/rustc/", "/library/"] {
            assert!(!text.contains(source), "{}: {text}", path.display());
        }
    }
}
