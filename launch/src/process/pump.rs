//! Moves bytes between this program and the standard streams of a process, and splits the standard error of a worker by document.
//!
//! Every step is cancel safe: bytes are accounted for as soon as they are moved, so a future can be dropped at any await
//! point and no byte is lost.

use std::{borrow::Cow, collections::VecDeque, pin::pin, time::Duration};

use evaluator_protocol::{MARK, Number};
use memchr::{memchr, memchr2};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout},
    task::yield_now,
    time::timeout,
};

use super::{Captured, Limits, started::Pipes};

/// Default capacity of a pipe.
const CHUNK: usize = 64 << 10;

/// Number of chunks read before other tasks run: endless output must not hide the end of the time limit.
const CHUNKS_AT_ONCE: u32 = 16;

/// The three streams of a process that reads one document and writes one.
#[derive(Debug)]
pub(super) struct Pumps<'a> {
    pub(super) stdin: Option<ChildStdin>,
    outgoing: Outgoing<'a>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    pub(super) out: Captured,
    pub(super) err: Captured,
}

impl<'a> Pumps<'a> {
    pub(super) fn new(pipes: Pipes, input: &'a [u8], limits: &Limits) -> Self {
        Self {
            stdin: pipes.stdin,
            outgoing: Outgoing { bytes: Cow::Borrowed(input), ..Outgoing::default() },
            stdout: pipes.stdout,
            stderr: pipes.stderr,
            out: Captured::new(limits.stdout_cap, 0),
            err: Captured::new(limits.stderr_head, limits.stderr_tail),
        }
    }

    /// Moves bytes until `event` happens.
    pub(super) async fn pump_until<T>(&mut self, event: impl Future<Output = T>) -> T {
        let mut event = pin!(event);
        let mut moving = pin!(self.pump());
        tokio::select! {
            // The event first: it must be noticed however fast the process writes.
            biased;
            value = &mut event => return value,
            () = &mut moving => {}
        }
        event.await
    }

    /// Reads the rest of the outputs, until both have ended or `limit` is over. The input is closed.
    pub(super) async fn finish(&mut self, limit: Duration) {
        self.stdin = None;
        // A timeout is visible in `Captured::ended`.
        let _ = timeout(limit, self.pump()).await;
    }

    /// Bytes of the input that were not written.
    pub(super) fn unsent(&self) -> u64 {
        self.outgoing.queued() - self.outgoing.written()
    }

    async fn pump(&mut self) {
        let feed = async {
            feed(&mut self.stdin, &mut self.outgoing).await;
            self.stdin = None;
        };
        tokio::join!(
            feed,
            drain(&mut self.stdout, &mut self.out),
            drain(&mut self.stderr, &mut self.err),
        );
    }
}

/// Bytes queued for the standard input of a process.
#[derive(Debug, Default)]
pub(super) struct Outgoing<'a> {
    bytes: Cow<'a, [u8]>,
    /// Number of these bytes that were written.
    sent: usize,
    /// Number of bytes written before them.
    gone: u64,
}

impl Outgoing<'_> {
    /// Queues a line made of these parts. Line ends in them become blanks; in JSON, raw line ends occur only between
    /// tokens.
    pub(super) fn push_line<'p>(&mut self, parts: impl IntoIterator<Item = &'p [u8]>) {
        let queue = self.bytes.to_mut();
        if self.sent == queue.len() || self.sent > CHUNK {
            queue.drain(..self.sent);
            self.gone += std::mem::take(&mut self.sent) as u64;
        }
        for part in parts {
            let begin = queue.len();
            queue.extend_from_slice(part);
            if memchr2(b'\n', b'\r', part).is_some() {
                let line_end = |byte: &&mut u8| matches!(byte, b'\n' | b'\r');
                queue[begin..].iter_mut().filter(line_end).for_each(|byte| *byte = b' ');
            }
        }
        queue.push(b'\n');
    }

    /// Number of bytes queued so far.
    pub(super) fn queued(&self) -> u64 {
        self.gone + self.bytes.len() as u64
    }

    /// Number of bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.gone + self.sent as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }
}

/// Writes until the queue is empty. Closes the pipe if the process does not read it any more, which is not an error.
pub(super) async fn feed<W: AsyncWrite + Unpin>(pipe: &mut Option<W>, outgoing: &mut Outgoing<'_>) {
    while let (Some(open), unsent @ [_, ..]) = (&mut *pipe, &outgoing.bytes[outgoing.sent..]) {
        match open.write(unsent).await {
            Ok(sent @ 1..) => outgoing.sent += sent,
            Ok(0) | Err(_) => *pipe = None,
        }
    }
}

/// Reads an output to its end.
pub(super) async fn drain<R: AsyncRead + Unpin>(pipe: &mut Option<R>, captured: &mut Captured) {
    let mut chunk = vec![0; CHUNK];
    let mut chunks = 0u32;
    while let Some(bytes) = read_some(pipe, &mut chunk).await {
        captured.push(bytes);
        chunks = chunks.wrapping_add(1);
        if chunks.is_multiple_of(CHUNKS_AT_ONCE) {
            yield_now().await;
        }
    }
    captured.end();
}

/// Reads once; `None` at the end, which closes the pipe. An unreadable pipe counts as ended.
pub(super) async fn read_some<'c, R: AsyncRead + Unpin>(
    pipe: &mut Option<R>,
    chunk: &'c mut [u8],
) -> Option<&'c [u8]> {
    let open = pipe.as_mut()?;
    match open.read(chunk).await {
        Ok(read @ 1..) => Some(&chunk[..read]),
        Ok(0) | Err(_) => {
            *pipe = None;
            None
        }
    }
}

/// Bytes kept of a line that is too long.
const BEGINNING: usize = 2 << 10;

/// Splits a stream of bytes into lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Start of the first line that was not returned.
    start: usize,
    /// There is no line feed before this offset.
    scanned: usize,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line, without its line feed, and everything after it.
    pub(super) fn pop(&mut self) -> Option<(&[u8], &[u8])> {
        let Some(found) = memchr(b'\n', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + found;
        let line = self.start..end;
        self.start = end + 1;
        self.scanned = self.start;
        Some((&self.buffer[line], &self.buffer[self.start..]))
    }

    /// All bytes that were not returned.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Drops all but the beginning of an incomplete line.
    pub(super) fn keep_beginning(&mut self) {
        let beginning = self.rest()[..self.rest().len().min(BEGINNING)].to_vec();
        *self = Self { scanned: beginning.len(), buffer: beginning, start: 0 };
    }

    /// Takes all bytes that were not returned.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.start);
        *self = Self::default();
        rest
    }
}

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

    /// Returns the output of the process before its first document, as far as it was not taken.
    pub(super) fn beginning(&self) -> &[u8] {
        self.start.head()
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

    #[test]
    fn lines_do_not_depend_on_how_they_arrive() {
        let text = b"one\n\ntwo and more\r\nrest";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut popped = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece);
                while let Some((line, _)) = lines.pop() {
                    popped.push(line.to_vec());
                }
            }
            assert_eq!(popped, [&b"one"[..], b"", b"two and more\r"], "in pieces of {size}");
            assert_eq!((lines.rest(), lines.clone().take_rest()), (&b"rest"[..], b"rest".to_vec()));
        }
    }
}

#[cfg(test)]
mod stderr_tests {
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
