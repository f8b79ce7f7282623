//! Standard error of a worker, split by document.

use std::collections::VecDeque;

use evaluator_protocol::{MARK, Number};
use memchr::memchr;

use super::{Captured, Limits};

/// The longest mark: its character, the digits of a number, a line feed.
const LONGEST_MARK: usize = 1 + 20 + 1;

/// Standard error of a process, split by document as far as the process [marks](Number::mark) them.
#[derive(Debug)]
pub struct StderrSections {
    /// Bytes kept of the beginning and of the end of each section.
    caps: (usize, usize),
    /// True if the process writes marks.
    marked: bool,
    /// The last document that was sent: a later one cannot have been started.
    sent: Option<Number>,
    /// The last mark.
    started: Option<Number>,
    /// Text before the first mark: the start of the program, which belongs to every document.
    start: Captured,
    /// Sections that were not taken, in order. Most documents have none.
    sections: VecDeque<(Number, Captured)>,
    /// The end of what was read, if it may be the start of a mark.
    unsure: Vec<u8>,
}

impl StderrSections {
    pub(super) fn new(limits: &Limits, marked: bool) -> Self {
        let caps = (limits.stderr_head, limits.stderr_tail);
        Self {
            caps,
            marked,
            sent: None,
            started: None,
            start: Captured::new(caps.0, caps.1),
            sections: VecDeque::new(),
            unsure: Vec::new(),
        }
    }

    /// The last document that was marked as started.
    pub fn started(&self) -> Option<Number> {
        self.started
    }

    /// Registers a document that is sent.
    pub fn expect(&mut self, document: Number) {
        self.sent = Some(document);
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.unsure.is_empty() {
            return self.scan(bytes);
        }
        self.unsure.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.unsure);
        self.scan(&bytes);
    }

    /// Called at the end of the output.
    pub(super) fn finish(&mut self) {
        let rest = std::mem::take(&mut self.unsure);
        self.add(&rest);
    }

    /// Takes the text of a document, with the text of earlier documents that was not taken. Without marks, takes
    /// everything.
    pub fn take(&mut self, document: Number) -> Captured {
        if !self.marked {
            let empty = Captured::new(self.caps.0, self.caps.1);
            return std::mem::replace(&mut self.start, empty);
        }
        let mut taken = self.start.clone();
        let due = self.sections.iter().take_while(|(number, _)| *number <= document).count();
        for (_, section) in self.sections.drain(..due) {
            taken.append(&section);
        }
        taken
    }

    fn scan(&mut self, mut bytes: &[u8]) {
        if !self.marked {
            return self.add(bytes);
        }
        let mut from = 0;
        while let Some(found) = memchr(MARK, &bytes[from..]) {
            let at = from + found;
            match mark(&bytes[at..]) {
                Mark::Is(number, length)
                    if Some(number) > self.started && Some(number) <= self.sent =>
                {
                    self.add(&bytes[..at]);
                    self.started = Some(number);
                    bytes = &bytes[at + length..];
                    from = 0;
                }
                Mark::MayBecome => {
                    self.add(&bytes[..at]);
                    self.unsure = bytes[at..].to_vec();
                    return;
                }
                Mark::Is(..) | Mark::IsNot => from = at + 1,
            }
        }
        self.add(bytes);
    }

    fn add(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let Some(started) = self.started else { return self.start.push(text) };
        match self.sections.back_mut() {
            Some((number, section)) if *number == started => section.push(text),
            _ => {
                let mut section = Captured::new(self.caps.0, self.caps.1);
                section.push(text);
                self.sections.push_back((started, section));
            }
        }
    }
}

enum Mark {
    /// A mark of this length.
    Is(Number, usize),
    MayBecome,
    IsNot,
}

/// Parses the start of `text`, whose first character is that of marks.
fn mark(text: &[u8]) -> Mark {
    let digits = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    match text.get(1 + digits) {
        None if text.len() < LONGEST_MARK => Mark::MayBecome,
        Some(b'\n') => match Number::read(&text[1..=digits]) {
            Some(number) => Mark::Is(number, digits + 2),
            None => Mark::IsNot,
        },
        _ => Mark::IsNot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(marked: bool, pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> StderrSections {
        let mut notes = StderrSections::new(&Limits::default(), marked);
        notes.expect(Number(u64::MAX));
        pieces.into_iter().for_each(|piece| notes.push(piece.as_ref()));
        notes
    }

    #[test]
    fn texts_are_of_their_documents_however_they_arrive() {
        let text = "start\n\u{1e}0\nzero\n\u{1e}1\n\u{1e}2\ntwo \u{1e}x \u{1e}\u{1e}3\nthree";
        for size in 1..=text.len() {
            let mut notes = notes(true, text.as_bytes().chunks(size));
            notes.finish();
            let texts: Vec<_> = (0..4).map(|number| notes.take(Number(number)).text()).collect();
            let expected =
                ["start\nzero\n", "start\n", "start\ntwo \u{1e}x \u{1e}", "start\nthree"];
            assert_eq!(texts, expected, "in pieces of {size}");
            assert_eq!(notes.started(), Some(Number(3)));
        }
    }

    #[test]
    fn what_comes_late_goes_to_the_next() {
        let mut notes = notes(true, ["\u{1e}0\na"]);
        assert_eq!(notes.take(Number(0)).text(), "a");
        notes.push("late\n\u{1e}1\nb".as_bytes());
        assert_eq!(notes.take(Number(1)).text(), "late\nb");
    }

    #[test]
    fn only_marks_that_make_sense_are_marks() {
        let mut notes = notes(true, ["\u{1e}5\na\u{1e}5\nb\u{1e}4\nc\u{1e}07\n"]);
        notes.expect(Number(6));
        notes.push("\u{1e}7\nd".as_bytes());
        assert_eq!(notes.take(Number(9)).text(), "a\u{1e}5\nb\u{1e}4\nc\u{1e}07\n\u{1e}7\nd");
        assert_eq!(notes.started(), Some(Number(5)));
    }

    #[test]
    fn half_a_mark_is_text_in_the_end() {
        let mut notes = notes(true, ["\u{1e}0\na\u{1e}1"]);
        assert_eq!(notes.take(Number(0)).text(), "a");
        notes.finish();
        assert_eq!(notes.take(Number(0)).text(), "\u{1e}1");
    }

    #[test]
    fn without_marks_everything_is_taken_at_once() {
        let mut notes = notes(false, ["a\u{1e}", "7\nb"]);
        assert_eq!(
            (notes.take(Number(0)).text(), notes.started()),
            ("a\u{1e}7\nb".to_owned(), None)
        );
        assert_eq!(notes.take(Number(1)).text(), "");
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost(pieces in proptest::collection::vec("[a\u{1e}0-9\n]{0,12}", 0..12)) {
            let mut all = notes(false, &pieces);
            let mut marked = notes(true, &pieces);
            marked.finish();
            let text = marked.take(Number(u64::MAX)).text();
            let whole = all.take(Number(0)).text();
            // What is missing are marks.
            let mut rest = whole.as_str();
            for kept in text.chars() {
                let at = rest.find(kept).expect("in the same order");
                let mut left_out = rest[..at].chars();
                proptest::prop_assert!(left_out.all(|left_out| "\x1e0123456789\n".contains(left_out)));
                rest = &rest[at + kept.len_utf8()..];
            }
        }
    }
}
