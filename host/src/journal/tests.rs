//! Journals as files: cut off, changed, mended.

use std::{fs, ops::Range, time::Duration};

use proptest::prelude::*;

use super::{
    Digester, Fingerprint, Journal, JournalError, Key, header, line, record,
    scan::{Scanned, scan},
};
use crate::{
    runtime::testing::Folder,
    verdict::{Answer, Evaluation, Verdict},
};

fn evaluator() -> Fingerprint {
    Fingerprint::of_settings(Digester::new("test"))
}

fn key(number: u8) -> Key {
    evaluator().key(&[number; 32])
}

fn scored(score: f64) -> Evaluation {
    let answer = Answer { score: Some(score), ..Answer::default() };
    Evaluation::without_process(Verdict::Answer(answer), Duration::from_nanos(7))
}

fn sealed(number: u8, score: f64) -> String {
    line::sealed(&record::text(&key(number), "check", "trace", &scored(score)))
}

/// The text of a journal with this many records, and where each line stands.
fn journal(records: u8) -> (Vec<u8>, Vec<Range<usize>>) {
    let lines = std::iter::once(header::text()).chain((0..records).map(|at| sealed(at, 0.5)));
    let (mut text, mut places) = (String::new(), Vec::new());
    for line in lines {
        places.push(text.len()..text.len() + line.len());
        text.push_str(&line);
    }
    (text.into_bytes(), places)
}

fn score_of(journal: &Journal, number: u8) -> Option<f64> {
    match journal.find(&evaluator(), &key(number))?.verdict {
        Verdict::Answer(answer) => answer.score,
        _ => None,
    }
}

