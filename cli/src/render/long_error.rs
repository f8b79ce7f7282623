//! Errors that are too long for a cell of a table.

use std::fmt::Write as _;

use evaluator_host::report::EvaluationReport;
use unicode_width::UnicodeWidthStr;

use super::words::{kind, stderr_beside};

/// Columns that an error may take in a table.
const FITS: usize = 160;

/// Lines that it may have there.
const LINES: usize = 3;

/// Columns of an error that does not fit that are shown all the same.
const SHOWN: usize = 70;

/// What stands in the cell: the error, or how it begins.
pub(super) fn cell(name: &str, error: &str) -> String {
    if fits(error) {
        return error.to_owned();
    }
    // Which evaluator it is stands at the start of the row.
    let error = error.strip_prefix(&format!("Custom evaluator '{name}' ")).unwrap_or(error);
    let first = error.lines().next().unwrap_or_default().trim_end();
    let mut cell = String::new();
    for word in first.split_inclusive(' ') {
        if cell.width() + word.width() > SHOWN && !cell.is_empty() {
            break;
        }
        cell.push_str(word);
    }
    // A single word may be as long as it likes.
    let cell: String = cell.trim_end().chars().take(SHOWN).collect();
    format!("{cell} ...")
}

/// What the cells have no room for, to stand below the table: the kind of each error, its whole text if it does not fit,
/// and what was written to standard error.
pub(super) fn whole(text: &mut String, evaluations: &[EvaluationReport]) {
    for evaluation in evaluations.iter().filter(|evaluation| evaluation.was_run()) {
        let Some(error) = evaluation.error.as_deref() else { continue };
        let _ = writeln!(text, "  Error of {}: {}", evaluation.name, kind(evaluation));
        let long = error.lines().filter(|_| !fits(error)).map(str::to_owned);
        let stderr = stderr_beside(evaluation).into_iter().flatten();
        for line in long.chain(stderr.map(|line| format!("stderr: {line}"))) {
            let _ = writeln!(text, "    {line}");
        }
    }
}

fn fits(error: &str) -> bool {
    error.lines().count() <= LINES && error.lines().all(|line| line.width() <= FITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_few_lines_of_bounded_width() {
        let short = "Custom evaluator 'x' exited with code 3: boom\nline 2\nline 3";
        assert_eq!(cell("x", short), short);
        assert_eq!(cell("x", &format!("{short}\nline 4")), "exited with code 3: boom ...");
        assert_eq!(cell("x", "\n2\n3\n4"), " ...");
        for long in ["word ".repeat(50), "é".repeat(300)] {
            let cell = cell("x", &long);
            assert!(cell.width() <= SHOWN + 4 && cell.ends_with(" ..."), "{cell}");
        }
    }
}
