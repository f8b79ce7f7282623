//! A trace that is read by its index is the trace that is loaded with its whole file.

mod documents;

use std::{
    error::Error,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use tempfile::{NamedTempFile, TempPath};

use self::documents::{document, list, span};
use super::{Grammar, TraceIndex};
use crate::{
    conversation::{Conventions, GROUPING, GroupBy, group, group_indexed},
    json::{ParseError, Parsed},
    trace::{
        Decoded, FileTraces, LoadError, LoadErrorKind, Trace, TraceFormat, TraceFormats, load_file,
    },
};

/// Chunks that end inside of tokens, of escapes and of characters, and the usual ones.
const CHUNKS: [usize; 4] = [1, 3, 64, super::CHUNK];

/// A file that is removed when it is dropped.
fn file(content: &[u8]) -> TempPath {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file.into_temp_path()
}

fn indexed(path: &Path, formats: &TraceFormats, chunk: usize) -> TraceIndex {
    TraceIndex::with_chunks([path.to_owned()], formats, GROUPING, &|| false, chunk)
}

/// The traces of files that are decoded whole, and the errors.
fn load(paths: &[PathBuf], formats: &TraceFormats) -> (Vec<Trace>, Vec<LoadError>) {
    let (mut traces, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match load_file(path, formats) {
            Ok(FileTraces { traces: found, unusable, .. }) => {
                errors.extend(LoadError::of_content(path, found.len(), unusable));
                traces.extend(found);
            }
            Err(error) => errors.push(error),
        }
    }
    (traces, errors)
}

/// Every choice of a format: none, and each of them.
fn choices() -> Vec<TraceFormats> {
    let all = TraceFormats::default();
    let only = |name: &str| TraceFormats::only(all.find(name).unwrap());
    let given: Vec<_> = all.names().into_iter().map(only).collect();
    [vec![all], given].concat()
}

/// The message of an error with its causes.
fn with_causes(error: &LoadError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(" | {error}");
        source = error.source();
    }
    text
}

fn texts<'t>(traces: impl IntoIterator<Item = &'t Trace>) -> Vec<String> {
    traces.into_iter().map(|trace| format!("{trace:#?}")).collect()
}

/// Compares both ways of loading, with every format and size of chunk.
fn check(content: &[u8]) {
    let file = file(content);
    for formats in choices() {
        let format = formats.names();
        let (whole, errors) = load(&[file.to_path_buf()], &formats);
        let expected = texts(&whole);
        let errors: Vec<String> = errors.iter().map(with_causes).collect();
        for chunk in CHUNKS {
            let text = String::from_utf8_lossy(content);
            let index = indexed(&file, &formats, chunk);
            let traces: Vec<_> = (0..index.len()).map(|trace| index.read(trace).unwrap()).collect();
            let got = texts(traces.iter().map(AsRef::as_ref));
            assert_eq!(got, expected, "{format:?}, chunks of {chunk}:\n{text}");
            let got: Vec<String> = index.errors.iter().map(with_causes).collect();
            assert_eq!(got, errors, "{format:?}, chunks of {chunk}:\n{text}");
            for multi_turn in [false, true] {
                let (groups, _) =
                    group_indexed(&index, Conventions::built_in(), GroupBy::Auto, multi_turn);
                let expected: Vec<Vec<_>> = group(&whole, GroupBy::Auto, multi_turn)
                    .iter()
                    .map(|group| {
                        let mut ids: Vec<_> =
                            group.members().iter().map(|trace| trace.trace_id.clone()).collect();
                        ids.sort();
                        ids
                    })
                    .collect();
                let got: Vec<Vec<_>> = (0..groups.len())
                    .map(|group| {
                        let mut ids: Vec<_> =
                            groups.get(group).map(|trace| index.trace_id(trace)).collect();
                        ids.sort();
                        ids
                    })
                    .collect();
                assert_eq!(got, expected, "{format:?}, {multi_turn}:\n{text}");
            }
            assert!(!index.is_held(), "{text}");
        }
    }
}

fn samples() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directories =
        ["tests/data", "../host/tests/data", "../cli/tests/data", "../examples/traces"];
    let mut open: Vec<PathBuf> = directories.iter().map(|directory| root.join(directory)).collect();
    let mut files = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files.retain(|(_, content)| content.len() < 200_000);
    files
}

#[test]
fn every_sample_reads_the_same() {
    for (_, content) in samples() {
        check(&content);
    }
}

