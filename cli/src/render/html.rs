//! One HTML file.

use std::io::{self, Write};

use evaluator_host::report::{Comparison, Gate, Report};
use evaluator_html::Words;

use super::{
    comparison::{self, outcome},
    overview::{COLUMNS, rows},
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
        rows: rows(&sums).map(Vec::from).collect(),
        comparison: None,
        base: None,
        said: Vec::new(),
        name: Box::new(move |conversation| names.of(conversation)),
    };
    evaluator_html::write(report, words, out)
}

/// Writes two runs compared as an HTML file: the new one, next to the base.
pub(crate) fn comparison_html(
    (base, new): (&Report, &Report),
    comparison: &Comparison,
    said: Vec<String>,
    is_broken: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sentence = outcome(comparison, is_broken);
    let (verdict, sentence) = sentence.split_once(": ").unwrap_or(("ERROR", &sentence));
    let mut names = Names::new(new);
    let words = Words {
        verdict,
        sentence,
        columns: &comparison::COLUMNS,
        rows: comparison.evaluators.iter().map(comparison::cells).map(Vec::from).collect(),
        comparison: Some(comparison),
        base: Some(base),
        said,
        name: Box::new(move |conversation| names.of(conversation)),
    };
    evaluator_html::write(new, words, out)
}
