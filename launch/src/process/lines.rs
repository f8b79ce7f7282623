//! Cuts a stream of bytes into lines.

use memchr::memchr;

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
