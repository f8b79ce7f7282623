//! Run files: what comes back of them, cut off, changed, and shared.

mod parts;
mod reports;
mod streams;

use std::{
    fs::{self, File},
    io::Write as _,
    ops::Range,
    sync::Mutex,
    time::Duration,
};

use evaluator_json::{Object, Value};
use evaluator_traces::conversation::PerformanceMetrics;
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

use self::reports::reports;
use super::{
    Digest, Digester, EvaluationRecord, EvaluatorEntry, FileProblem, Header, RunFile, RunFileError,
    RunWriter, read,
};
use crate::{
    Collector, ConversationReport, Conversations, EvaluationReport, Partial, Report, Standing,
    Status,
};

/// A short report that does not end where its parts could.
fn short(number: usize) -> ConversationReport {
    let mut report = ConversationReport::new(format!("t{number}").into());
    report.turns = number;
    report.warnings = vec!["odd".repeat(number % 50)];
    report
}

fn texts_of(conversations: &Conversations) -> Vec<String> {
    conversations.iter().map(|it| format!("{:?}", it.unwrap())).collect()
}

proptest! {
    #[test]
    fn what_comes_back_is_what_was_added(
        (reports, order) in reports().prop_flat_map(|reports| {
            let order: Vec<usize> = (0..reports.len()).collect();
            (Just(reports), Just(order).prop_shuffle())
        }),
        memory in prop_oneof![Just(0), 0..4000usize, Just(usize::MAX)],
    ) {
        let mut collector = Collector::new(memory, reports.len());
        for number in order {
            collector.put(number, &reports[number]).unwrap();
            collector.flush().unwrap();
        }
        let conversations = collector.finish();
        let expected: Vec<_> = reports.iter().map(|report| format!("{report:?}")).collect();
        for _ in 0..2 {
            prop_assert_eq!(&texts_of(&conversations), &expected);
        }
        for (number, expected) in expected.iter().enumerate().rev() {
            let one = conversations.get(number).unwrap().unwrap();
            prop_assert_eq!(&format!("{one:?}"), expected);
        }
        prop_assert!(conversations.get(reports.len()).is_none());
        prop_assert_eq!(conversations.len(), reports.len());

        // Wherever it was, the report says the same of it.
        let whole = |conversations: Conversations| {
            let report = Report { conversations, require_evaluated: true, ..Report::default() };
            (report.to_json().unwrap(), format!("{:?}", report.balance()))
        };
        prop_assert_eq!(whole(conversations), whole(reports.into()));
    }

    #[test]
    fn no_file_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        at in any::<prop::sample::Index>(),
    ) {
        let directory = tempdir().unwrap();
        let (mut text, _) = saved(&directory, 2, true);
        let at = at.index(text.len());
        text.splice(at..at, bytes);
        let file = directory.path().join("r.evalrun");
        fs::write(&file, &text).unwrap();
        let _ = read(std::slice::from_ref(&file), false).map(|report| report.to_json());
        let _ = RunFile::open(&file, true);
    }
}

#[test]
fn numbers_that_json_does_not_have_are_strings() {
    let mut report = short(0);
    let mut evaluation = EvaluationReport::new("check");
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Value::Float);
    evaluation.details = Some(Object::from_iter([("a".to_owned(), Value::Array(numbers.into()))]));
    report.evaluations.push(evaluation);
    let back: Conversations = vec![report].into();
    let details = back.get(0).unwrap().unwrap().evaluations.remove(0).details.unwrap();
    let numbers = ["NaN", "Infinity", "-Infinity"].map(Value::from);
    assert_eq!(format!("{:?}", details["a"]), format!("{:?}", Value::Array(numbers.into())));
}

