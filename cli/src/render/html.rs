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
    let (verdict, sentence) = sentence.split_once(": ").unwrap_or(("ERROR", &sentence));
    let mut names = Names::new(report);
    let words = Words {
        verdict,
        sentence,
        columns: &COLUMNS,
        rows: sums.iter().map(row).map(Vec::from).collect(),
        comparison: None,
        base: None,
        said: Vec::new(),
        name: Box::new(move |conversation| names.of(conversation)),
    };
    evaluator_html::write(report, words, out)
}

/// Returns a page as text.
pub(super) fn page(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<String> {
    let mut page = Vec::new();
    write(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}
