//! Parts of a run: however they are divided, ordered, joined and repeated, their report is the same.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evaluator_test_support::Written;
use proptest::prelude::*;
use tempfile::tempdir;

use super::{super::*, header, scored};
use crate::{ConversationReport, Report};

/// Conversations with different trace ids, some of which have 32 hexadecimal digits.
fn conversations() -> impl Strategy<Value = Vec<ConversationReport>> {
    let id = prop_oneof!["[0-9a-f]{32}", "[a-c]{1,3}"];
    let one = (id, 0..=4u8, 0..3usize, any::<bool>());
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let mut found: Vec<ConversationReport> = Vec::new();
        for (id, score, dropped_copies, has_reason) in all {
            if found.iter().any(|it| *it.trace_id == *id) {
                continue;
            }
            let mut report = ConversationReport::new(id.as_str().into());
            report.content = Some(Digester::new(&id).finish());
            report.turns = 1;
            report.dropped_copies = dropped_copies;
            report.evaluations = vec![scored(f64::from(score) / 4.0)];
            if has_reason {
                report.evaluations[0].status = crate::Status::NotEvaluated;
                report.evaluations[0].score = None;
            }
            found.push(report);
        }
        found
    })
}

fn with_inputs(conversations: usize) -> Header {
    let mut header = header(conversations);
    header.inputs = header.plan;
    header.evaluators[0].fingerprint = header.plan;
    header.report.warnings = vec!["known before".to_owned()];
    header
}

/// Writes a run file, or that of a shard.
fn saved(directory: &Path, conversations: &[ConversationReport], shard: Option<Shard>) -> PathBuf {
    let name = shard.map_or("whole".to_owned(), |shard| format!("{}-{}", shard.number, shard.of));
    let file = directory.join(name);
    let open = RunFile::open(&file, false).unwrap();
    let mut writer = RunWriter::new(Some(&open), 0).of_part(shard.map(Part::Shard));
    writer.start(with_inputs(conversations.len()));
    for (number, conversation) in conversations.iter().enumerate() {
        if shard.is_none_or(|shard| shard.has(&conversation.trace_id)) {
            writer.conversation(number, conversation);
        }
    }
    let warnings = vec!["known before".to_owned()];
    assert!(writer.finish(&mut Report { warnings, ..Report::default() }).is_none());
    file
}

/// Writes the part of a filter.
fn filtered(file: PathBuf, conversations: &[&ConversationReport]) -> PathBuf {
    let out = Written::default();
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    let plan = header(0).plan.filter(|_| !conversations.is_empty());
    writer.start(Header { plan, inputs: None, ..with_inputs(0) });
    for (line, conversation) in conversations.iter().enumerate() {
        writer.conversation(line, conversation);
    }
    let warnings = vec!["known before".to_owned()];
    assert!(writer.finish(&mut Report { warnings, ..Report::default() }).is_none());
    fs::write(&file, out.bytes()).unwrap();
    file
}

/// The report of parts, as text.
fn shown(files: &[PathBuf], expect: Option<Expect>) -> (String, String) {
    let options = ReadOptions { expect, ..ReadOptions::default() };
    let report = read_parts(files, &options).unwrap();
    (
        report.to_json().unwrap(),
        format!("{:?} {:?}", report.balance(), report.conversations.not_evaluated()),
    )
}

