//! Parts of a run: the conversations of a shard, or the lines that a filter read.

use std::str::FromStr;

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::{
    ConversationReport, Tally,
    digest::{Digest, Digester},
};

/// The part of a run that a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// A share of the conversations.
    Shard(Shard),
    /// Conversations that were read one a line, an unknown share of all.
    Pipe {
        /// True.
        pipe: bool,
    },
}

/// Returns what a file has, in words.
pub(super) fn part_name(part: Option<Part>) -> String {
    match part {
        None => "a whole run".to_owned(),
        Some(Part::Shard(shard)) => format!("shard {shard}"),
        Some(Part::Pipe { .. }) => "a part that `evaluator pipe` wrote".to_owned(),
    }
}

/// A share of the conversations of a run. As text `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[display("{number}/{of}")]
pub struct Shard {
    /// Number of the shard, from 1.
    #[serde(rename = "shard")]
    pub number: u64,
    /// Number of shards.
    pub of: u64,
}

impl Shard {
    /// Returns true if the conversation with this trace id is in the shard: SHA-256 of the id, modulo the number of shards.
    pub fn has(&self, trace_id: &str) -> bool {
        let mut digester = Digester::default();
        digester.update(trace_id.as_bytes());
        let of = u128::from(self.of.max(1));
        let digest = digester.finish();
        let rest = digest.as_ref().iter().fold(0_u128, |rest, byte| {
            (rest << 8 | u128::from(*byte)).checked_rem(of).unwrap_or_default()
        });
        rest.checked_add(1) == Some(u128::from(self.number))
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `parse` takes a sign, too.
        let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| {
            let number = Some(text).filter(digits)?.parse::<u64>().ok()?;
            (number > 0).then_some(number)
        };
        let parsed =
            text.split_once('/').and_then(|(shard, of)| Some((number(shard)?, number(of)?)));
        let (number, of) = parsed.ok_or("expected I/N, e.g. 2/8 for the second of eight shards")?;
        if number > of {
            return Err(format!("there is no shard {number} of {of}; the last one is {of}/{of}"));
        }
        Ok(Self { number, of })
    }
}

/// A line of the input of a filter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputError {
    /// Number of the line, from 1.
    pub line: u64,
    /// Its position in bytes.
    pub offset: u64,
    /// Kind of the error, e.g. `unreadable_line`.
    pub error_type: String,
    /// The error.
    pub message: String,
    /// SHA-256 of the bytes of the line.
    pub content: Digest,
}

/// Number of lines of a part that cannot be used and are named. Further ones are counted: there may be millions.
const NAMED: usize = 100;

/// Lines of the input of a filter that cannot be used.
#[derive(Debug, Default)]
pub(super) struct InputErrors {
    /// The first ones, each with the number of its line in the run file.
    pub(super) named: Vec<(usize, InputError)>,
    pub(super) count: usize,
}

impl InputErrors {
    pub(super) fn add(&mut self, recorded: usize, error: InputError) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push((recorded, error));
        }
    }

    /// Returns the number of those that are not named.
    pub(super) fn more(&self) -> usize {
        self.count - self.named.len()
    }
}

/// What the last line of a part says about the lines before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartCounts {
    pub(super) conversations: usize,
    pub(super) tally: Tally,
    /// Sum of the digests of the conversations and input errors, by which equal parts are known.
    pub(super) sum: Digest,
}

impl PartCounts {
    /// Adds a conversation. A whole run has no sum.
    pub(super) fn add(&mut self, conversation: &ConversationReport, has_sum: bool) {
        self.conversations += 1;
        conversation.evaluations.iter().for_each(|it| it.count_in(&mut self.tally));
        if has_sum {
            self.add_to_sum(&conversation.trace_id, conversation.content.as_ref());
        }
    }

    fn add_to_sum(&mut self, trace_id: &str, content: Option<&Digest>) {
        let content = content.map_or(&[][..], AsRef::as_ref);
        let digester = Digester::new("conversation").bytes("trace id", trace_id.as_bytes());
        self.sum.add(&digester.bytes("content", content).finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_is_in_one_shard() {
        for of in 1..8 {
            for id in 0..100 {
                let has = |number: &u64| Shard { number: *number, of }.has(&format!("trace {id}"));
                assert_eq!((1..=of).filter(has).count(), 1);
            }
        }
        // The last digit of the digest of "abc" is d.
        let shards = (1..=16).filter(|number| Shard { number: *number, of: 16 }.has("abc"));
        assert_eq!(shards.collect::<Vec<_>>(), [0xd + 1]);
    }

    #[test]
    fn a_shard_has_a_number_up_to_that_of_all() {
        assert_eq!("2/8".parse(), Ok(Shard { number: 2, of: 8 }));
        for text in ["0/3", "4/3", "1/0", "x", "", "1", "1/", "/2", "-1/2", "1/2/3", "1.5/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        assert_eq!(
            "4/3".parse::<Shard>().unwrap_err(),
            "there is no shard 4 of 3; the last one is 3/3"
        );
    }

    #[test]
    fn the_sum_does_not_depend_on_the_order_and_wraps() {
        let of = |ids: &[&str]| {
            let mut counts = PartCounts::default();
            ids.iter().for_each(|id| counts.add_to_sum(id, None));
            counts.sum
        };
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "b", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        let text = |digits: &str| format!("\"{digits:0>64}\"");
        let digest = |digits: &str| serde_json::from_str::<Digest>(&text(digits)).unwrap();
        let mut sum = digest("ff");
        sum.add(&digest("1"));
        assert_eq!(sum, digest("100"));
        let mut most = digest(&"f".repeat(64));
        most.add(&digest("2"));
        assert_eq!(most, digest("1"));
    }
}
