//! Output of commands, and the exit codes that follow from it.

use std::{
    fmt::Display,
    io::{self, Write},
};

use evaluator_host::config::ConfigError;

use crate::{
    exit,
    render::{self, Columns},
    streams,
};

/// Reports input that cannot be used. Returns the exit code.
pub(super) fn unusable(error: impl Display) -> u8 {
    render::message(&error.to_string());
    exit::USAGE
}

/// Reports an error of this program or of what it started. Returns the exit code.
pub(super) fn broken(error: impl Display) -> u8 {
    render::message(&error.to_string());
    exit::ERRORED
}

/// Reports a configuration that cannot be used. Returns the exit code.
pub(super) fn unusable_config(error: ConfigError) -> u8 {
    render::config_error(&error);
    exit::USAGE
}

/// Converts text of others to one line without control characters.
pub(super) fn clean_line(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes an answer for people to stdout, in colours if that is a terminal.
pub(super) fn show(text: &str, code: u8) -> u8 {
    print(&render::painted(text), code)
}

/// Writes a table to stdout, no wider than the terminal; lines of the column `prose` are broken for that.
pub(super) fn show_table<const N: usize>(mut table: Columns<N>, prose: usize, code: u8) -> u8 {
    table.wrap(prose, streams::stdout_width());
    show(&table.to_text(), code)
}

/// Writes a whole answer to stdout. A reader that went away is not an error; a full disk is one.
pub(super) fn print(text: &str, code: u8) -> u8 {
    print_with(|out| out.write_all(text.as_bytes()), code)
}

/// Writes an answer to stdout in parts.
pub(super) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    match write_stdout(write) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        written => or_unwritten(written, code),
    }
}

/// Writes a document for programs to stdout. A reader that goes away before the end has only a part of it, which is an error.
pub(super) fn print_document(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> u8 {
    or_unwritten(write_stdout(write), code)
}

pub(super) fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    streams::check_stdout()?;
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut stdout).and_then(|()| stdout.flush());
    if written.is_err() {
        // Dropping the writer would try again.
        let _ = stdout.into_parts();
    }
    written
}

/// Returns the exit code of a command, considering whether its output was written.
pub(super) fn or_unwritten(written: io::Result<()>, code: u8) -> u8 {
    match written {
        Ok(()) => code,
        Err(error) => exit::worst([code, broken(format!("cannot write to stdout: {error}"))]),
    }
}
