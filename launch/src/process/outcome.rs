//! Results of processes: how they end, the output kept of them, and their cancellation.

use std::{
    collections::VecDeque,
    ffi::OsString,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::watch;

/// Reason of [`Ending::Lost`] for a process that survives `SIGKILL`.
pub(super) const NOT_ENDED: &str = "it did not end when it was killed";

/// Error of a process that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to start `{}`: {reason}", .program.display())]
#[non_exhaustive]
pub struct SpawnError {
    /// The program as it was given.
    pub program: OsString,
    /// Reason, with a hint if there is one.
    pub reason: String,
    /// True if the system lacks a resource (processes, memory, descriptors), so that another attempt may succeed.
    pub transient: bool,
}

/// Returns the outcome of a process that was not started.
pub(super) fn nothing(start_time: Instant, ending: Ending) -> Outcome {
    Outcome {
        ending,
        stdout: Captured::complete([]),
        stderr: Captured::complete([]),
        unsent: 0,
        duration: start_time.elapsed(),
    }
}

/// Result of one process.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Ending of the process.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Bytes of the input that were not written before it exited or closed its standard input. A pipe accepts bytes
    /// that are never read, so zero does not mean that all were read.
    pub unsent: u64,
    /// Time from before the start until nothing of the process was left.
    pub duration: Duration,
}

impl Outcome {
    /// Returns true if the process exited by itself while one of its children kept the standard output open, so that
    /// the output may be incomplete.
    pub fn leaked_pipe(&self) -> bool {
        matches!(self.ending, Ending::Exited(_) | Ending::Signalled(_)) && !self.stdout.ended()
    }
}

/// Ending of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal, which was not sent by the supervisor.
    Signalled(i32),
    /// It was stopped at its time limit.
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// It was stopped, or not started, because the run was cancelled.
    Cancelled,
    /// It could not be started.
    SpawnFailed(SpawnError),
    /// It ended, and its exit status is not available.
    Lost {
        /// Message of the system.
        reason: String,
    },
}

/// The beginning and the end of an output; the bytes between them were dropped.
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
    pub fn complete(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self { head_cap: head.len(), head, ended: true, ..Self::default() }
    }

    /// Returns an output that was still open when reading stopped.
    pub fn unfinished(bytes: impl Into<Vec<u8>>) -> Self {
        Self { ended: false, ..Self::complete(bytes) }
    }

    /// The first bytes; all of them unless [`omitted`](Self::omitted) is above zero.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Number of bytes that are in neither the beginning nor the end.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Returns true if the output is longer than the beginning.
    pub fn overflowed(&self) -> bool {
        self.omitted > 0 || !self.tail.is_empty()
    }

    /// Returns true if the output was read to its end. Otherwise another process still had it open.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The kept output as text: invalid UTF-8 is replaced, and a note marks dropped bytes.
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

    /// Appends another output.
    pub(super) fn append(&mut self, other: &Self) {
        self.push(&other.head);
        let (front, back) = other.tail.as_slices();
        // Bytes that are missing there are missing here.
        self.omitted += other.omitted;
        self.push(front);
        self.push(back);
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }
}

/// Cancels running processes. Clones share one state; cancelling cannot be undone.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    cancelled: Arc<watch::Sender<bool>>,
}

impl Cancellation {
    /// Creates a handle that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels: running processes are stopped, and no other is started.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Returns true if any clone was [cancelled](Self::cancel).
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Returns once cancelled. Cancel safe.
    pub async fn cancelled(&self) {
        // The sender lives as long as `self`, so this returns only when the value is true.
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
