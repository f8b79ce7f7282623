//! HTML files.

use std::io::{self, Write};

use evaluator_host::report::{Gate, Report};
use evaluator_html::Words;

use super::{
    sums::{COLUMNS, row},
    verdict::sentence,
    words::Names,
};

/// Writes the report as an HTML file.
pub(super) fn html(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let sums = report.evaluators(Gate::CONFIDENCE)?;
    let sentence = sentence(report);
    let rows = sums.iter().map(row).map(Vec::from).collect();
    evaluator_html::write(report, words(report, &sentence, &COLUMNS, rows), out)
}

/// Returns the texts of a page without a comparison, with a sentence that begins with the verdict.
pub(super) fn words<'w>(
    report: &'w Report,
    sentence: &'w str,
    columns: &'w [&'w str],
    rows: Vec<Vec<String>>,
) -> Words<'w> {
    let (verdict, sentence) = sentence.split_once(": ").unwrap_or(("ERROR", sentence));
    let mut names = Names::new(report);
    let name = Box::new(move |conversation: &_| names.of(conversation));
    Words { verdict, sentence, columns, rows, comparison: None, base: None, said: Vec::new(), name }
}

/// Returns a page as text.
pub(super) fn page(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<String> {
    let mut page = Vec::new();
    write(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}
