//! A bounded number of conversations between the reader of a stream and its output.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Maximum number of conversations, and of bytes of their text.
const CONVERSATIONS: usize = 64;
const BYTES: usize = 64 << 20;

/// Counts the conversations that were read and not written yet. They are written in the order in which they are read.
#[derive(Debug, Default)]
pub(super) struct Window {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of each.
    held: VecDeque<usize>,
    bytes: usize,
    is_closed: bool,
}

impl Window {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for a conversation, and adds it. Returns false if nothing is written any more. Blocks.
    pub(super) fn enter(&self, bytes: usize) -> bool {
        let is_full = |state: &mut State| {
            let is_full = state.held.len() >= CONVERSATIONS || state.bytes + bytes > BYTES;
            !state.is_closed && !state.held.is_empty() && is_full
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.held.push_back(bytes);
        state.bytes += bytes;
        !state.is_closed
    }

    /// Removes this number of conversations, which were written.
    pub(super) fn leave(&self, conversations: usize) {
        let mut state = self.lock();
        // The last record is that of the end.
        let number = conversations.min(state.held.len());
        let bytes: usize = state.held.drain(..number).sum();
        state.bytes -= bytes;
        drop(state);
        self.changed.notify_all();
    }

    /// Lets the reader end, because nothing is written any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    #[test]
    fn a_full_window_waits_until_one_has_left_and_a_closed_one_never() {
        let window = Arc::new(Window::default());
        // One that is larger than the window has room in an empty one.
        assert!(window.enter(2 * BYTES));
        window.leave(1);
        assert!((0..CONVERSATIONS).all(|_| window.enter(1)));
        let reader = {
            let window = Arc::clone(&window);
            thread::spawn(move || (window.enter(BYTES - CONVERSATIONS), window.enter(BYTES)))
        };
        // The second one needs an empty window.
        while !reader.is_finished() {
            window.leave(1);
            thread::yield_now();
        }
        assert_eq!(reader.join().unwrap(), (true, true));
        window.close();
        assert!(!window.enter(BYTES));
    }
}