#[test]
fn every_beginning_of_a_journal_is_read_up_to_its_last_whole_line() {
    let (text, places) = journal(3);
    for length in 0..=text.len() {
        let whole = places.iter().filter(|place| place.end <= length).count();
        match scan(&text[..length]).unwrap() {
            Scanned::Nothing { length: seen } => {
                assert_eq!((whole, seen), (0, length as u64));
            }
            Scanned::Journal(contents) => {
                assert_eq!(contents.records.len() + 1, whole, "{length}");
                assert_eq!(contents.end, places[whole - 1].end as u64);
                let lost = length as u64 - contents.end;
                let damage = contents.damage.map(|it| (it.line, it.bytes, it.records));
                assert_eq!(damage, (lost > 0).then_some((whole + 1, lost, 0)), "{length}");
            }
            other @ Scanned::Unusable(_) => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn every_changed_byte_is_seen_and_what_stands_before_it_is_kept() {
    let (text, places) = journal(3);
    for at in places[0].end..text.len() {
        for bits in [1, 0x20, 0x80, text[at] ^ b'\n', text[at]] {
            let mut changed = text.clone();
            changed[at] ^= bits;
            if changed == text {
                continue;
            }
            let Scanned::Journal(contents) = scan(&changed[..]).unwrap() else {
                panic!("{at} {bits}")
            };
            let before = places.iter().filter(|place| place.end <= at).count();
            assert_eq!(contents.records.len() + 1, before, "{at} {bits}");
            assert_eq!(contents.end, places[before - 1].end as u64);
            let damage = contents.damage.unwrap();
            assert_eq!(damage.line, before + 1, "{at} {bits}");
            assert_eq!(damage.bytes, (text.len() - places[before - 1].end) as u64);
        }
    }
    // A header that is not what was written says nothing of what follows.
    for at in places[0].clone() {
        let mut changed = text.clone();
        changed[at] ^= 1;
        assert!(matches!(scan(&changed[..]).unwrap(), Scanned::Unusable(_)), "{at}");
    }
}

#[test]
fn what_a_machine_leaves_behind_that_died_is_dropped_and_told() {
    let folder = Folder::new("journal-tails");
    let (text, places) = journal(2);
    let partial = &text[places[2].start..places[2].end - 9];
    let tails: [Vec<u8>; 7] = [
        partial.to_vec(),
        vec![0; 100_000],
        [partial, &[0; 5000]].concat(),
        b"\n".to_vec(),
        b"garbage\n\xff\xfe more\n".to_vec(),
        b"{\"crc32\":\"".to_vec(),
        b"{\"crc32\":\"00000000\",\"key\":\"\"}\n".to_vec(),
    ];
    for tail in tails {
        let file = folder.path("tail.jsonl");
        fs::write(&file, [&text, &tail[..]].concat()).unwrap();
        let journal = Journal::open(&file, true).unwrap();
        let damage = journal.damage().unwrap();
        assert_eq!((damage.line, damage.bytes, damage.records), (4, tail.len() as u64, 0));
        assert_eq!((score_of(&journal, 0), score_of(&journal, 1)), (Some(0.5), Some(0.5)));
        assert_eq!(fs::read(&file).unwrap(), text, "it is mended");
    }
    for nothing in [vec![], vec![0; 9000], text[..places[0].end - 1].to_vec(), text[..3].to_vec()] {
        let file = folder.path("nothing.jsonl");
        fs::write(&file, &nothing).unwrap();
        let journal = Journal::open(&file, true).unwrap();
        let lost = journal.damage().map_or(0, |damage| damage.bytes);
        assert_eq!(lost, nothing.len() as u64);
        assert_eq!(fs::read(&file).unwrap(), header::text().as_bytes());
    }
}

#[test]
fn what_follows_a_damaged_record_is_counted() {
    let (mut text, places) = journal(5);
    text[places[2].start + 40] ^= 1;
    let Scanned::Journal(contents) = scan(&text[..]).unwrap() else { panic!("it is a journal") };
    let damage = contents.damage.unwrap();
    assert_eq!((contents.records.len(), damage.line, damage.records), (1, 3, 3));
    assert_eq!(damage.reason, "its checksum does not match");
}

#[test]
fn files_of_others_stay_as_they_are() {
    let folder = Folder::new("journal-foreign");
    let (text, _) = journal(1);
    let newer = line::sealed(r#"{"format":"evaluator-journal","version":2}"#);
    let mut damaged = text.clone();
    damaged[30] ^= 1;
    let cases: [(&[u8], &str); 5] = [
        (b"evaluators: []\n", "is not a journal"),
        (b"{\"traces\": []}", "is not a journal"),
        (b"\0\0\0\0\nx", "is not a journal"),
        (newer.as_bytes(), "format version 2, and this program knows version 1"),
        (&damaged, "line 1: the header of this journal is damaged"),
    ];
    for (content, expected) in cases {
        let file = folder.path("file");
        fs::write(&file, content).unwrap();
        let error = Journal::open(&file, true).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("file"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), content);
    }
}

#[test]
fn one_run_at_a_time_writes_a_journal() {
    let folder = Folder::new("journal-lock");
    let file = folder.path("j.jsonl");
    let first = Journal::open(&file, false).unwrap();
    assert!(matches!(Journal::open(&file, true), Err(JournalError::Busy { .. })));
    drop(first);
    // Its thread may take a moment to let go of the file.
    assert!(Journal::open(&file, true).is_ok());
}

#[tokio::test]
async fn the_last_record_of_an_evaluation_counts_if_it_lasts() {
    let folder = Folder::new("journal-last");
    let file = folder.path("j.jsonl");
    let journal = Journal::open(&file, false).unwrap();
    let late = Evaluation::without_process(
        Verdict::TimedOut { limit: Duration::from_secs(1) },
        Duration::from_secs(1),
    );
    for (number, evaluation) in
        [(1, &scored(0.25)), (2, &late), (1, &scored(0.75)), (3, &scored(0.5)), (3, &late)]
    {
        journal.append(&key(number), "check", "t", evaluation).await;
    }
    // It is there before anybody is told, with or without being on the disk.
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 6);
    assert!(score_of(&journal, 1).is_none(), "nobody asked for what was before");
    journal.flush().await;
    drop(journal);
    let journal = Journal::open(&file, true).unwrap();
    assert_eq!(score_of(&journal, 1), Some(0.75));
    assert_eq!((score_of(&journal, 2), score_of(&journal, 3)), (None, None));
    assert_eq!((journal.reused(), journal.failure()), (1, None));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_is_full_is_a_failure_and_no_error() {
    let folder = Folder::new("journal-full");
    for file in ["/dev/full".into(), folder.path("no/such/folder")] {
        let journal = Journal::open(&file, true).unwrap();
        journal.append(&key(1), "check", "t", &scored(1.0)).await;
        journal.flush().await;
        assert!(journal.failure().is_some(), "{}", file.display());
        assert!(journal.find(&evaluator(), &key(1)).is_none());
    }
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>()) {
        let _ = scan(&bytes[..]);
        let (mut text, _) = journal(2);
        let at = at.index(text.len());
        text.splice(at..at, bytes);
        let _ = scan(&text[..]);
    }
}

#[tokio::test]
async fn what_was_withdrawn_is_not_found_and_what_came_later_is() {
    let folder = Folder::new("journal-withdrawn");
    let file = folder.path("j.jsonl");
    let other = Fingerprint::of_settings(Digester::new("other"));
    let open = || Journal::open(&file, true).unwrap();
    let first = open();
    first.append(&key(1), "check", "t", &scored(0.5)).await;
    first.append(&other.key(&[1; 32]), "other", "t", &scored(0.5)).await;
    drop(first);
    let second = open();
    assert_eq!(score_of(&second, 1), Some(0.5));
    second.withdraw(&evaluator(), "check", "it broke").await;
    second.append(&key(2), "check", "t", &scored(0.25)).await;
    drop(second);
    let third = open();
    assert_eq!((score_of(&third, 1), score_of(&third, 2)), (None, Some(0.25)));
    assert!(third.find(&other, &other.key(&[1; 32])).is_some());
}
