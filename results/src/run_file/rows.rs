//! Conversations of all parts, and which of them are the same.

use std::{
    cmp::Ordering,
    fmt,
    hash::{DefaultHasher, Hasher as _},
    io,
};

use crate::{ConversationReport, EvaluationReport};

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

/// A trace id. Most have 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowId {
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

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digits(digits) => write!(f, "{:032x}", u128::from_be_bytes(*digits)),
            Self::Text(text) => f.write_str(text),
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
pub(super) fn hash(line: &[u8]) -> u64 {
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
    /// Rows that are the same as another one, with the same results.
    pub(super) same: Vec<Row>,
    /// Number of conversations with such rows.
    pub(super) twice: usize,
    /// Two rows of each conversation of which there are different records.
    pub(super) different: Vec<[Row; 2]>,
}

/// Finds conversations that are there several times. Sorts the rows by trace id.
///
/// # Errors
///
/// A record cannot be read.
pub(super) fn doubles(
    rows: &mut [Row],
    mut read: impl FnMut(&Row) -> io::Result<ConversationReport>,
) -> io::Result<Doubles> {
    let key = |row: &Row| (row.hash, row.store, row.start);
    rows.sort_unstable_by(|one, other| one.id.cmp(&other.id).then(key(one).cmp(&key(other))));
    let mut doubles = Doubles::default();
    for group in rows.chunk_by(|one, other| one.id == other.id).filter(|group| group.len() > 1) {
        let mut kept: Vec<&Row> = Vec::new();
        let before = doubles.same.len();
        for row in group {
            let mut is_same = false;
            for other in &kept {
                is_same |= row.hash == other.hash || same(read(row)?) == same(read(other)?);
            }
            if is_same {
                doubles.same.push(row.clone());
            } else {
                kept.push(row);
            }
        }
        doubles.twice += usize::from(doubles.same.len() > before);
        if let [first, second, ..] = &kept[..] {
            doubles.different.push([(*first).clone(), (*second).clone()]);
        }
    }
    Ok(doubles)
}

/// The text of a conversation without what may differ between two evaluations of it on different machines.
fn same(mut conversation: ConversationReport) -> String {
    fn without_duration(evaluation: &mut EvaluationReport) {
        evaluation.duration = None;
        evaluation.repeats.iter_mut().for_each(without_duration);
    }
    conversation.trace_file = None;
    conversation.evaluations.iter_mut().for_each(without_duration);
    serde_json::to_string(&conversation).unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
