//! Errors in tables: what stands in a cell, and what has no room there.

use std::fmt::Write as _;

use evaluator_host::report::EvaluationReport;
use unicode_width::UnicodeWidthStr;

use super::{
    errors::{Extent, Showing, below, headline},
    plain::one_line,
    words::kind,
};

/// Columns that an error may take in a table.
const FITS: usize = 160;

/// Columns of an error that does not fit that are shown all the same.
const SHOWN: usize = 70;

/// What an error that was shown before has in its cell.
pub(super) const AS_ABOVE: &str = "(as above)";

/// What stands in the cell: the error, or how it begins, and in how many conversations it is.
pub(super) fn cell(evaluation: &EvaluationReport, showing: Option<Showing>) -> String {
    match showing {
        // There is no error, or the evaluator was not run.
        None => headline(evaluation),
        Some(Showing::Again) => AS_ABOVE.to_owned(),
        Some(Showing::First(extent)) => shortened(&headline(evaluation)) + &extent.suffix(),
    }
}

fn shortened(error: &str) -> String {
    if error.width() <= FITS {
        return error.to_owned();
    }
    let mut cell = String::new();
    for word in error.split_inclusive(' ') {
        if cell.width() + word.width() > SHOWN && !cell.is_empty() {
            break;
        }
        cell.push_str(word);
    }
    // A single word may be as long as it likes.
    let cell: String = cell.trim_end().chars().take(SHOWN).collect();
    format!("{cell} ...")
}

/// What the cell has no room for, to stand below the table: the kind of the error, its whole text if the cell has not all
/// of it, and what was written to standard error.
pub(super) fn whole(
    text: &mut String,
    evaluation: &EvaluationReport,
    extent: Extent,
    was_cut: bool,
) {
    let _ = writeln!(text, "  Error of {}: {}", one_line(&evaluation.name), kind(evaluation));
    let headline = headline(evaluation);
    if was_cut || headline.width() > FITS {
        let _ = writeln!(text, "    {headline}{}", extent.suffix());
    }
    for line in below(evaluation) {
        let _ = writeln!(text, "    {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_bounded_width() {
        assert_eq!(shortened("exited with code 3: boom"), "exited with code 3: boom");
        for long in ["word ".repeat(50), "é".repeat(300)] {
            let cell = shortened(&long);
            assert!(cell.width() <= SHOWN + 4 && cell.ends_with(" ..."), "{cell}");
        }
    }
}