#[test]
fn lines_of_any_length_are_found_in_any_order_of_finishing() {
    // Some do not fit the part of the file that is read at a time.
    let long = |number: usize| ConversationReport {
        warnings: vec!["x".repeat(number % 7 * 20_000)],
        ..short(number)
    };
    let mut collector = Collector::new(100_000, 500);
    // As if some took much longer than those around them.
    for slow in [false, true] {
        for number in (0..500).filter(|number| (number % 31 == 0) == slow) {
            collector.put(number, &long(number)).unwrap();
            collector.flush().unwrap();
        }
    }
    let conversations = collector.finish();
    let ids: Vec<_> = conversations.iter().map(|it| it.unwrap()).collect();
    for (number, report) in ids.iter().enumerate() {
        assert_eq!(*report.trace_id, *format!("t{number}"));
        assert_eq!(report.warnings[0].len(), number % 7 * 20_000);
    }
    assert_eq!(ids.len(), 500);
}

/// Whether each flush of 100 conversations failed.
fn fill(collector: &mut Collector, numbers: Range<usize>) -> Vec<bool> {
    let add = |number| {
        collector.put(number, &short(number)).unwrap();
        collector.flush().is_err()
    };
    numbers.map(add).collect()
}

#[test]
fn a_file_that_cannot_be_written_any_more_keeps_what_it_has() {
    let mut collector = Collector::new(200, 100);
    fill(&mut collector, 0..50);
    // One that may only be read, with a part of what was to be written: as a full disk leaves it.
    let directory = tempdir().unwrap();
    let path = directory.path().join("torn");
    let file = collector.store().file().as_mut().unwrap().get_mut().unwrap();
    let mut copy = File::create(&path).unwrap();
    std::io::Seek::rewind(file).unwrap();
    std::io::copy(file, &mut copy).unwrap();
    copy.write_all(b"torn").unwrap();
    *collector.store().file() = Some(Mutex::new(File::open(&path).unwrap()));
    let failed = fill(&mut collector, 50..100);
    assert_eq!(failed.iter().filter(|failed| **failed).count(), 1);
    let all: Conversations = (0..100).map(short).collect();
    assert_eq!(texts_of(&collector.finish()), texts_of(&all));
}

/// A report whose temporary file was changed.
fn with_file(change: impl FnOnce(&mut File)) -> Report {
    let mut collector = Collector::new(0, 10);
    fill(&mut collector, 0..10);
    change(collector.store().file().as_mut().unwrap().get_mut().unwrap());
    let conversations = collector.finish();
    Report { conversations, max_error_rate: 1.0, allow_unevaluated: true, ..Report::default() }
}

#[test]
fn what_cannot_be_read_back_is_an_error_and_never_passes() {
    let truncated = with_file(|file| file.set_len(100).unwrap());
    let zeros = with_file(|file| {
        let length = file.metadata().unwrap().len();
        file.set_len(20).unwrap();
        file.set_len(length).unwrap();
    });
    let changed = with_file(|file| {
        std::io::Seek::seek(file, std::io::SeekFrom::Start(44)).unwrap();
        file.write_all(b"T").unwrap();
    });
    for report in [truncated, zeros, changed] {
        assert_eq!(report.standing(), Standing::Passed);
        let error = report.to_json().unwrap_err().to_string();
        assert!(error.starts_with("conversation ") && error.contains("cannot be read"), "{error}");
        assert_eq!(report.conversations.unreadable(), Some(error.as_str()));
        // Whatever is tolerated.
        assert_eq!(report.standing(), Standing::Errored);
    }
}

#[test]
fn a_conversation_that_was_not_added_is_an_error() {
    let mut collector = Collector::new(0, 3);
    collector.put(0, &short(0)).unwrap();
    collector.put(2, &short(2)).unwrap();
    let conversations = collector.finish();
    let read: Vec<bool> = conversations.iter().map(|it| it.is_ok()).collect();
    assert_eq!(read, [true, false, true]);
    let report = Report { conversations, ..Report::default() };
    assert_eq!(report.standing(), Standing::Errored);
}

fn key(number: u8) -> Digest {
    Digester::new("input").bytes("number", &[number]).finish()
}

fn scored(score: f64) -> EvaluationReport {
    let mut report = EvaluationReport::new("check");
    report.score = Some(score);
    report.threshold = Some(0.5);
    report.status = if score < 0.5 { Status::Failed } else { Status::Passed };
    report
}

