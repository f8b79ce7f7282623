//! A writer whose bytes are seen by the test while another owner writes.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

/// Keeps what is written. Clones share the bytes.
#[derive(Clone, Debug, Default)]
pub struct Written {
    bytes: Arc<Mutex<Vec<u8>>>,
    most: Option<usize>,
}

impl Written {
    /// Creates a writer that breaks as a pipe does instead of having more than this number of bytes.
    pub fn up_to(most: usize) -> Self {
        Self { most: Some(most), ..Self::default() }
    }

    /// Returns the bytes that were written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Returns these bytes as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.bytes.lock().unwrap();
        if self.most.is_some_and(|most| all.len() + bytes.len() > most) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