#[test]
fn lines_and_blanks_and_broken_ends_read_the_same() {
    let document =
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}]}"#;
    let bare = r#"{"traceId": "t", "spanId": "b", "attributes": [{"key": "session.id", "value": {"stringValue": "s"}}]}"#;
    for text in [
        String::new(),
        " \n\t".to_owned(),
        "\u{1c}".to_owned(),
        format!("{bare}\n\u{1c}"),
        format!("{document}\n{bare}\n"),
        format!("\n\n{bare}\r\n \n{document}"),
        format!("{bare}\n{document}\n{{\"traceId\": \"u\"}}"),
        format!("{bare}\n5"),
        format!("5\n{bare}"),
        format!("{bare}\n{{\"a\": 1 \r\n{bare}"),
        format!("{bare}\n{{\"a\": \"x \r\n{bare}"),
        format!("{bare} {bare}"),
        format!("[{bare}, {bare}]\n{bare}\n[{bare}]"),
        format!("{bare}\n[{bare}, 5]"),
        format!("{bare}\n[]"),
        format!("{bare}\n\u{a0}{bare}\u{2003}\n\u{b}\n{bare}"),
        format!("\u{a0}{bare}\n{bare}"),
        format!("{bare}\u{a0}"),
        format!("{bare}\u{2003} \n{bare}"),
        format!("\u{feff}{bare}\n{bare}"),
        format!("{bare}\n\u{feff}{bare}"),
        format!("{{\n\"traceId\": \"t\", \"spanId\": \"x\"}}\n{bare}"),
        format!(
            "{bare}\n{{\"traceId\": \"t\", \"spanId\": \"\\ud800\\u00e9\\ud83d\\ude00\\ud83dx\"}}"
        ),
        format!("{bare}\n{{\"traceId\": \"t\", \"spanId\": \"\\u00"),
        format!("{bare}\n\"\\"),
        format!("[{bare}, {bare}, 5]"),
        format!("[{bare}, {document}]"),
        format!("[{bare}"),
        format!("{bare}x"),
        "-".to_owned(),
        "[-Infinity, NaN, 1.5e, 2]".to_owned(),
        "[1., 2]".to_owned(),
        "[01]".to_owned(),
        "nul".to_owned(),
        "\"a\tb\"".to_owned(),
        "[".repeat(1001),
        format!("{{\"traceId\": \"t\", \"spanId\": {}", "[".repeat(1000)),
        "{\"data\": [}".to_owned(),
        "{\"data\": [1,]}".to_owned(),
        "{\"data\" 1}".to_owned(),
        "{1: 2}".to_owned(),
        "{\"a\": \"é\u{1}\"}".to_owned(),
    ] {
        check(text.as_bytes());
    }
    for bytes in [
        &b"{\"a\": \"\xff\"}"[..],
        b"[\xc3",
        b"{\"a\": }\n\xe2\x82",
        b"{\"traceId\": \"\xe2\x82\xac\"} \xed\xa0\x80",
    ] {
        check(bytes);
    }
}

#[test]
fn documents_of_every_shape_read_the_same() {
    for text in [
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}], "scope": {"name": "late"}}], "resource": {"attributes": []}}]}"#,
        r#"{"batches": [{"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "n"}, "spans": [{"spanId": "a", "traceId": "t"}]}]}], "resourceLogs": []}"#,
        r#"{"total": 0, "data": [{"spans": [{"traceID": "t", "spanID": "a", "processID": "p"}], "processes": {"p": {"serviceName": "late"}}}]}"#,
        "[{\"traceId\": \"t\", \"spanId\": \"a\"}]",
        "{\"traceId\": \"t\", \"spanId\": \"a\"}\n{\"traceId\": \"t\", \"spanId\": \"b\"}",
        "{\"resourceSpans\": [{\"resource\": null, \"scopeSpans\": null}]}",
        r#"{"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}], "scopeSpans": [{"spans": [{"traceId": "t", "spanId": "b"}]}]}]}"#,
        r#"{"batches": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}], "resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "b"}]}]}]}"#,
        r#"{"trace": {"batches": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}]}, "status": "PARTIAL"}"#,
        r#"{"data": [{"spans": [{"traceID": "t", "spanID": "a"}]}], "resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "b"}]}]}]}"#,
        r#"{"errors": [{"spanId": "b", "name": "n"}], "traceId": [{"spanId": "c", "name": "n"}], "data": [{"spanId": "d", "name": "n"}, [1]], "resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "a"}]}]}]}"#,
        r#"{"data": [{"spans": [{"traceID": "t", "spanID": "a"}]}, {"spanId": "d", "name": "n"}], "trace_id": {"spanId": "c", "name": "n"}, "errors": [{"spanId": "b", "name": "n"}]}"#,
    ] {
        check(text.as_bytes());
    }
}