fn add(writer: &mut RunWriter, number: u8, evaluation: &EvaluationReport, reusable: bool) {
    let record = EvaluationRecord {
        key: Some(key(number)),
        reusable,
        number: number.into(),
        trace_id: format!("t{number}").into(),
        turns: 1,
        repeat: 0,
        stderr: String::new(),
        evaluation,
    };
    writer.evaluation(&record);
    assert!(writer.flush().is_none());
}

fn header(conversations: usize) -> Header {
    let entry = EvaluatorEntry {
        name: "check".to_owned(),
        kind: "code".to_owned(),
        threshold: 0.5,
        ..EvaluatorEntry::default()
    };
    let plan = Some(Digester::new("plan").finish());
    Header { conversations, evaluators: vec![entry], plan, ..Header::default() }
}

fn writer(file: &std::path::Path, resume: bool, conversations: usize) -> RunWriter {
    let file = RunFile::open(file, resume).unwrap();
    let mut writer = RunWriter::new(Some(&file), 0);
    writer.start(header(conversations));
    assert!(writer.saves());
    writer
}

#[test]
fn conversations_that_come_during_the_run_are_counted_by_the_last_line_alone() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("r.evalrun");
    let mut writer = writer(&file, false, 0);
    // The first one is evaluated again.
    for (number, score) in [(0, 0.25), (1, 0.5), (0, 0.5)] {
        let mut report = ConversationReport::new(format!("t{number}").into());
        report.evaluations = vec![scored(score)];
        writer.conversation(number, &report);
    }
    assert!(writer.finish(&mut Report::default()).is_none());
    let report = read(&[file], false).unwrap();
    assert_eq!((report.errors.len(), report.conversations.len()), (0, 2), "{:?}", report.errors);
}

/// The text of the file `r.evalrun` with this number of evaluations and their conversations, and the positions of its lines.
fn saved(directory: &TempDir, evaluations: u8, finished: bool) -> (Vec<u8>, Vec<Range<usize>>) {
    let file = directory.path().join("r.evalrun");
    let _ = fs::remove_file(&file);
    let mut writer = writer(&file, false, evaluations.into());
    for number in 0..evaluations {
        add(&mut writer, number, &scored(0.5), true);
    }
    if finished {
        for number in 0..evaluations {
            let mut report = ConversationReport::new(format!("t{number}").into());
            report.evaluations = vec![scored(0.5)];
            writer.conversation(number.into(), &report);
        }
        assert!(writer.finish(&mut Report::default()).is_none());
    } else {
        drop(writer);
    }
    let text = fs::read(&file).unwrap();
    let mut lines = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let start = lines.last().map_or(0, |line: &Range<usize>| line.end);
        lines.push(start..start + line.len());
    }
    (text, lines)
}

