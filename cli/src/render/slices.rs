//! Sums by the values of an attribute, as tables.

use std::{fmt::Write as _, io};

use evaluator_host::report::{EvaluatorSums, Gate, Report, Slices};

use super::{Columns, plain::one_line, sums, words::counted};

/// Maximum number of values of an attribute that are shown of each evaluator.
const VALUES: usize = 10;

/// Number of columns.
const WIDTH: usize = 9;

/// Appends a table for each attribute.
pub(super) fn text(report: &Report, width: Option<usize>, text: &mut String) -> io::Result<()> {
    for slices in report.slices(Gate::CONFIDENCE)? {
        let by = one_line(&slices.by);
        let mut table = Columns::new(header(&by));
        rows(&slices).into_iter().for_each(|row| table.row(row));
        table.fit(width);
        let _ = writeln!(text, "\nBy {by}:\n\n{}", table.to_text().trim_end());
        for remark in remarks(&slices) {
            let _ = writeln!(text, "  {remark}");
        }
    }
    Ok(())
}

/// Returns the titles of the columns.
pub(super) fn header(by: &str) -> [&str; WIDTH] {
    let [evaluator, cases, passed, mean, interval, _, not_evaluated, errors] = sums::COLUMNS;
    [evaluator, by, cases, passed, mean, interval, not_evaluated, errors, "Remark"]
}

/// Returns the rows of each evaluator, a row for each of the first values.
pub(super) fn rows(slices: &Slices) -> Vec<[String; WIDTH]> {
    let mut names: Vec<&str> = Vec::new();
    for sums in slices.slices.iter().flat_map(|slice| &slice.evaluators) {
        if !names.contains(&sums.name.as_str()) {
            names.push(&sums.name);
        }
    }
    let row = |sums: &EvaluatorSums, value: Option<&str>| {
        let [name, cases, passed, mean, interval, _, not_evaluated, errors] = sums::row(sums);
        let value = value.map_or_else(|| "(none)".to_owned(), |it| one_line(it).into_owned());
        let remark = if sums.has_too_few_cases() { "too few cases to say" } else { "" };
        [name, value, cases, passed, mean, interval, not_evaluated, errors, remark.to_owned()]
    };
    let of = |name: &str| {
        let shown = slices.slices.iter().take(VALUES);
        let sums = shown.filter_map(|slice| {
            let sums = slice.evaluators.iter().find(|sums| sums.name == name)?;
            Some(row(sums, slice.value.as_deref()))
        });
        sums.collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of).collect()
}

/// Returns what the rows do not say.
pub(super) fn remarks(slices: &Slices) -> Vec<String> {
    let mut remarks = Vec::new();
    let more = slices.slices.len().saturating_sub(VALUES) as u64;
    if more > 0 {
        remarks.push(format!("and {}: -o json=FILE has them", counted(more, "more value")));
    }
    if slices.overlapping > 0 {
        let conversations = counted(slices.overlapping, "conversation");
        remarks.push(format!("{conversations} with several values, in the row of each"));
    }
    if slices.left_out > 0 {
        remarks.push(format!(
            "left out: {} of further values",
            counted(slices.left_out, "conversation")
        ));
    }
    remarks
}
