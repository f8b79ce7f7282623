//! Moves bytes between this program and the standard streams of a process.
//!
//! Every step is cancel safe: bytes are accounted for as soon as they are moved, so a future can be dropped at any await
//! point and no byte is lost.

use std::{borrow::Cow, pin::pin, time::Duration};

use memchr::{memchr, memchr2};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout},
    task::yield_now,
    time::timeout,
};

use super::{Captured, Limits, group::Pipes};

/// As much as a pipe holds by default.
const CHUNK: usize = 64 << 10;

/// How many of them are read before others have their turn: a process that writes without end must not keep this thread
/// from noticing that time is up.
const CHUNKS_AT_ONCE: u32 = 16;

/// The three streams of a process that reads one document and writes one.
#[derive(Debug)]
pub(super) struct Pumps<'a> {
    stdin: Option<ChildStdin>,
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
            outgoing: Outgoing::all_of(input),
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

    /// Moves what the outputs still hold, until both have ended or the time is over; input is given up.
    pub(super) async fn finish(&mut self, patience: Duration) {
        self.stdin = None;
        // Running out of patience shows in `Captured::ended`.
        let _ = timeout(patience, self.pump()).await;
    }

    /// Input is given up: the process finds the end of its standard input.
    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// How much of the input was not taken.
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

/// Bytes on their way into a process.
#[derive(Debug, Default)]
pub(super) struct Outgoing<'a> {
    bytes: Cow<'a, [u8]>,
    /// How many of these bytes were written.
    sent: usize,
    /// How many bytes were written before them.
    gone: u64,
}

impl<'a> Outgoing<'a> {
    pub(super) fn all_of(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), sent: 0, gone: 0 }
    }

    /// Puts a line at the end of the queue, made of these parts. Line ends in them become blanks; in JSON that changes
    /// nothing: raw ones can only stand between tokens.
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

    /// How many bytes were put into the queue so far.
    pub(super) fn queued(&self) -> u64 {
        self.gone + self.bytes.len() as u64
    }

    /// How many of them were written.
    pub(super) fn written(&self) -> u64 {
        self.gone + self.sent as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }
}

/// Writes until nothing is left to send. Closes the pipe when nobody reads from it any more: that is no error, a
/// program need not read its input.
pub(super) async fn feed<W: AsyncWrite + Unpin>(pipe: &mut Option<W>, outgoing: &mut Outgoing<'_>) {
    while let (Some(open), unsent @ [_, ..]) = (&mut *pipe, &outgoing.bytes[outgoing.sent..]) {
        match open.write(unsent).await {
            Ok(sent @ 1..) => outgoing.sent += sent,
            Ok(0) | Err(_) => *pipe = None,
        }
    }
}

/// Reads to the end.
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

/// As much of a line as shows what it is.
const BEGINNING: usize = 2 << 10;

/// Bytes that were read and not yet given away as lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the first line begins that was not given away.
    start: usize,
    /// No line feed is between there and here.
    scanned: usize,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete line, without its line feed, and everything behind it.
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

    /// Bytes held, of complete lines or not.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Forgets all but the beginning of an unfinished line.
    pub(super) fn keep_beginning(&mut self) {
        let beginning = self.rest()[..self.rest().len().min(BEGINNING)].to_vec();
        *self = Self { scanned: beginning.len(), buffer: beginning, start: 0 };
    }

    /// Gives up everything held.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.start);
        *self = Self::default();
        rest
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
