//! What the fuzz targets share: documents made of words that mean something, and what must hold of whatever is read.
//!
//! Mutated bytes rarely stay JSON for long. [`recording`] builds documents from the keys and values that loaders look for
//! instead, so that what happens behind the parser is reached too.

mod recording;

use std::{
    env, fs,
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
    trace::{self, FileTraces, Format, LoadErrorKind, TraceIndex, Watch},
};

pub use recording::recording;

/// Loads a trace file whole and trace by trace, which has to come to the same, and goes on to conversations.
pub fn load(text: &str, format: Option<Format>) {
    let path = scratch("fuzzed.json", text.as_bytes());
    let whole = trace::load_file(&path, format);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let watch = Watch { keys: &["session.id"], text };
    let index = TraceIndex::new([path.clone()], format, watch, &|| false);
    let FileTraces { traces, left_out } = match whole {
        Ok(loaded) => loaded,
        Err(error) => {
            let errors: Vec<String> = index.errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, [error.to_string()]);
            assert!(error.to_string().contains("fuzzed.json"), "{error}");
            return;
        }
    };
    let counts = index.errors.iter().map(|error| match &error.kind {
        LoadErrorKind::LeftOut(left_out) => left_out.to_string(),
        other => panic!("{other}"),
    });
    let expected = if left_out.is_empty() { Vec::new() } else { vec![left_out.to_string()] };
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
}

/// Reads an eval set and looks every case up in itself.
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

/// Reads a text as JSON; what was read and written again reads as the same.
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

/// Every problem of a file that a person wrote has a place in it that can be underlined.
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

/// A file of this process that each run writes anew, in a folder of its own.
#[must_use]
pub fn scratch(name: &str, content: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = env::temp_dir().join(format!("evaluator-fuzz-{}", process::id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        folder
    });
    let path = folder.join(name);
    fs::write(&path, content).expect("a temporary file can be written");
    path
}
