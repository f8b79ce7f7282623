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

/// Default capacity of a pipe.
const CHUNK: usize = 64 << 10;

/// Number of chunks read before other tasks run: endless output must not hide the end of the time limit.
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

    /// Reads the rest of the outputs, until both have ended or `patience` is over. The input is closed.
    pub(super) async fn finish(&mut self, patience: Duration) {
        self.stdin = None;
        // A timeout is visible in `Captured::ended`.
        let _ = timeout(patience, self.pump()).await;
    }

    /// Closes the standard input of the process.
    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
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

impl<'a> Outgoing<'a> {
    pub(super) fn all_of(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), sent: 0, gone: 0 }
    }

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
