//! What a program prints besides answers.

use std::io::{self, Write};

use crate::exit;

/// Forms that only print do not read standard input: at a terminal they would wait forever.
pub(super) fn print(out: &mut impl Write, text: &str) -> u8 {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => exit::ANSWERED,
        Err(error) => answer_lost(None, &error),
    }
}

/// Reports that the answer could not be written, unless the reader closed the pipe.
pub(super) fn answer_lost(evaluator: Option<&str>, error: &io::Error) -> u8 {
    if error.kind() != io::ErrorKind::BrokenPipe {
        report(evaluator, &format!("cannot write the answer: {error}"));
    }
    exit::FAILED
}

/// One line on standard error.
pub(super) fn report(evaluator: Option<&str>, message: &str) {
    let prefix = evaluator.map(|name| format!("{name}: ")).unwrap_or_default();
    say(&format!("error: {prefix}{message}\n"));
}

/// Text on standard error.
pub(super) fn say(text: &str) {
    // An error cannot be reported if standard error is closed.
    let _ = io::stderr().write_all(text.as_bytes());
}
