//! Result of a process, the output kept of it, and the handle that cancels it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::sync::watch;

use super::SpawnError;

/// What came of one process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Bytes of its input that nobody had taken when it ended or closed its standard input. A pipe takes some that are never
    /// read, so zero does not mean that all was read.
    pub unsent: u64,
    /// From before its start until nothing of it was left.
    pub duration: Duration,
}

impl Outcome {
    /// Whether it ended by itself while something it had started kept its standard output open, so that more might
    /// have come.
    #[must_use]
    pub fn leaked_pipe(&self) -> bool {
        matches!(self.ending, Ending::Exited(_) | Ending::Signalled(_)) && !self.stdout.ended()
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It was ended because its time was up.
    TimedOut {
        /// The limit that was passed.
        limit: Duration,
    },
    /// It was ended, or not even started, because the run was cancelled.
    Cancelled,
    /// It could not be started.
    SpawnFailed(SpawnError),
    /// It ended, but the system could not say how.
    Lost {
        /// What the system said.
        reason: String,
    },
}

/// The beginning and the end of an output; what lies between them was read and thrown away.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    head: Vec<u8>,
    head_cap: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    omitted: u64,
    ended: bool,
}

impl Captured {
    pub(super) fn new(head_cap: usize, tail_cap: usize) -> Self {
        Self { head_cap, tail_cap, ..Self::default() }
    }

    /// An output that ended after these bytes.
    #[must_use]
    pub fn complete(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self { head_cap: head.len(), head, ended: true, ..Self::default() }
    }

    /// Returns an output that was still open when reading stopped.
    #[must_use]
    pub fn unfinished(bytes: impl Into<Vec<u8>>) -> Self {
        Self { ended: false, ..Self::complete(bytes) }
    }

    /// The first bytes, all of them unless [`omitted`](Self::omitted) is above zero.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// How many bytes are in neither the kept beginning nor the kept end.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Whether more came than the beginning holds.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.omitted > 0 || !self.tail.is_empty()
    }

    /// Whether the output was read to its end. If not, something still had it open when reading was given up.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// What was kept, as text for people: invalid UTF-8 is replaced, and a note stands where bytes were left out.
    #[must_use]
    pub fn text(&self) -> String {
        if self.head.is_empty() && self.tail.is_empty() && self.omitted == 0 {
            return String::new();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.omitted == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&tail);
        format!("{head}\n[... {} bytes left out ...]\n{tail}", self.omitted)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_cap - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);

        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.tail_cap));
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..excess);
        self.tail.extend(rest);
        self.omitted += (skipped.len() + excess) as u64;
    }

    /// Puts another output behind this one.
    pub(super) fn append(&mut self, other: &Self) {
        self.push(&other.head);
        let (front, back) = other.tail.as_slices();
        // What was left out there is left out here.
        self.omitted += other.omitted;
        self.push(front);
        self.push(back);
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }
}

/// Stops running processes when told to. Clones share one state, and cancelling cannot be undone.
#[derive(Clone, Debug)]
pub struct Cancellation {
    cancelled: Arc<watch::Sender<bool>>,
}

impl Default for Cancellation {
    fn default() -> Self {
        Self { cancelled: Arc::new(watch::Sender::new(false)) }
    }
}

impl Cancellation {
    /// A handle that nobody has used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels: what runs is ended, what would start does not.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Whether [`Cancellation::cancel`] was called on any clone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Returns once cancelled. Cancel safe.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`, so the only way to return is that the value is true.
        let _ = self.cancelled.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&str]) -> Captured {
        let mut captured = Captured::new(4, 3);
        for piece in pieces {
            captured.push(piece.as_bytes());
        }
        captured
    }

    #[test]
    fn what_fits_is_kept_whole() {
        for pieces in [&["abcdefg"][..], &["a", "bcdef", "g"], &["abcd", "", "efg"]] {
            assert_eq!(captured(pieces).text(), "abcdefg");
            assert_eq!(captured(pieces).omitted(), 0);
        }
        assert!(!captured(&["abcd"]).overflowed());
        assert!(captured(&["abcde"]).overflowed());
    }

    #[test]
    fn the_middle_is_left_out_however_it_arrives() {
        for pieces in [&["abcdefghij"][..], &["ab", "cdefgh", "ij"], &["abcdefg", "hij"]] {
            let captured = captured(pieces);
            assert_eq!(captured.head(), b"abcd");
            assert_eq!(captured.omitted(), 3);
            assert_eq!(captured.text(), "abcd\n[... 3 bytes left out ...]\nhij");
        }
    }

    #[test]
    fn a_character_across_head_and_tail_stays_whole() {
        assert_eq!(captured(&["abc\u{e9}d"]).text(), "abc\u{e9}d");
    }
}

#[cfg(test)]
mod cancel_tests {
    use super::*;

    #[tokio::test]
    async fn a_clone_cancels_the_original() {
        let original = Cancellation::new();
        assert!(!original.is_cancelled());
        original.clone().cancel();
        assert!(original.is_cancelled());
        original.cancelled().await;
    }
}