/// Scores of the evaluations that a resumed run finds, and the damage of the file.
fn found(file: &std::path::Path) -> (Vec<Option<f64>>, Option<super::Damage>) {
    let mut opened = RunFile::open(file, true);
    // A process that another test starts holds the lock of the last round from its fork to its exec.
    for _ in 0..1000 {
        if !matches!(opened, Err(RunFileError::File { problem: FileProblem::Busy, .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        opened = RunFile::open(file, true);
    }
    let file = opened.unwrap();
    let mut writer = RunWriter::new(Some(&file), 0);
    let damage = writer.damage();
    writer.start(header(0));
    let score = |number| Some(writer.find(&key(number))?.evaluation.score.unwrap());
    ((0..3).map(score).collect(), damage)
}

#[test]
fn every_beginning_of_a_file_is_used_up_to_its_last_whole_line() {
    let directory = tempdir().unwrap();
    let (text, lines) = saved(&directory, 3, false);
    let file = directory.path().join("cut.evalrun");
    let odd = lines[0].clone().step_by(97).chain(lines[1].start..=text.len());
    for length in odd {
        fs::write(&file, &text[..length]).unwrap();
        let whole = lines.iter().filter(|line| line.end <= length).count();
        let (scores, damage) = found(&file);
        let expected: Vec<_> = (0..3).map(|number| (number + 1 < whole).then_some(0.5)).collect();
        assert_eq!(scores, expected, "{length}");
        let is_torn = !lines.iter().any(|line| line.end == length) && length > 0;
        let damage = damage.map(|it| (it.line, it.offset, it.lines));
        let start = if whole == 0 { 0 } else { lines[whole - 1].end as u64 };
        assert_eq!(damage, is_torn.then_some((whole + 1, start, 1)), "{length}");
    }
}

#[test]
fn every_changed_byte_is_seen_and_all_other_lines_are_used() {
    let directory = tempdir().unwrap();
    let (text, lines) = saved(&directory, 3, false);
    let file = directory.path().join("changed.evalrun");
    for at in lines[1].start..text.len() {
        for bits in [1, 0x80, text[at] ^ b'\n'].into_iter().filter(|bits| *bits > 0) {
            let mut changed = text.clone();
            changed[at] ^= bits;
            fs::write(&file, &changed).unwrap();
            let line = lines.iter().position(|line| line.contains(&at)).unwrap();
            let (scores, damage) = found(&file);
            // Without its line end a line runs into the next one.
            let lost = if changed[at] != b'\n' && text[at] == b'\n' {
                line..line + 2
            } else {
                line..line + 1
            };
            for (number, score) in scores.into_iter().enumerate() {
                assert_eq!(score.is_none(), lost.contains(&(number + 1)), "{at} {bits}");
            }
            let damage = damage.unwrap();
            assert_eq!((damage.line, damage.offset), (line + 1, lines[line].start as u64));
        }
    }
    for at in lines[0].clone().step_by(11) {
        let mut changed = text.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        assert!(RunFile::open(&file, true).is_err(), "{at}");
        assert!(read(std::slice::from_ref(&file), false).is_err());
        assert_eq!(fs::read(&file).unwrap(), changed);
    }
}

#[test]
fn what_a_machine_without_power_leaves_is_dropped() {
    let directory = tempdir().unwrap();
    let (text, lines) = saved(&directory, 2, false);
    let partial = &text[lines[2].start..lines[2].end - 9];
    let tails: [Vec<u8>; 6] = [
        partial.to_vec(),
        vec![0; 100_000],
        [partial, &[0; 5000]].concat(),
        b"\n".to_vec(),
        b"garbage\n\xff\xfe more\n".to_vec(),
        b"{\"crc32\":\"00000000\",\"kind\":\"evaluation\"}\n".to_vec(),
    ];
    let file = directory.path().join("tail.evalrun");
    for tail in tails {
        fs::write(&file, [&text, &tail[..]].concat()).unwrap();
        let (scores, damage) = found(&file);
        assert_eq!(scores, [Some(0.5), Some(0.5), None]);
        assert_eq!(damage.unwrap().line, 4);
        assert_eq!(
            found(&file),
            (vec![Some(0.5), Some(0.5), None], None),
            "the file is whole again"
        );
    }
    for nothing in [vec![], vec![0; 9000], text[..lines[0].end - 1].to_vec(), text[..3].to_vec()] {
        fs::write(&file, &nothing).unwrap();
        let (scores, damage) = found(&file);
        assert_eq!((scores, damage.is_some()), (vec![None; 3], !nothing.is_empty()));
        // A file with nothing but zeros in front of something else is not ours.
        fs::write(&file, [&[0; 9000], &b"x"[..]].concat()).unwrap();
        assert!(matches!(
            RunFile::open(&file, true),
            Err(RunFileError::File { problem: FileProblem::Foreign, .. })
        ));
    }
}

#[test]
fn one_run_at_a_time_writes_a_file() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let busy = || {
        matches!(
            RunFile::open(&file, true),
            Err(RunFileError::File { problem: FileProblem::Busy, .. })
        )
    };
    let first = RunFile::open(&file, false).unwrap();
    assert!(busy());
    let mut running = RunWriter::new(Some(&first), 0);
    running.start(header(1));
    add(&mut running, 1, &scored(0.5), true);
    assert!(busy());
    running.finish(&mut Report::default());
    assert!(!busy());
    // Also when the file was replaced, to keep its evaluations.
    let second = writer(&file, true, 1);
    assert!(busy());
    drop(second);
    assert!(!busy());
    // An open file belongs to one run.
    let mut again = RunWriter::new(Some(&first), 0);
    again.start(header(1));
    assert!(!again.saves());
}

#[test]
fn the_last_record_of_a_conversation_counts_and_sentences_are_made_from_all_of_these() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let mut writer = writer(&file, false, 0);
    for (number, score, dropped_copies) in [(0, 0.5, 7), (1, 0.5, 0), (0, 0.25, 2), (2, 0.5, 1)] {
        let mut report = ConversationReport {
            dropped_copies,
            ..ConversationReport::new(format!("t{number}").into())
        };
        report.evaluations = vec![scored(score)];
        report.evaluations[0].warnings = vec!["x".to_owned(); dropped_copies];
        writer.conversation(number, &report);
        assert!(writer.flush().is_none());
    }
    let mut report = Report { warnings: vec!["first".to_owned()], ..Report::default() };
    assert!(writer.finish(&mut report).is_none());
    let copies = "3 spans dropped as exact copies of others in 2 conversations (first in trace t0)";
    assert_eq!(report.warnings, ["first", copies]);
    assert_eq!((report.tally().passed, report.conversations.warnings()), (2, 3));
    let first = report.conversations.get(0).unwrap().unwrap();
    assert_eq!(first.evaluations[0].score, Some(0.25));
    let text = fs::read_to_string(&file).unwrap();
    let end = text.lines().last().unwrap();
    assert!(end.contains("\"conversations\":3,") && !end.contains("exact copies"), "{end}");
}

#[test]
fn the_last_reusable_record_of_an_evaluation_counts() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let mut first = writer(&file, false, 3);
    for (number, score, reusable) in
        [(0, 0.25, true), (1, 0.5, false), (0, 0.75, true), (2, 0.5, true), (2, 0.1, false)]
    {
        add(&mut first, number, &scored(score), reusable);
    }
    assert!(first.find(&key(0)).is_none(), "only a resumed run uses results");
    drop(first);
    assert_eq!(found(&file).0, [Some(0.75), None, Some(0.5)]);
}