/// Files of which some are joined, and some are there again.
fn arranged(directory: &Path, files: &[PathBuf], order: &[prop::sample::Index]) -> Vec<PathBuf> {
    let mut all = files.to_vec();
    for (round, index) in order.iter().enumerate() {
        if all.is_empty() {
            break;
        }
        let chosen = all[index.index(all.len())].clone();
        match round % 3 {
            0 => all.push(chosen),
            1 => {
                let place = index.index(all.len());
                let end = all.len() - 1;
                all.swap(place, end);
            }
            _ => {
                let file = directory.join(format!("joined-{round}"));
                let text = [fs::read(&all[0]).unwrap(), fs::read(&chosen).unwrap()].concat();
                fs::write(&file, text).unwrap();
                all[0] = file;
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn however_a_run_is_divided_its_report_is_the_same(
        conversations in conversations(),
        of in 1..7u64,
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        places in prop::collection::vec(0..4usize, 12),
        other_places in prop::collection::vec(0..4usize, 12),
    ) {
        let directory = tempdir().unwrap();
        let directory = directory.path();
        let whole = shown(&[saved(directory, &conversations, None)], None);
        let shards = (1..=of).map(|number| saved(directory, &conversations, Some(Shard { number, of })));
        let shards: Vec<PathBuf> = shards.collect();
        prop_assert_eq!(&shown(&arranged(directory, &shards, &order), None), &whole);

        let parts = |name: &str, places: &[usize]| -> Vec<PathBuf> {
            let of_part = |part: usize| {
                let own = conversations.iter().zip(places).filter(|(_, place)| **place == part);
                let own: Vec<&ConversationReport> = own.map(|(it, _)| it).collect();
                filtered(directory.join(format!("{name}-{part}")), &own)
            };
            (0..4).map(of_part).collect()
        };
        let sent = Some(Expect::Lines(conversations.len() as u64));
        let (one, other) = (parts("one", &places), parts("other", &other_places));
        let expected = shown(&one, sent);
        prop_assert_eq!(&shown(&arranged(directory, &one, &order), sent), &expected);
        if conversations.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(&shown(&other, sent), &expected);
        // The conversations of the whole run, in another order.
        prop_assert_eq!(&expected.1, &whole.1);
    }
}

#[test]
fn more_parts_than_files_may_be_open_are_read() {
    let directory = tempdir().unwrap();
    let files: Vec<PathBuf> = (0..1500)
        .map(|number| {
            let mut report = ConversationReport::new(format!("{number:032x}").into());
            report.turns = 1;
            report.evaluations = vec![scored(0.5)];
            filtered(directory.path().join(format!("{number}")), &[&report])
        })
        .collect();
    let options = ReadOptions { expect: Some(Expect::Lines(1500)), ..ReadOptions::default() };
    let report = read_parts(&files, &options).unwrap();
    let open = fs::read_dir("/proc/self/fd").map_or(0, |open| open.count());
    assert!(open < 200, "{open}");
    assert_eq!((report.tally().passed, report.errors.len()), (1500, 0));
    assert_eq!(report.conversations.iter().filter(|it| it.is_ok()).count(), 1500);
}

#[test]
fn a_part_that_changes_while_it_is_reported_is_an_error() {
    let directory = tempdir().unwrap();
    let mut one = ConversationReport::new("a".into());
    one.turns = 1;
    one.evaluations = vec![scored(0.5)];
    let file = filtered(directory.path().join("part"), &[&one]);
    let options = ReadOptions { expect: Some(Expect::Any), ..ReadOptions::default() };
    let report = read_parts(std::slice::from_ref(&file), &options).unwrap();
    fs::write(&file, [fs::read(&file).unwrap(), b"x".to_vec()].concat()).unwrap();
    let error = report.conversations.get(0).unwrap().unwrap_err().to_string();
    assert!(error.contains("part has changed since it was read"), "{error}");
    assert_eq!(report.standing(), crate::Standing::Errored);
}

#[test]
fn parts_that_take_turns_are_read_once() {
    let directory = tempdir().unwrap();
    let conversations: Vec<ConversationReport> = (0..100)
        .map(|number| {
            let mut report = ConversationReport::new(format!("{number:032x}").into());
            report.turns = number;
            report.evaluations = vec![scored(0.5)];
            report
        })
        .collect();
    let part = |number: usize| {
        let own: Vec<_> = conversations.iter().skip(number).step_by(20).rev().collect();
        filtered(directory.path().join(number.to_string()), &own)
    };
    let files: Vec<PathBuf> = (0..20).map(part).collect();
    let options = ReadOptions { expect: Some(Expect::Lines(100)), ..ReadOptions::default() };
    let report = read_parts(&files, &options).unwrap();
    directory.close().unwrap();
    let turns: Vec<usize> = report.conversations.iter().map(|it| it.unwrap().turns).collect();
    assert_eq!(turns, (0..100).collect::<Vec<_>>());
}
