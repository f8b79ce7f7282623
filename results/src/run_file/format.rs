//! Version 1 of the run file: its lines, their checksums, and the records on them. See `docs/reference/run-file.md`.

use std::{io, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Tally, digest::Digest, model::is_default};

/// Version of the format. Readers refuse later versions, and ignore keys and kinds of records that they do not know.
pub(super) const VERSION: u64 = 1;

/// Value of the key `format`.
pub(super) const FORMAT: &str = "evaluator-run";

/// Start of every line, up to the digits of its checksum.
pub(super) const START: &[u8] = b"{\"crc32\":\"";

/// Digits of a checksum.
const DIGITS: usize = 8;

/// Bytes before the part of a line that the checksum covers.
const PREFIX: usize = START.len() + DIGITS + 2;

/// The first key that is covered.
const KIND: &[u8] = b"\"kind\":\"";

/// Reason for text that no version of this format has.
pub(super) const FOREIGN: &str = "this is not a line of a run file";

/// Kinds of records, as in the key `kind`.
pub(crate) mod kind {
    /// The first line.
    pub(crate) const HEADER: &str = "header";
    /// A finished evaluation of a conversation that may not be finished.
    pub(crate) const EVALUATION: &str = "evaluation";
    /// The results of an evaluator are not to be used again.
    pub(crate) const WITHDRAWN: &str = "withdrawn";
    /// A conversation with all its evaluations.
    pub(crate) const CONVERSATION: &str = "conversation";
    /// What was said and done in a conversation.
    pub(crate) const TRANSCRIPT: &str = "transcript";
    /// A line of the input that cannot be used.
    pub(crate) const INPUT_ERROR: &str = "input_error";
    /// The last line of a complete run.
    pub(crate) const END: &str = "end";
}

/// A finished evaluation. `E` is an [`EvaluationReport`](crate::EvaluationReport), a reference to one, or less.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluationRecord<E> {
    /// Digest of the evaluator's fingerprint and of its input; `None` if the evaluator has no fingerprint.
    pub key: Option<Digest>,
    /// Whether the same evaluation would most likely end in the same way.
    pub reusable: bool,
    /// Position of the conversation among those of the run, from 0.
    pub number: usize,
    /// Trace id of the conversation.
    pub trace_id: Arc<str>,
    /// Number of its turns.
    pub turns: usize,
    /// Number of the repeat of the evaluation, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repeat: u32,
    /// End of the evaluator's standard error, whether it broke or not.
    pub stderr: String,
    /// The evaluation.
    pub evaluation: E,
}

/// A conversation with all its evaluations. `C` is a [`ConversationReport`](crate::ConversationReport) or a
/// reference to one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ConversationRecord<C> {
    /// Position among the conversations of the run, from 0.
    pub(crate) number: usize,
    pub(crate) conversation: C,
}

/// What was said and done in a conversation: a line before that of the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TranscriptRecord<'t> {
    /// Position among the conversations of the run, from 0.
    pub(crate) number: usize,
    /// `invocations` and `expected_invocations` of the document that evaluators read.
    #[serde(borrow)]
    pub(crate) document: &'t RawValue,
}

/// An evaluator whose results cannot be relied on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WithdrawnRecord {
    pub(super) evaluator: String,
    pub(super) reason: String,
}

/// The last record of a complete run. `R` is a [`Report`](crate::Report) or a reference to one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EndRecord<R> {
    pub(super) conversations: usize,
    pub(super) tally: Tally,
    /// Sum of the digests of the conversations and input errors of a part, by which equal parts are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sum: Option<Digest>,
    /// Number of lines that a filter read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<u64>,
    /// The whole report, without its conversations.
    pub(super) report: R,
}

/// Appends the line of a record.
///
/// # Errors
///
/// The record cannot be serialized. Then nothing is appended.
pub(super) fn write_line(out: &mut Vec<u8>, kind: &str, record: &impl Serialize) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(START);
    out.extend_from_slice(b"00000000\",");
    out.extend_from_slice(KIND);
    out.extend_from_slice(kind.as_bytes());
    out.push(b'"');
    let object = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, record) {
        out.truncate(start);
        return Err(error.into());
    }
    // The record is an object with members, which follow those before it.
    out[object] = b',';
    let sum = format!("{:08x}", crc32fast::hash(&out[start + PREFIX..]));
    out[start + START.len()..][..DIGITS].copy_from_slice(sum.as_bytes());
    out.push(b'\n');
    Ok(())
}

/// Checks a line without its line end, and returns the kind of its record.
///
/// # Errors
///
/// The reason why it is not a line as it was written.
pub(super) fn open(line: &[u8]) -> Result<&str, &'static str> {
    if !may_start(line) {
        return Err(FOREIGN);
    }
    let Some((prefix, rest)) = line.split_at_checked(PREFIX) else {
        return Err("the line is cut off");
    };
    let sum = format!("{:08x}\",", crc32fast::hash(rest));
    if prefix[START.len()..] != *sum.as_bytes() {
        return Err("the checksum does not match");
    }
    let kind = rest.strip_prefix(KIND).and_then(|rest| rest.split(|byte| *byte == b'"').next());
    kind.and_then(|kind| std::str::from_utf8(kind).ok()).ok_or(FOREIGN)
}

/// Reads the record of a line that was checked.
///
/// # Errors
///
/// It has other members than a record of its kind.
pub(super) fn record<'l, R: Deserialize<'l>>(line: &'l [u8]) -> Result<R, &'static str> {
    serde_json::from_slice(line).map_err(|_| "the record is malformed")
}

/// Returns true if these bytes may be the start of a line.
pub(super) fn may_start(bytes: &[u8]) -> bool {
    let known = bytes.len().min(START.len());
    bytes[..known] == START[..known]
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn line(record: &impl Serialize) -> Vec<u8> {
        let mut line = Vec::new();
        write_line(&mut line, kind::WITHDRAWN, record).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        line
    }

    fn record(text: &str) -> WithdrawnRecord {
        WithdrawnRecord { evaluator: text.to_owned(), reason: String::new() }
    }

    #[test]
    fn a_line_is_json_and_its_checksum_is_the_common_one() {
        let line = line(&record("a"));
        // python3 -c 'import zlib; print("%08x" % zlib.crc32(b"..."))' of all behind the first comma.
        let text = String::from_utf8(line.clone()).unwrap();
        assert_eq!(
            text,
            "{\"crc32\":\"50c419b0\",\"kind\":\"withdrawn\",\"evaluator\":\"a\",\"reason\":\"\"}"
        );
        assert_eq!(open(&line), Ok(kind::WITHDRAWN));
        assert_eq!(serde_json::from_slice::<WithdrawnRecord>(&line).unwrap().evaluator, "a");
    }

    proptest! {
        #[test]
        fn every_change_of_a_byte_is_seen(text in vec(any::<char>(), 0..40), at in any::<prop::sample::Index>(), bits in 1_u8..) {
            let text: String = text.into_iter().collect();
            let mut bytes = line(&record(&text));
            prop_assert!(open(&bytes).is_ok());
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
            prop_assert!(open(&bytes).is_err());
            bytes[at] ^= bits;
            bytes.truncate(at);
            prop_assert!(open(&bytes).is_err());
        }
    }
}
