//! Reports of failures.

use std::io::{self, Write as _};

use crate::{
    order::{Failure, HELPER_ERROR, HELPER_FAILED, Step},
    os,
};

/// Reports a failure on standard error, or for a check on standard output, and ends this process.
pub(super) fn fail(failure: &Failure, is_check: bool) -> ! {
    let mut code = HELPER_FAILED;
    // If the report cannot be written, the exit code is what is left.
    if is_check {
        let report = serde_json::to_string(failure).unwrap_or_default();
        let _ = writeln!(io::stdout(), "{report}");
    } else {
        if failure.step == Step::Program {
            code = if failure.errno == Some(libc::ENOENT) { 127 } else { 126 };
        }
        let text: String =
            failure.to_string().split_inclusive(char::is_control).map(one_line).collect();
        let _ = writeln!(io::stderr(), "{HELPER_ERROR}{text}");
    }
    os::exit(code)
}

/// A piece of text without the control character at its end.
fn one_line(piece: &str) -> String {
    match piece.strip_suffix(char::is_control) {
        Some(rest) => format!("{rest}{}", piece[rest.len()..].escape_default()),
        None => piece.to_owned(),
    }
}
