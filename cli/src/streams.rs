//! The standard streams as the program inherited them.

mod os;

use std::{
    io::{self, IsTerminal as _},
    thread,
};

use terminal_size::{Width, terminal_size_of};

use crate::{exit, render, signals};

/// Returns an error if stdin was closed, or not open for reading, when the program started. The standard library makes an empty
/// input of it, which hides that the input is lost.
pub(crate) fn check_stdin() -> io::Result<()> {
    if os::stdin_is_unusable() {
        let hint = "it is closed or not open for reading; `</dev/null` is an empty input";
        return Err(io::Error::other(hint));
    }
    Ok(())
}

/// Returns an error if stdout was closed, or not open for writing, when the program started. The standard library drops what is
/// written to it.
pub(crate) fn check_stdout() -> io::Result<()> {
    if os::stdout_is_unusable() {
        return Err(io::Error::other("it is closed or not open for writing"));
    }
    Ok(())
}

/// Ends this program and all that it started as soon as the reader of stdout is gone. Without that, a program that waits for
/// evaluators or for input would notice it at its next write.
pub(crate) fn watch_stdout() {
    let watching = thread::Builder::new().name("stdout".to_owned()).spawn(|| {
        if os::stdout_is_closed() {
            signals::end(exit::ERRORED, || render::message("the reader of stdout is gone"));
        }
    });
    if let Err(error) = watching {
        render::warning(&format!("a reader of stdout that is gone is noticed late: {error}"));
    }
}

/// Returns true if stdout is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns the width of the terminal in columns; `None` if stdout is not a terminal. `COLUMNS` overrides the width of the
/// terminal.
pub(crate) fn stdout_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let chosen = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    chosen
        .or_else(|| terminal_size_of(&stdout).map(|(Width(width), _)| usize::from(width)))
        .filter(|width| *width > 0)
}