/// A span with a text of that length, in a conversation or in none.
fn long_span(trace: usize, span: usize, length: usize, conversation: Option<&str>) -> String {
    let conversation = conversation.map_or_else(String::new, |name| {
        format!(r#", {{"key": "session.id", "value": {{"stringValue": "{name}"}}}}"#)
    });
    let (text, span) = ("x".repeat(length), span + 1);
    format!(
        r#"{{"traceId": "{trace:032x}", "spanId": "{span:016x}", "attributes": [{{"key": "a", "value": {{"stringValue": "{text}"}}}}{conversation}]}}"#
    )
}

#[test]
fn spans_that_follow_each_other_read_the_same_however_long_they_are() {
    let of_one_trace: Vec<String> = (0..90).map(|span| long_span(1, span, 1000, None)).collect();
    let in_turn: Vec<String> =
        (0..90).map(|span| long_span(span / 5 % 3, span, 10, Some("s"))).collect();
    let huge = [long_span(1, 0, 70_000, None), long_span(1, 1, 1, None)];
    let torn =
        [long_span(1, 0, 1, None), "{}".to_owned(), long_span(1, 1, 1, None), "5".to_owned()];
    for spans in [&of_one_trace[..], &in_turn, &huge, &torn] {
        let spans = spans.join(" ,\n");
        check(format!("[{spans}]").as_bytes());
        let document = format!(
            r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{spans}]}}]}}], "resourceLogs": [{{"scopeLogs": [{{"logRecords": [{spans}]}}]}}]}}"#
        );
        check(document.as_bytes());
    }
}

#[test]
fn a_long_trace_is_a_few_notes() {
    let spans: Vec<String> = (0..1000).map(|span| long_span(1, span, 10, None)).collect();
    let file = file(format!("[{}]", spans.join(",")).as_bytes());
    let index = indexed(&file, &TraceFormats::default(), super::CHUNK);
    assert_eq!(index.read(0).unwrap().spans.len(), 1000);
    assert!(index.notes() <= 4, "{} notes", index.notes());
}

/// A format of another crate: a word and a document.
#[derive(Debug)]
struct Whole;

impl TraceFormat for Whole {
    fn name(&self) -> &'static str {
        "whole"
    }

    fn description(&self) -> &'static str {
        "the word and a document"
    }

    fn detect(&self, text: &str, _: &Result<Parsed, ParseError>) -> bool {
        text.starts_with("whole")
    }

    fn decode(
        &self,
        text: &str,
        json: Result<Parsed, ParseError>,
        out: &mut Decoded,
    ) -> Result<(), LoadErrorKind> {
        Grammar::Otlp.decode(text.trim_start_matches("whole"), json, out)
    }
}

