//! Recordings that were cut, and changed at random.

use super::*;

fn samples() -> Vec<Vec<u8>> {
    let directory = sample("");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.metadata().is_ok_and(|metadata| metadata.len() < 7000))
        .collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("readable")).collect()
}

/// Loads a text in every way; only a panic is wrong, and a tree with a cycle or a missing span.
fn survives(text: &str) {
    for format in [None, Some("jaeger-json"), Some("otlp-json")] {
        match load_text(text, Path::new("t.json"), &formats(format)) {
            Ok(loaded) => {
                for trace in loaded.traces {
                    assert_eq!(trace.walk().count(), trace.spans.len());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_cut_or_changed_sample_makes_loading_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let samples = samples();
        let mut bytes = which.get(&samples).clone();
        for (at, byte) in edits {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_value_of_the_wrong_type_makes_loading_panic(
        which in any::<prop::sample::Index>(),
        member in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![
            "null", "true", "0", "-1", "5", "1e400", "-Infinity", "NaN", "1.5", "\"\"", "\"x\"", "\"inf\"", "[]", "[1]", "{}",
            "[[]]", "{\"a\": 1}", "99999999999999999999999999999999999999999999", "[{}]", "[null]",
        ]),
    ) {
        let samples = samples();
        let text = String::from_utf8_lossy(which.get(&samples).as_slice()).into_owned();
        let colons: Vec<usize> = text.match_indices("\": ").map(|(at, _)| at + 3).collect();
        if colons.is_empty() {
            return Ok(());
        }
        // Put the value in front of what was there, and what was there under a name that is not read.
        let at = *member.get(&colons);
        survives(&format!("{}{value}, \"unread\": {}", &text[..at], &text[at..]));
    }
}