#[test]
fn what_was_withdrawn_is_not_used_and_what_came_later_is() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let mut first = writer(&file, false, 3);
    add(&mut first, 0, &scored(0.5), true);
    add(&mut first, 1, &EvaluationReport { name: "other".to_owned(), ..scored(0.5) }, true);
    first.withdraw("check", "it broke");
    add(&mut first, 2, &scored(0.25), true);
    drop(first);
    assert_eq!(found(&file).0, [None, Some(0.5), Some(0.25)]);
}

#[test]
fn results_of_a_complete_run_are_kept_only_if_it_is_resumed() {
    let directory = tempdir().unwrap();
    let (text, _) = saved(&directory, 2, true);
    let file = directory.path().join("r.evalrun");
    drop(writer(&file, true, 0));
    assert_eq!(found(&file).0, [Some(0.5), Some(0.5), None]);
    fs::write(&file, &text).unwrap();
    drop(writer(&file, false, 0));
    assert_eq!(found(&file).0, [None; 3]);
    // Those of a run that did not end are.
    saved(&directory, 2, false);
    drop(writer(&file, false, 0));
    assert_eq!(found(&file).0, [Some(0.5), Some(0.5), None]);
}

#[test]
fn a_saved_run_is_reported_as_it_was_and_a_killed_one_as_partial() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let files = std::slice::from_ref(&file);
    let (text, lines) = saved(&directory, 3, true);
    let whole = read(files, false).unwrap();
    assert_eq!((whole.standing(), whole.conversations.len()), (Standing::Passed, 3));
    // Without its end line, and with one conversation that is not finished.
    fs::write(&file, &text[..lines[6].start]).unwrap();
    let partial = read(files, false).unwrap();
    assert_eq!((partial.standing(), partial.conversations.len()), (Standing::Errored, 3));
    assert_eq!(partial.partial, Some(Partial::Unfinished));
    assert!(
        partial.errors[0].contains("has no end line: the run was killed"),
        "{:?}",
        partial.errors
    );
    assert_eq!(texts_of(&partial.conversations).len(), 3);
    // With a damaged line, or without one.
    let without = [&text[..lines[5].start], &text[lines[5].end..]].concat();
    let mut damaged = text.clone();
    damaged[lines[5].start + 60] ^= 1;
    for (text, expected) in
        [(without, "not as many as its first and last line say"), (damaged, "line 6 (byte ")]
    {
        fs::write(&file, text).unwrap();
        let report = read(files, false).unwrap();
        assert!(report.errors[0].contains(expected), "{:?}", report.errors);
        assert_eq!((report.standing(), report.conversations.len()), (Standing::Errored, 2));
    }
}

