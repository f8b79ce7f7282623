//! The channel that carries answers.

use std::io::{self, BufWriter, Write};

/// Where answers go. Nothing else is ever written there.
pub(super) struct Answer<W: Write> {
    // Many answers of a stream leave with one system call.
    out: BufWriter<W>,
}

impl<W: Write> Answer<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, out) }
    }

    /// Writes bytes; they may stay here until [`flush`](Self::flush).
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
