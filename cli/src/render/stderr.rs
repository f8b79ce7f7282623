//! Lines on stderr, and on a terminal one line below them that changes.
//!
//! There is no place left to complain to when stderr cannot be written to.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use super::paint::for_stderr;

/// Whether the last line is one that changes. One per process, as stderr is.
static STATUS: AtomicBool = AtomicBool::new(false);

/// Goes to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[2K";

/// Characters a status may have. A longer one might wrap, and only its last line could then be cleared.
const WIDTH: usize = 79;

/// Whether a line can be changed.
pub(super) fn is_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A line, or several.
pub(super) fn line(text: &str) {
    let text = for_stderr(text);
    let mut stderr = io::stderr().lock();
    let clear = if STATUS.swap(false, Ordering::Relaxed) { CLEAR } else { "" };
    let _ = writeln!(stderr, "{clear}{text}");
}

/// Changes the last line of a terminal; empty text takes it away.
pub(super) fn status(text: &str) {
    let mut stderr = io::stderr().lock();
    let shown = !text.is_empty();
    if STATUS.swap(shown, Ordering::Relaxed) || shown {
        let text: String = text.chars().filter(|c| !c.is_control()).take(WIDTH).collect();
        let _ = write!(stderr, "{CLEAR}{text}").and_then(|()| stderr.flush());
    }
}