/// A line with this text after its checksum.
fn sealed(rest: &str) -> String {
    format!("{{\"crc32\":\"{:08x}\",{rest}\n", crc32fast::hash(rest.as_bytes()))
}

#[test]
fn numbers_of_any_size_are_read() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let part = |ids: [&str; 2]| {
        let mut writer = writer(&file, false, 2);
        for (number, id) in ids.into_iter().enumerate() {
            let mut report = ConversationReport::new(id.into());
            report.evaluations = vec![scored(0.5)];
            report.performance = Some(PerformanceMetrics::default());
            writer.conversation(number, &report);
        }
        let (errors, causes) = (vec!["x".to_owned()], [(0, "y".to_owned())].into());
        writer.finish(&mut Report { errors, causes, unreliable: 1, ..Report::default() });
        let text = fs::read_to_string(&file).unwrap();
        let left_out = r#""left_out":{"counts":[["span",1]],"listed":["x"]}"#;
        text.replace(r#""left_out":{"counts":[],"listed":[]}"#, left_out)
            .replace("\"reused\":null", "\"reused\":1")
    };
    let other = part(["c", "d"]);
    let text = part(["a", "b"]);
    fs::remove_file(&file).unwrap();
    // Every line again, with the number that is replaced.
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        let rest = |line: &str| sealed(line.split_once(',').unwrap().1);
        fs::write(&path, text.lines().map(rest).collect::<String>()).unwrap();
        path
    };
    let others = [write("1", &other), write("2", &other.replace(":1", ":18446744073709551615"))];
    let mut tried = 0;
    for (at, _) in text.match_indices(|char: char| char.is_ascii_digit()) {
        let follows = |next: char| !next.is_ascii_digit();
        if !text[..at].ends_with([':', ',']) || !text[at + 1..].starts_with(follows) {
            continue;
        }
        for number in ["18446744073709551615", "9223372036854775807", "1000000000000000"] {
            let file = write("r", &format!("{}{number}{}", &text[..at], &text[at + 1..]));
            for other in &others {
                for files in [
                    vec![file.clone()],
                    vec![file.clone(), other.clone()],
                    vec![other.clone(), file.clone()],
                ] {
                    let Ok(report) = read(&files, true) else { continue };
                    assert_eq!(report.standing(), Standing::Errored);
                    report.to_json().unwrap();
                    let _ = report.left_out.to_string();
                }
            }
            let _ = RunFile::open(&file, true);
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
    let swapped = text.replace("\"number\":0", "\"number\":18446744073709551615");
    let ids = read(&[write("r", &swapped)], false).unwrap().conversations;
    let ids: Vec<_> = ids.iter().map(|it| it.unwrap().trace_id.to_string()).collect();
    assert_eq!(ids, ["b", "a"]);
}

#[test]
fn what_contradicts_itself_is_damage_with_its_line() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("r.evalrun");
    let (text, _) = saved(&directory, 2, true);
    let text = String::from_utf8(text).unwrap();
    let forged = |line: usize, from: &str, to: &str| {
        let lines = text.lines().enumerate().map(|(at, old)| {
            let rest = old.split_once(',').unwrap().1;
            let is_it = at + 1 == line;
            assert!(!is_it || rest.contains(from), "{rest}");
            sealed(&if is_it { rest.replacen(from, to, 1) } else { rest.to_owned() })
        });
        fs::write(&file, lines.collect::<String>()).unwrap();
        let report = read(std::slice::from_ref(&file), false).unwrap();
        (report.standing(), report.errors.join("; "))
    };
    let (standing, errors) = forged(4, "\"score\":0.5", "\"score\":0.5");
    assert_eq!((standing, &*errors), (Standing::Passed, ""));
    let warned = "\"score\":0.25,\"warnings\":[\"it says PASSED, though its score 0.25 is below the threshold 0.5\"]";
    assert_eq!(forged(4, "\"score\":0.5", warned).0, Standing::Passed);
    let evaluations = text.lines().nth(3).unwrap();
    let one = &evaluations[evaluations.find("[{").unwrap() + 1..=evaluations.rfind("}]").unwrap()];
    for (from, to, reason) in [
        ("\"score\":0.5", "\"score\":7.5", "a score is not from 0 to 1"),
        ("\"score\":0.5", "\"score\":-0.5", "a score is not from 0 to 1"),
        ("\"score\":0.5", "\"score\":0.0", "has passed with a score below its threshold"),
        ("\"threshold\":0.5", "\"threshold\":0.0", "a threshold is not that of the evaluator"),
        ("\"status\"", "\"failure_reason\":\"x\",\"status\"", "a reason why it failed"),
        ("\"check\"", "\"other\"", "its evaluations are not those"),
        (one, "", "its evaluations are not those"),
        (one, &format!("{one},{one}"), "its evaluations are not those"),
    ] {
        let (standing, errors) = forged(4, from, to);
        assert_eq!(standing, Standing::Errored, "{to}");
        assert!(errors.contains("r.evalrun, line 4 (byte ") && errors.contains(reason), "{errors}");
    }
    // As many conversations as the first line says, each once.
    for (line, from, to) in
        [(1, "\"conversations\":2", "\"conversations\":3"), (4, "\"number\":0", "\"number\":1")]
    {
        let (standing, errors) = forged(line, from, to);
        assert_eq!(standing, Standing::Errored);
        assert!(errors.contains("not as many as its first and last line say"), "{errors}");
    }
    // Neither are they in the report of a killed run, nor does a resumed run use them.
    let (text, lines) = saved(&directory, 2, false);
    let line = String::from_utf8(text[lines[1].clone()].to_vec()).unwrap();
    let line = sealed(line.trim_end().replace("0.5,\"th", "7.5,\"th").split_once(',').unwrap().1);
    let killed = [&text[..lines[0].end], line.as_bytes(), &text[lines[2].clone()]].concat();
    fs::write(&file, killed).unwrap();
    let report = read(std::slice::from_ref(&file), false).unwrap();
    assert_eq!((report.tally().passed, report.tally().not_run), (1, 1));
    assert_eq!(found(&file).0, [None, Some(0.5), None]);
}

