//! Scores of the libraries that the measures are named after.

use std::{env, fs, path::PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use super::{Measure, SIMILARITIES, cosine, find_wordnet, tokens_13a};

/// Returns the lines of a file of vectors.
fn vectors(file: &str) -> Vec<String> {
    let directory = env::var_os("EVALUATOR_VECTORS_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors")),
        PathBuf::from,
    );
    let path = directory.join("similarity").join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

fn measure(name: &str) -> Option<Measure> {
    Measure::named(name, find_wordnet(None).ok().map(|(directory, _)| directory))
}

/// Compares every score of a file. Scores of `meteor` need WordNet.
fn compare(file: &str) {
    let mut compared = 0;
    for line in vectors(file) {
        let pair: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| pair[key].as_str().unwrap_or_else(|| panic!("no {key}: {line}"));
        for (name, expected) in pair["scores"].as_object().unwrap() {
            assert!(SIMILARITIES.contains(&name.as_str()), "unknown measure {name}");
            let Some(measure) = measure(name) else {
                assert_eq!(name, "meteor", "it cannot be computed");
                eprintln!("skipped meteor of {}: WordNet is not installed", text("id"));
                continue;
            };
            let score = measure.score(text("a"), text("b")).unwrap();
            let expected = expected.as_f64().unwrap();
            assert!(
                (score - expected).abs() < 1e-9,
                "{name} of {}: {score} instead of {expected}",
                text("id")
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "{file} has no scores");
}

#[test]
fn vectors_of_pairs() {
    compare("pairs.jsonl");
}

#[test]
fn vectors_of_long_texts() {
    compare("long.jsonl");
}

#[test]
fn vectors_of_tokens() {
    let lines = vectors("tokens-13a.jsonl");
    for line in &lines {
        let (text, expected): (String, Vec<String>) = serde_json::from_str(line).unwrap();
        assert_eq!(tokens_13a(&text), expected, "{line}");
    }
    assert!(!lines.is_empty());
}

#[test]
fn vectors_of_cosines() {
    let lines = vectors("cosine-vectors.jsonl");
    for line in &lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let vector = |key: &str| -> Vec<f64> {
            case[key].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
        };
        let found = cosine(&vector("u"), &vector("v"));
        match (case["cosine"].as_f64(), case["score"].as_f64()) {
            (Some(expected), Some(score)) => {
                let found = found.unwrap();
                assert!((found - expected).abs() < 1e-9, "{found}: {line}");
                assert!((found.clamp(0.0, 1.0) - score).abs() < 1e-9, "{found}: {line}");
            }
            _ => assert!(found.is_err(), "{found:?}: {line}"),
        }
    }
    assert!(!lines.is_empty());
}

/// Texts of a few words, so that they share some.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec!["a", "the", "cats", "cat", "ran", ".", "\u{65e5}", "-\n", "3.5"]),
        0..9,
    )
    .prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn scores_are_fractions(a in text(), b in text()) {
        for name in SIMILARITIES.iter().filter(|name| !["cosine", "meteor"].contains(name)) {
            let score = measure(name).unwrap().score(&a, &b).unwrap();
            prop_assert!((0.0..=1.0).contains(&score), "{name}: {score}");
        }
    }

    #[test]
    fn some_measures_do_not_depend_on_the_order_of_texts(a in text(), b in text()) {
        for name in ["fuzzy_match", "gleu", "rouge_1", "rouge_l", "cosine:tf"] {
            let measure = measure(name).unwrap();
            let (there, back) = (measure.score(&a, &b).unwrap(), measure.score(&b, &a).unwrap());
            prop_assert!((there - back).abs() < 1e-12, "{name}: {there}, {back}");
        }
    }

    #[test]
    fn equal_texts_are_equal(a in text()) {
        prop_assume!(!tokens_13a(&a).is_empty());
        for name in ["fuzzy_match", "bleu", "gleu", "bleu:sacre"] {
            let score = measure(name).unwrap().score(&a, &a).unwrap();
            prop_assert!((score - 1.0).abs() < 1e-12, "{name}: {score}");
        }
    }
}

#[test]
fn a_measure_knows_the_references_that_it_cannot_see() {
    for (name, reference, blind) in [
        ("rouge_1", "\u{4f60}\u{597d}", Some("sees no word")),
        ("rouge_1:char", "\u{4f60}\u{597d}", None),
        ("rouge_l", "!", Some("sees no word")),
        ("rouge_3", "two words", Some("needs 3 words, and the expected text has 2")),
        ("rouge_3", "now three words", None),
        ("rouge_1", " ", None),
        ("fuzzy_match", "!", None),
        ("bleu", "\u{4f60}\u{597d}", None),
        ("meteor:nosyn", "!", None),
    ] {
        let reason = measure(name).unwrap().blind_to(reference);
        match blind {
            Some(part) => {
                assert!(reason.as_ref().is_some_and(|it| it.contains(part)), "{name}: {reason:?}")
            }
            None => assert_eq!(reason, None, "{name} of {reference:?}"),
        }
    }
}

#[test]
fn names_that_are_not_measures_have_none() {
    for name in ["cosine", "rouge_6", "rouge_1:nosyn", "bleu:stem", "Bleu", ""] {
        assert!(Measure::named(name, None).is_none(), "{name}");
    }
    assert!(
        Measure::named("meteor", None).is_none(),
        "it would be another measure without synonyms"
    );
}

#[test]
fn directories_without_wordnet_are_refused() {
    let message =
        |directory: &std::path::Path| find_wordnet(Some(directory)).unwrap_err().to_string();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(message(here).contains("cannot read"), "{}", message(here));
}
