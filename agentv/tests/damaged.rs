//! Damaged eval files: every problem has a place in its file, what is read is recognized, and nothing panics.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, path::Path};

use evaluator_agentv::read::{ReadOptions, is_eval_file, parse};

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from((self.0 >> 33) % end).unwrap()
    }
}

/// Returns the texts of all eval files of the cases, with their names.
fn originals() -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    for directory in ["cases", "own_cases"] {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
        let mut cases: Vec<_> =
            fs::read_dir(directory).unwrap().flatten().map(|it| it.path()).collect();
        cases.sort();
        for name in ["eval.yaml", "eval.jsonl"] {
            let files = cases.iter().map(|case| case.join(name));
            texts.extend(files.filter_map(|file| Some((name, fs::read_to_string(file).ok()?))));
        }
    }
    texts
}

/// Changes a text at a few places: parts are removed, doubled, exchanged or replaced.
fn damaged(text: &str, numbers: &mut Numbers) -> String {
    const PIECES: [&str; 14] = [
        "[",
        "]",
        "{",
        "}",
        ":",
        "\"",
        "- ",
        "\n",
        "null",
        "-1",
        "1e999",
        "{{ a }}",
        "${{ A }}",
        "\u{1f600}",
    ];
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.below(3) {
        let from = numbers.below(letters.len());
        let to = (from + numbers.below(12)).min(letters.len());
        let piece: Vec<char> = match numbers.below(4) {
            0 => Vec::new(),
            1 => letters[from..to].repeat(2),
            2 => letters[from..to].iter().rev().copied().collect(),
            _ => PIECES[numbers.below(PIECES.len())].chars().collect(),
        };
        letters.splice(from..to, piece);
    }
    letters.into_iter().collect()
}

#[test]
fn damaged_files_are_refused_with_positions() {
    let options = ReadOptions::new("/nonexistent", |name| Some(format!("value of {name}")));
    let originals = originals();
    assert!(originals.len() > 100);
    let mut numbers = Numbers(1);
    let mut refused = 0;
    for round in 0..20 {
        for (name, text) in &originals {
            let text = if round == 0 { text.clone() } else { damaged(text, &mut numbers) };
            let is_recognized = is_eval_file(Path::new(name), &text);
            let Err(errors) = parse(Path::new(name), &text, &options) else {
                assert!(is_recognized, "{text}");
                continue;
            };
            refused += 1;
            for error in &errors {
                assert!(!error.problems.is_empty(), "{text}");
                for place in error.problems.iter().filter_map(|problem| problem.place) {
                    let source = &error.source_text;
                    assert!(place.start <= place.end && place.end <= source.len(), "{text}");
                    assert!(source.is_char_boundary(place.start), "{text}");
                }
            }
        }
    }
    assert!(refused > 1000, "{refused} files were refused");
}