#[test]
fn a_file_with_other_digests_is_reported_and_not_resumed() {
    let directory = tempdir().unwrap();
    for finished in [false, true] {
        let (text, lines) = saved(&directory, 2, finished);
        let line = String::from_utf8(text[lines[0].clone()].to_vec()).unwrap();
        assert!(line.contains("\"encoding\":2,"), "{line}");
        let older = line.replace("\"encoding\":2,", "");
        let older = sealed(older.trim_end().split_once(',').unwrap().1);
        let file = directory.path().join("r.evalrun");
        let text = [older.as_bytes(), &text[lines[0].end..]].concat();
        fs::write(&file, &text).unwrap();
        let error = RunFile::open(&file, true).unwrap_err().to_string();
        assert!(error.contains("r.evalrun cannot be resumed: "), "{error}");
        assert_eq!(fs::read(&file).unwrap(), text);
        let report = read(std::slice::from_ref(&file), false).unwrap();
        assert_eq!(report.tally().passed, 2);
        // A run that replaces it keeps nothing that no later run can use.
        drop(writer(&file, false, 0));
        assert!(!fs::read_to_string(&file).unwrap().contains("\"kind\":\"evaluation\""));
    }
}

#[test]
fn a_file_without_a_header_is_that_of_a_killed_run() {
    let directory = tempdir().unwrap();
    let (text, lines) = saved(&directory, 1, true);
    let file = directory.path().join("r.evalrun");
    for (length, what) in [
        (0, "is empty"),
        (1, "ends inside its first line"),
        (lines[0].end - 1, "ends inside its first line"),
    ] {
        let empty = directory.path().join("empty.evalrun");
        fs::write(&empty, &text[..length]).unwrap();
        for files in [&[empty.clone()][..], &[empty.clone(), file.clone()], &[file.clone(), empty]]
        {
            let report = read(files, false).unwrap();
            assert_eq!(
                (report.standing(), report.partial),
                (Standing::Errored, Some(Partial::Unfinished))
            );
            assert_eq!(report.tally().passed, files.len() as u64 - 1);
            assert!(
                report.errors[0].contains(&format!("empty.evalrun {what}: its run was killed")),
                "{:?}",
                report.errors
            );
        }
    }
}