#[test]
fn traces_of_several_files_are_grouped_as_those_of_one() {
    let resource = |spans: &str, name: &str| {
        format!(
            r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{spans}]}}], "resource": {{"attributes": [{{"key": "agentevals.session_name", "value": {{"stringValue": "{name}"}}}}]}}}}]}}"#
        )
    };
    let one = long_span(1, 1, 1, None);
    let named_as_one = format!("{:032x}", 1);
    let contents = [
        // The same trace in two files, and a session with the name of a trace.
        format!("{one}\n{}\n{}", long_span(2, 1, 1, Some("c")), long_span(3, 1, 1, Some("t"))),
        resource(&long_span(4, 1, 1, Some("t")), " c "),
        format!("[{one}, {}]", long_span(5, 1, 1, Some(&named_as_one))),
        // Of a format that is loaded whole: the names are not known before.
        format!("whole{}", resource(&long_span(6, 1, 1, None), "c")),
        format!(
            "whole{}",
            resource(&[10, 11].map(|trace| long_span(trace, 1, 1, None)).join(","), "unheard")
        ),
        // Two spans of the same id, and two at the same time with different names: they have to be read.
        format!("[{}, {}]", long_span(7, 1, 1, None), long_span(7, 1, 1, Some("c"))),
        format!("[{}, {}]", long_span(8, 2, 1, Some("new")), long_span(8, 1, 1, Some("t"))),
        format!("[{}, {}]", long_span(9, 2, 1, Some("c")), long_span(9, 1, 1, Some("newer"))),
    ];
    let files: Vec<TempPath> = contents.iter().map(|content| file(content.as_bytes())).collect();
    let paths: Vec<PathBuf> = files.iter().map(|file| file.to_path_buf()).collect();
    let mut formats = TraceFormats::default();
    formats.register(Whole);
    let (whole, errors) = load(&paths, &formats);
    let mut index = TraceIndex::new(paths, &formats, GROUPING, &|| false);
    assert!(errors.is_empty() && index.errors.is_empty(), "{:?}", index.errors);
    assert!(index.is_held());
    let read: Vec<_> = (0..index.len()).map(|trace| index.read(trace).unwrap()).collect();
    assert_eq!(texts(read.iter().map(AsRef::as_ref)), texts(&whole));
    let mut sizes = Vec::new();
    for group_by in [GroupBy::Auto, GroupBy::Conversation, GroupBy::Trace] {
        let (groups, _) = group_indexed(&index, Conventions::built_in(), group_by, false);
        let got: Vec<_> = (0..groups.len())
            .map(|group| groups.get(group).map(|trace| index.trace_id(trace)).collect::<Vec<_>>())
            .collect();
        // All starts are the same, so that the order of the members is that of the files.
        let expected: Vec<_> = group(&whole, group_by, false)
            .iter()
            .map(|group| {
                group.members().iter().map(|trace| trace.trace_id.clone()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(got, expected, "{group_by:?}");
        sizes.push(got.iter().map(Vec::len).collect::<Vec<_>>());
    }
    let by_name = vec![3, 3, 2, 2, 1, 1];
    assert_eq!(sizes, [by_name.clone(), by_name, vec![2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]);
    // Names of conversations are not needed any more.
    let names = index.names();
    index.end_grouping();
    assert!(index.names() < names);
    let read: Vec<_> = (0..index.len()).map(|trace| index.read(trace).unwrap()).collect();
    assert_eq!(texts(read.iter().map(AsRef::as_ref)), texts(&whole));
}

#[test]
fn the_order_of_reading_does_not_matter() {
    // Some fit the buffer together, one does not fit it alone, and one is in two distant parts.
    let size = |trace: usize| if trace == 40 { 100_000 } else { 900 };
    let span = |trace: usize, id: &str| {
        let name = "x".repeat(size(trace));
        format!("{{\"traceId\": \"t{trace}\", \"spanId\": \"{id}\", \"name\": \"{name}\"}}\n")
    };
    let spans: String = (0..200).map(|trace| span(trace, "a")).collect();
    let file = file((spans + &span(3, "b")).as_bytes());
    let (whole, errors) = load(&[file.to_path_buf()], &TraceFormats::default());
    assert!(errors.is_empty() && whole.len() == 200);
    let expected = texts(&whole);
    let orders: [&dyn Fn(usize) -> usize; 3] = [&|at| at, &|at| 199 - at, &|at| at * 77 % 200];
    for (number, order) in orders.into_iter().enumerate() {
        let index = indexed(&file, &TraceFormats::default(), super::CHUNK);
        for trace in (0..200).map(order) {
            let read = index.read(trace).unwrap();
            assert_eq!(texts([read.as_ref()]), expected[trace..=trace], "order {number}");
        }
    }
}

#[test]
fn a_file_that_changes_is_an_error_of_its_traces() {
    let span = |trace: &str| format!("{{\"traceId\": \"{trace}\", \"spanId\": \"a\"}}\n");
    let file = file((span("t1") + &span("t2")).as_bytes());
    let index = indexed(&file, &TraceFormats::default(), 64);
    assert_eq!(index.len(), 2);
    assert!(index.read(0).is_ok());
    fs::write(&file, span("t1") + &span("t3")).unwrap();
    // The same length, and perhaps the same time: then the content tells.
    let error = index.read(1).unwrap_err().to_string();
    assert!(error.contains("changed while it was evaluated"), "{error}");
    fs::write(&file, "").unwrap();
    assert!(index.read(1).is_err());
}

#[cfg(unix)]
#[test]
fn pipes_are_copied_and_not_held_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(b"{\"traceId\": \"t\", \"spanId\": \"a\"}").unwrap();
        }
    });
    let index = indexed(&path, &TraceFormats::default(), 64);
    writer.join().unwrap();
    assert_eq!(index.len(), 1);
    assert!(!index.is_held());
    assert_eq!(index.read(0).unwrap().spans[0].span_id, "a");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn documents_read_the_same(
        values in prop::collection::vec(prop_oneof![3 => document(), 2 => span(), 1 => list(span())], 1..4),
        separator in prop::sample::select(vec!["\n", "\n", "\r\n", "\n\n", " "]),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut text = values.join(separator).into_bytes();
        if let Some(cut) = cut {
            text.truncate(cut.index(text.len() + 1));
        }
        check(&text);
    }

    #[test]
    fn changed_samples_read_the_same(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"\"\\{}[],: \n0-e.u\xc3\xa9".to_vec())), 1..4),
    ) {
        let samples = samples();
        let small: Vec<_> = samples.iter().filter(|(_, content)| content.len() < 3000).collect();
        let mut content = which.get(&small).1.clone();
        for (at, byte) in edits {
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] = byte;
            }
        }
        check(&content);
    }
}
