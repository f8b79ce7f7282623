//! Conversations for people to label, as CSV for spreadsheets.

use std::{io, path::Path};

use evaluator_host::report::Sheet;

use super::{
    csv::cell,
    plain::{formula_mark, line_of, one_line},
    stderr::{Level, line},
    words::{counted, cut},
};

/// Columns of the file. What evaluators say is not among them.
const HEADER: [&str; 7] = ["case", "trace_id", "prompt", "answer", "label", "comment", "rater"];

/// Maximum number of characters of a text: cells of spreadsheets hold 32,767.
const TEXT: usize = 30_000;

/// Writes the conversations as CSV with empty labels.
///
/// # Errors
///
/// Writing fails.
pub(crate) fn sheet(sheet: &Sheet, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(HEADER)?;
    for row in &sheet.rows {
        let case = cell(row.case.as_deref().unwrap_or_default());
        let [prompt, answer] = [&row.prompt, &row.answer].map(|text| paragraphs(text));
        let cells = [case, cell(&row.trace_id), prompt, answer];
        writer.write_record(cells.iter().map(String::as_str).chain(["", "", ""]))?;
    }
    writer.flush()
}

/// Returns a text of several lines that no spreadsheet takes for a formula.
fn paragraphs(text: &str) -> String {
    let text = cut(text.trim(), TEXT);
    let safe = line_of(&text);
    format!("{}{safe}", formula_mark(&safe))
}

/// Writes what the sheet has to stderr.
pub(crate) fn sheet_verdict(sheet: &Sheet, file: &Path) {
    let rows = sheet.rows.len() as u64;
    let name = file.display().to_string();
    let mut text = format!(
        "{} of {} written to {}: evaluators pass {} and fail {}",
        rows,
        counted(sheet.of, "conversation"),
        one_line(&name),
        sheet.passed,
        rows - sheet.passed
    );
    if sheet.without_verdict > 0 {
        let left_out = counted(sheet.without_verdict, "conversation");
        text += &format!("; {left_out} without a verdict left out");
    }
    text +=
        "; write pass or fail into the column `label`, then run `evaluator agree` with both files";
    line(Level::Info, &text);
}
