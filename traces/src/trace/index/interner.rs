//! Many short texts, each stored once and known by its number.

use std::hash::BuildHasher as _;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::trace::values::{TRACE_ID, hex, is_plain_hex};

/// Ends a text that would otherwise be as long as a packed id. No text contains it, because it is not UTF-8.
const MARK: u8 = 0xff;

/// Ids of traces and names of conversations, numbered in the order in which they are first added.
///
/// Ids of 32 lower-case hex digits are stored as 16 bytes, a length that no other text has. A text takes its length, four bytes
/// for its end, and some eight in the hash table.
#[derive(Debug, Default)]
pub(super) struct Interner {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// Buffer for the packed form of an added text.
    packed: Vec<u8>,
    /// The number of the text that was added last: spans of one trace often follow each other.
    last: u32,
}

impl Interner {
    /// Reserves space for more ids.
    pub(super) fn reserve(&mut self, ids: usize) {
        self.bytes.reserve(ids * TRACE_ID);
        self.ends.reserve(ids);
    }

    /// Keeps only the texts with these numbers, and renumbers them. None can be added or found afterwards.
    pub(super) fn keep(&mut self, numbers: &mut [u32]) {
        // First, since the texts are copied.
        self.numbers = HashTable::new();
        let mut kept = vec![None; self.len()];
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(numbers.len()));
        bytes.reserve(numbers.len() * TRACE_ID);
        for number in numbers {
            *number = *kept[*number as usize].get_or_insert_with(|| {
                let text = stored(&self.bytes, &self.ends, *number).unwrap_or_default();
                bytes.extend_from_slice(text);
                // Both are at most what they were with all texts.
                ends.push(bytes.len() as u32);
                ends.len() as u32 - 1
            });
        }
        (self.bytes, self.ends) = (bytes, ends);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a text, unless it is known, and returns its number; `None` if 4 GB of texts are stored.
    pub(super) fn add(&mut self, text: &str) -> Option<u32> {
        pack(text, &mut self.packed);
        let Self { bytes, ends, numbers, hasher, packed, last } = self;
        if stored(bytes, ends, *last) == Some(packed) {
            return Some(*last);
        }
        let hash = hasher.hash_one(&*packed);
        let known = numbers.find(hash, |number| stored(bytes, ends, *number) == Some(packed));
        if let Some(known) = known {
            *last = *known;
            return Some(*known);
        }
        let number = u32::try_from(ends.len()).ok().filter(|number| *number < u32::MAX / 2)?;
        let end = u32::try_from(bytes.len() + packed.len()).ok()?;
        bytes.extend_from_slice(packed);
        ends.push(end);
        numbers.insert_unique(hash, number, |number| {
            hasher.hash_one(stored(bytes, ends, *number).unwrap_or_default())
        });
        *last = number;
        Some(number)
    }

    /// Returns the number of a text that was added.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let mut packed = Vec::new();
        pack(text, &mut packed);
        let hash = self.hasher.hash_one(&packed);
        let is_same = |number: &u32| stored(&self.bytes, &self.ends, *number) == Some(&packed);
        self.numbers.find(hash, is_same).copied()
    }

    /// Returns the text of a number.
    pub(super) fn get(&self, number: u32) -> String {
        let packed = stored(&self.bytes, &self.ends, number).unwrap_or_default();
        if packed.len() == TRACE_ID {
            return hex(packed);
        }
        String::from_utf8_lossy(packed.strip_suffix(&[MARK]).unwrap_or(packed)).into_owned()
    }
}

fn stored<'b>(bytes: &'b [u8], ends: &[u32], number: u32) -> Option<&'b [u8]> {
    let end = *ends.get(number as usize)?;
    let start = (number as usize).checked_sub(1).and_then(|before| ends.get(before));
    bytes.get(start.map_or(0, |start| *start as usize)..end as usize)
}

/// Writes the stored form of a text, which differs for different texts.
fn pack(text: &str, packed: &mut Vec<u8>) {
    packed.clear();
    if is_plain_hex(text, TRACE_ID) {
        let digit = |byte: u8| if byte <= b'9' { byte - b'0' } else { byte - b'a' + 10 };
        packed.extend(
            text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])),
        );
        return;
    }
    packed.extend_from_slice(text.as_bytes());
    if packed.len() == TRACE_ID {
        packed.push(MARK);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_take_half_their_length_and_texts_of_that_length_are_no_ids() {
        let mut texts = Interner::default();
        let id = "000102030405060708090a0b0c0d0eff";
        assert_eq!(texts.add(id), Some(0));
        assert_eq!(texts.bytes.len(), 16);
        assert_eq!(texts.add("0123456789abcdef"), Some(1));
        assert_eq!(texts.bytes.len(), 33);
        assert_eq!(texts.get(0), id);
        assert_eq!(texts.get(1), "0123456789abcdef");
    }

    #[test]
    fn only_texts_that_are_kept_take_memory() {
        let mut texts = Interner::default();
        let ids = [1, 2].map(|id: u8| format!("{id:032x}"));
        let mut numbers: Vec<u32> = [&ids[0], "a session", &ids[1], "another", &ids[0]]
            .iter()
            .map(|text| texts.add(text).unwrap())
            .collect();
        numbers.retain(|number| number % 2 == 0);
        texts.keep(&mut numbers);
        assert_eq!((&*numbers, texts.len(), texts.bytes.len()), (&[0, 1, 0][..], 2, 32));
        assert_eq!([0, 1].map(|number| texts.get(number)), ids);
    }

    proptest! {
        #[test]
        fn every_text_has_one_number_and_comes_back(
            added in prop::collection::vec("[0-9a-f]{32}|[0-9a-f]{15,17}|[a-c]{0,2}|\\PC{0,20}", 0..40),
            other in "\\PC{0,3}",
        ) {
            let mut texts = Interner::default();
            let mut known: Vec<String> = Vec::new();
            for text in added {
                let number = texts.add(&text).unwrap() as usize;
                match known.iter().position(|known| *known == text) {
                    Some(known) => prop_assert_eq!(number, known),
                    None => {
                        prop_assert_eq!(number, known.len());
                        known.push(text);
                    }
                }
            }
            prop_assert_eq!(texts.len(), known.len());
            for (number, text) in known.iter().enumerate() {
                prop_assert_eq!(&texts.get(number as u32), text);
                prop_assert_eq!(texts.find(text), Some(number as u32));
            }
            prop_assert_eq!(texts.find(&other).is_some(), known.contains(&other));
        }
    }
}
