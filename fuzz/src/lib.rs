//! Generated documents for the fuzz targets, and the properties that all readers must have.
//!
//! Mutated bytes rarely stay JSON for long. [`recording`] builds documents from the keys and values that loaders look for
//! instead, to reach the code behind the parser.

mod recording;

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process,
    sync::OnceLock,
};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use evaluator_host::{
    config::ConfigError,
    conversation::{self, GroupBy},
    eval_set::{CaseIndex, EvalSet},
    json::{self, NonFinite, ParseOptions, Value},
    trace::{self, FileTraces, LoadErrorKind, TraceFormats, TraceIndex, TrackedAttributes},
};
use flate2::write::GzEncoder;

pub use recording::recording;

/// Loads a trace file whole and trace by trace, which must have the same result, and converts the traces to conversations.
pub fn load(text: &str, format: Option<&str>) {
    load_bytes(text.as_bytes(), format);
}

/// Does the same with a file that may be compressed or not be text. Returns its number of traces, or `None` if it is refused.
pub fn load_bytes(content: &[u8], format: Option<&str>) -> Option<usize> {
    let path = scratch("fuzzed.json", content);
    let formats = TraceFormats::default();
    let given = format.map(|name| formats.find(name).expect("a known format"));
    let formats = formats.given(given.as_ref());
    let whole = trace::load_file(&path, &formats);
    let tracked = TrackedAttributes {
        keys: &["session.id"],
        name: |_, found| found.first().and_then(|(_, value)| value.as_str()).map(str::to_owned),
        ..TrackedAttributes::default()
    };
    let index = TraceIndex::new([path.clone()], &formats, tracked, &|| false);
    let FileTraces { traces, unusable, .. } = match whole {
        Ok(loaded) => loaded,
        Err(error) => {
            let errors: Vec<String> = index.errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, [error.to_string()]);
            assert!(error.to_string().contains("fuzzed.json"), "{error}");
            return None;
        }
    };
    let counts = index.errors.iter().map(|error| match &error.kind {
        LoadErrorKind::Unusable(parts) => parts.to_string(),
        other => panic!("{other}"),
    });
    let expected = if unusable.is_empty() { Vec::new() } else { vec![unusable.to_string()] };
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    assert_eq!(index.len(), traces.len());
    for (number, trace) in traces.iter().enumerate() {
        let read = index.read(number).expect("the file is as it was");
        assert_eq!(format!("{read:?}"), format!("{trace:?}"));
        let mut walked: Vec<usize> = trace.walk().collect();
        walked.sort_unstable();
        assert!(walked.iter().copied().eq(0..trace.spans.len()), "the tree loses or repeats spans");
    }
    for group_by in [GroupBy::Trace, GroupBy::Conversation] {
        let conversations = conversation::extract(&traces, group_by, false);
        assert!(conversations.len() <= traces.len());
        assert!(traces.is_empty() || !conversations.is_empty());
        let cases = CaseIndex::new(None);
        for conversation in &conversations {
            assert!(cases.find(conversation, conversations.len()).is_err());
        }
    }
    Some(traces.len())
}

/// Loads a file as gzip and as zstd: complete, with the same result as without compression, and truncated, which is an error.
/// Also appends the content to the first bytes of a compressed file, which is mostly damaged input.
pub fn packed(content: &[u8], cut: usize) {
    const MAGIC: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
    for magic in MAGIC {
        load_bytes(&[magic, content].concat(), None);
        if content.starts_with(magic) {
            // Compression inside of compression is not removed.
            return;
        }
    }
    let plain = load_bytes(content, None);
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content).expect("memory can be written");
    let gzip = gzip.finish().expect("memory can be written");
    let zstd = zstd::encode_all(content, 1).expect("memory can be read");
    for packed in [gzip, zstd] {
        // The format is recognized by the first four bytes.
        let cut = 4 + cut % (packed.len() - 4);
        assert_eq!(load_bytes(&packed, None), plain);
        assert_eq!(load_bytes(&packed[..cut], None), None, "cut off at {cut}");
    }
}

/// Reads an eval set and looks up every case in it.
pub fn eval_set(text: &str) {
    match EvalSet::from_text(text, Path::new("fuzzed.json")) {
        Ok(set) => {
            let _ = CaseIndex::new(Some(&set));
            for case in &set.cases {
                for turn in &case.turns {
                    let _ = (turn.user_text(), turn.final_text("\n"), turn.trajectory().count());
                }
            }
        }
        Err(error) => assert!(error.to_string().contains("fuzzed.json"), "{error}"),
    }
}

/// Reads a text as JSON. Writing and reading the value again gives the same value.
pub fn json(text: &str) {
    match json::parse(text, &ParseOptions::default()) {
        Ok(parsed) => {
            let written = json::to_string(&parsed.value, NonFinite::Literal);
            let again = json::parse(&written, &ParseOptions::default());
            let again = again.unwrap_or_else(|error| panic!("{error} in {written}")).value;
            assert_eq!(json::to_string(&again, NonFinite::Literal), written);
            assert!(json::python_eq(&parsed.value, &again) || has_nan(&parsed.value));
        }
        Err(error) => {
            assert!(error.offset <= text.len(), "{error}");
            assert!(text.is_char_boundary(error.offset), "{error}");
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
        }
    }
}

/// Checks that every problem of a configuration file has a position that can be underlined.
pub fn problems_can_be_shown(error: &ConfigError) {
    assert!(!error.problems.is_empty());
    let text = &error.source_text;
    for problem in &error.problems {
        let Some(place) = problem.place else { continue };
        assert!(text.get(place.start..place.end).is_some(), "{problem:?}");
        assert!(place.line <= text.matches('\n').count() + 1, "{problem:?}");
        let annotation = AnnotationKind::Primary.span(place.start..place.end);
        let snippet = Snippet::source(text).path("fuzzed.yaml").annotation(annotation);
        let group = Level::ERROR.primary_title(&problem.message).element(snippet);
        Renderer::plain().render(&[group]);
    }
}

fn has_nan(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_nan(),
        Value::Array(items) => items.iter().any(has_nan),
        Value::Object(members) => members.values().any(has_nan),
        _ => false,
    }
}

/// Returns a file in a directory of this process; each run of a target overwrites it.
#[must_use]
pub fn scratch(name: &str, content: &[u8]) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let directory = env::temp_dir().join(format!("evaluator-fuzz-{}", process::id()));
        fs::create_dir_all(&directory).expect("the directory for temporary files can be written");
        directory
    });
    let path = directory.join(name);
    fs::write(&path, content).expect("a temporary file can be written");
    path
}
