//! Conversations of all parts, and which of them are the same.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    hash::{DefaultHasher, Hasher as _},
    io,
};

use evaluator_json::{Object, Value};

use crate::{CANCELLED, ConversationReport, EvaluationReport, NOT_RUN};

/// Position of a line: its store, and the byte.
pub(super) type Position = (u32, u64);

/// A conversation in a file. There may be millions.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: RowId,
    /// Its number in its part.
    pub(super) number: usize,
    pub(super) start: u64,
    pub(super) length: u32,
    pub(super) store: u32,
    /// Hash of its record but for durations.
    pub(super) hash: u64,
}

impl Row {
    /// Returns the row of a conversation on this line; `None` if the line is too long.
    pub(super) fn new(
        conversation: &ConversationReport,
        number: usize,
        (store, start): Position,
        line: &[u8],
    ) -> Option<Self> {
        let (id, length) = (RowId::new(&conversation.trace_id), u32::try_from(line.len()).ok()?);
        Some(Self { id, number, start, length, store, hash: hash(line) })
    }

    pub(super) fn position(&self) -> Position {
        (self.store, self.start)
    }
}

/// A trace id. Most have 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub(super) enum RowId {
    #[display("{:032x}", u128::from_be_bytes(*_0))]
    Digits([u8; 16]),
    Text(Box<str>),
}

impl RowId {
    pub(super) fn new(text: &str) -> Self {
        let digits = u128::from_str_radix(text, 16).map(u128::to_be_bytes);
        match digits {
            Ok(digits) if Self::Digits(digits).to_string() == text => Self::Digits(digits),
            _ => Self::Text(text.into()),
        }
    }
}

/// As their texts.
impl Ord for RowId {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Digits(one), Self::Digits(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            _ => self.to_string().cmp(&other.to_string()),
        }
    }
}

impl PartialOrd for RowId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Hash of the record on a line but for durations and what is before the conversation.
fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let text = str::from_utf8(line).unwrap_or_default();
    let record = text.find("\"conversation\":").map_or(text, |at| &text[at..]);
    for piece in record.split("\"duration_ns\":") {
        let is_digit = |letter: char| letter.is_ascii_digit();
        hasher.write(piece.trim_start_matches(is_digit).as_bytes());
    }
    hasher.finish()
}

/// Conversations that are there several times.
#[derive(Debug, Default)]
pub(super) struct Doubles {
    /// Rows of which another row has all results.
    pub(super) same: Vec<Row>,
    /// Number of conversations that are there several times with all results.
    pub(super) twice: usize,
    /// Number of these that are in several parts.
    pub(super) shared: usize,
    /// Two rows of each conversation of which there are different records.
    pub(super) different: Vec<[Row; 2]>,
}

/// Finds conversations that are there several times. Sorts the rows by trace id. Evaluations that were not made, because their run
/// was cancelled or killed, are no other results than those of another row.
///
/// # Errors
///
/// A record cannot be read.
pub(super) fn doubles<P: Ord>(
    rows: &mut [Row],
    mut read: impl FnMut(&Row) -> io::Result<ConversationReport>,
    part_of: impl Fn(&Row) -> P,
) -> io::Result<Doubles> {
    let key = |row: &Row| (row.hash, row.store, row.start);
    rows.sort_unstable_by(|one, other| one.id.cmp(&other.id).then(key(one).cmp(&key(other))));
    let mut doubles = Doubles::default();
    for group in rows.chunk_by(|one, other| one.id == other.id).filter(|group| group.len() > 1) {
        let are_equal = group.iter().all(|row| row.hash == group[0].hash);
        let mut ordered = Vec::with_capacity(group.len());
        for row in group {
            // Most are equal, and need not be read.
            ordered.push((if are_equal { 0 } else { not_made(&read(row)?) }, row));
        }
        // Those with the most results are kept.
        ordered.sort_by_key(|(missing, _)| *missing);
        let mut kept: Vec<(&Row, BTreeSet<P>)> = Vec::new();
        let mut is_twice = false;
        for (missing, row) in ordered {
            let mut keeper = None;
            for (place, (other, _)) in kept.iter().enumerate() {
                if row.hash == other.hash || gives_way(read(row)?, read(other)?) {
                    keeper = Some(place);
                    break;
                }
            }
            let Some((_, parts)) = keeper.map(|place| &mut kept[place]) else {
                kept.push((row, BTreeSet::from([part_of(row)])));
                continue;
            };
            parts.insert(part_of(row));
            is_twice |= missing == 0;
            doubles.same.push(row.clone());
        }
        doubles.twice += usize::from(is_twice);
        doubles.shared += usize::from(kept.iter().any(|(_, parts)| parts.len() > 1));
        if let [(first, _), (second, _), ..] = &kept[..] {
            doubles.different.push([(*first).clone(), (*second).clone()]);
        }
    }
    Ok(doubles)
}

/// Returns the number of evaluations that were not made, because the run was cancelled or killed.
fn not_made(conversation: &ConversationReport) -> usize {
    let evaluations = conversation.evaluations.iter().flat_map(EvaluationReport::each_repeat);
    evaluations.filter(|it| !is_made(it)).count()
}

fn is_made(evaluation: &EvaluationReport) -> bool {
    !matches!(evaluation.error_type, Some(CANCELLED | NOT_RUN))
}

