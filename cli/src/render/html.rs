//! HTML files.

use std::io::{self, Write};

use evaluator_host::report::{Gate, Report};
use evaluator_html::Words;

use super::{
    sums::{COLUMNS, row},
    verdict::{Outcome, outcome},
    words::Names,
};

/// Writes the report as an HTML file.
pub(super) fn html(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let sums = report.evaluators(Gate::CONFIDENCE)?;
    let outcome = outcome(report);
    let Outcome { word, decisions, counts, by_counts } = &outcome;
    let headline = match (decisions.is_empty(), by_counts) {
        (true, _) => [counts, ""],
        (false, true) => [counts, &**decisions],
        (false, false) => [decisions, &**counts],
    };
    let rows = sums.iter().map(row).map(Vec::from).collect();
    let facts = outcome.facts();
    let words = words(report, (word, &facts), &COLUMNS, rows);
    evaluator_html::write(report, Words { headline, ..words }, out)
}

/// Returns the texts of a page without a comparison, with its verdict and the sentence after it.
pub(super) fn words<'w>(
    report: &'w Report,
    (verdict, sentence): (&'w str, &'w str),
    columns: &'w [&'w str],
    rows: Vec<Vec<String>>,
) -> Words<'w> {
    let mut names = Names::new(report);
    let name = Box::new(move |conversation: &_| names.of(conversation));
    Words {
        verdict,
        sentence,
        headline: [sentence, ""],
        columns,
        rows,
        comparison: None,
        base: None,
        said: Vec::new(),
        name,
    }
}

/// Returns a page as text.
pub(super) fn page(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<String> {
    let mut page = Vec::new();
    write(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}
