//! Cuts a stream of bytes into lines.

/// Bytes that were read and not yet given away as lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// No line feed is among the first bytes, this many.
    scanned: usize,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete line, without its line feed.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let Some(found) = self.buffer[self.scanned..].iter().position(|&byte| byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.scanned + found + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        self.scanned = 0;
        Some(line)
    }

    /// Bytes held, of complete lines or not.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Gives up everything held.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        self.scanned = 0;
        std::mem::take(&mut self.buffer)
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
                while let Some(line) = lines.pop() {
                    popped.push(line);
                }
            }
            assert_eq!(popped, [&b"one"[..], b"", b"two and more\r"], "in pieces of {size}");
            assert_eq!((lines.len(), lines.take_rest()), (4, b"rest".to_vec()));
        }
    }
}