/// Returns true if another record of a conversation has all that this one has: the same, or more of the same evaluations.
fn gives_way(one: ConversationReport, other: ConversationReport) -> bool {
    if not_made(&one) == 0 {
        return same(one) == same(other);
    }
    // The spans of a conversation are not known if it was not read before the end of its run.
    if one.content.is_some() && other.content.is_some() && one.content != other.content {
        return false;
    }
    one.evaluations.iter().filter(|it| it.each_repeat().any(is_made)).all(|it| {
        let found = other.evaluations.iter().find(|found| found.name == it.name);
        found.is_some_and(|found| {
            let pairs = it.each_repeat().zip(found.each_repeat());
            it.each_repeat().count() == found.each_repeat().count()
                && pairs
                    .filter(|(it, _)| is_made(it))
                    .all(|(it, found)| evaluated(it) == evaluated(found))
        })
    })
}

/// The text of an evaluation without its duration.
fn evaluated(evaluation: &EvaluationReport) -> String {
    let mut evaluation = evaluation.clone();
    without_duration(&mut evaluation);
    serde_json::to_string(&evaluation).unwrap_or_else(|error| error.to_string())
}

/// The text of a conversation without what may differ between two evaluations of it on different machines.
fn same(mut conversation: ConversationReport) -> String {
    conversation.trace_file = None;
    conversation.evaluations.iter_mut().for_each(without_duration);
    serde_json::to_string(&conversation).unwrap_or_else(|error| error.to_string())
}

fn without_duration(evaluation: &mut EvaluationReport) {
    evaluation.duration = None;
    evaluation.details.iter_mut().for_each(without_origin);
    evaluation.repeats.iter_mut().for_each(without_duration);
}

/// Removes how long replies of models took, and how many came from a cassette.
fn without_origin(details: &mut Object) {
    if details.contains_key("replayed") {
        details.retain(|key, _| !matches!(key.as_str(), "replayed" | "duration_ms"));
    }
    if let Some(Value::Object(judge)) = details.get_mut("judge") {
        without_origin(judge);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A conversation with an evaluation for each letter: `p` and `f` have results, `c` was cancelled, `-` was not run.
    fn conversation(letters: &str) -> ConversationReport {
        let mut conversation = ConversationReport::new("t".into());
        let evaluations = letters.chars().enumerate().map(|(place, letter)| {
            let mut report = EvaluationReport::new(format!("e{place}"));
            report.error_type = match letter {
                'c' => Some(CANCELLED),
                '-' => Some(NOT_RUN),
                _ => None,
            };
            report.score =
                report.error_type.is_none().then_some(f64::from(u8::from(letter == 'p')));
            report
        });
        conversation.evaluations = evaluations.collect();
        conversation
    }

    #[test]
    fn what_was_not_evaluated_gives_way_to_results_in_any_order() {
        for (records, kept, different) in [
            (["cc", "pf", "--"], "pf", false),
            (["pc", "-f", "pf"], "pf", false),
            (["pp", "pc", "pp"], "pp", false),
            (["cc", "pc", "c-"], "pc", false),
            (["fc", "pf", "cc"], "pf", true),
            (["pf", "pp", "cc"], "pf", true),
        ] {
            for turn in 0..3 {
                let mut records = records;
                records.rotate_left(turn);
                let row = |place: usize| Row {
                    id: RowId::new("t"),
                    number: 0,
                    start: place as u64,
                    length: 1,
                    store: 0,
                    hash: hash(records[place].as_bytes()),
                };
                let at = |row: &Row| records[usize::try_from(row.start).unwrap()];
                let read = |row: &Row| Ok(conversation(at(row)));
                let mut rows: Vec<Row> = (0..3).map(row).collect();
                let found = doubles(&mut rows, read, |_| 1).unwrap();
                let gone: Vec<u64> = found.same.iter().map(|it| it.start).collect();
                let left: Vec<&str> =
                    rows.iter().filter(|it| !gone.contains(&it.start)).map(at).collect();
                assert_eq!(found.different.is_empty(), !different, "{records:?}: {left:?}");
                assert_eq!(left.len(), 1 + usize::from(different), "{records:?}: {left:?}");
                assert!(left.contains(&kept), "{records:?}: {left:?}");
            }
        }
        let of_content = |content: &str| {
            let content = Some(crate::digest::Digester::new(content).finish());
            ConversationReport { content, ..conversation("c") }
        };
        assert!(!gives_way(of_content("a"), of_content("b")), "other spans are never hidden");
        assert!(gives_way(conversation("c"), of_content("b")), "they were not read");
    }

    proptest! {
        #[test]
        fn trace_ids_are_in_the_order_of_their_texts(one in "[0-9a-fA-F]{30,33}|.{0,4}", other in "[0-9a-f]{32}|.{0,4}") {
            let [first, second] = [&one, &other].map(|text| RowId::new(text));
            prop_assert_eq!(first.to_string(), &*one);
            prop_assert_eq!(first.cmp(&second), one.cmp(&other));
            prop_assert_eq!(first == second, one == other);
        }
    }

    #[test]
    fn durations_are_not_part_of_the_hash_and_texts_that_look_like_them_are() {
        let line = |number: usize, rest: &str| {
            hash(format!("{{\"number\":{number},\"conversation\":{{{rest}}}}}").as_bytes())
        };
        let first = line(1, "\"duration_ns\":123,\"score\":1.0");
        assert_eq!(first, line(20, "\"duration_ns\":4,\"score\":1.0"));
        assert_ne!(first, line(1, "\"duration_ns\":123,\"score\":0.5"));
        let text = |number: usize| line(1, &format!("\"error\":\"\\\"duration_ns\\\":{number}\""));
        assert_ne!(text(1), text(2));
    }
}