#[test]
fn parts_of_one_run_are_one_report_and_others_are_refused() {
    let directory = tempdir().unwrap();
    let part = |name: &str, ids: &[&str], change: &dyn Fn(&mut Header)| {
        let file = directory.path().join(name);
        let open = RunFile::open(&file, false).unwrap();
        let mut writer = RunWriter::new(Some(&open), 0);
        let mut header = header(ids.len());
        change(&mut header);
        writer.start(header);
        for (number, id) in ids.iter().enumerate() {
            let mut report = ConversationReport::new((*id).into());
            report.evaluations = vec![scored(0.5)];
            writer.conversation(number, &report);
        }
        let cases = ["x".to_owned(), name.to_owned()].into();
        writer.finish(&mut Report { unrecorded_cases: cases, ..Report::default() });
        file
    };
    let same = |_: &mut Header| {};
    let (first, second) = (part("1", &["a", "b"], &same), part("2", &["c"], &same));
    let other = read(&[first.clone(), second.clone()], false).unwrap_err().to_string();
    assert!(other.contains("are runs over different traces, which are not one run"), "{other}");
    let both = read(&[first.clone(), second], true).unwrap();
    let ids: Vec<_> = both.conversations.iter().map(|it| it.unwrap().trace_id).collect();
    assert_eq!(ids, ["a".into(), "b".into(), "c".into()]);
    assert_eq!((both.tally().passed, both.unrecorded_cases), (3, vec!["x".to_owned()]));
    let inputs = |header: &mut Header| header.inputs = header.plan;
    let divided = [part("7", &["a"], &inputs), part("8", &["b"], &inputs)];
    assert_eq!(read(&divided, false).unwrap().conversations.len(), 2);
    let refused = |second| match read(&[first.clone(), second], true) {
        Err(RunFileError::Different { difference, .. }) => difference,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(part("3", &["d", "b"], &same)), "the conversation of trace b is in both");
    let plan = |header: &mut Header| header.plan = Some(Digester::new("other").finish());
    assert!(refused(part("4", &["d"], &plan)).starts_with("`plan` is "));
    let threshold = |header: &mut Header| {
        plan(header);
        header.evaluators[0].threshold = 0.75;
    };
    assert!(
        refused(part("5", &["d"], &threshold))
            .starts_with("`evaluators.check.threshold` is 0.5 in the first and 0.75 in the second")
    );
    let changed = |header: &mut Header| {
        plan(header);
        header.evaluators[0].fingerprint = header.plan;
    };
    assert!(refused(part("6", &["d"], &changed)).starts_with("`plan` is another one"));
}
