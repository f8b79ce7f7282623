//! Comma-separated values: a row per evaluation, for spreadsheets and data frames.

use std::io;

use evaluator_host::report::{EvaluationOutcome, Report};

use super::{
    errors::headline,
    plain::{formula_mark, one_line, printable},
    words::{Names, failure, reason},
};

const HEADER: [&str; 11] = [
    "conversation",
    "trace_id",
    "trace_file",
    "eval_case_id",
    "evaluator",
    "outcome",
    "score",
    "threshold",
    "reason",
    "error_type",
    "duration_ms",
];

/// Writes the report as CSV (RFC 4180) with a header. Numbers that there are none of are empty cells.
///
/// # Errors
///
/// A conversation cannot be read back, or writing fails.
pub(crate) fn csv(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    // A column has the name of one attribute, and no other column has it.
    let by = report.by.iter().map(|attribute| {
        if HEADER.contains(&attribute.as_str()) {
            format!("by {attribute}")
        } else {
            cell(attribute)
        }
    });
    writer.write_record(HEADER.into_iter().map(str::to_owned).chain(by))?;
    let mut names = Names::new(report);
    for conversation in report.conversations.iter().without_performance() {
        let conversation = conversation?;
        let name = names.of(&conversation);
        for evaluation in &conversation.evaluations {
            let why = match evaluation.outcome() {
                EvaluationOutcome::Error | EvaluationOutcome::NotRun => headline(evaluation).into(),
                EvaluationOutcome::Failed => failure(evaluation).into(),
                EvaluationOutcome::NotEvaluated => reason(evaluation),
                _ => evaluation.reason().unwrap_or_default(),
            };
            let number = |number: Option<f64>| number.map_or_else(String::new, |it| it.to_string());
            let milliseconds = evaluation.duration.map(|time| time.as_secs_f64() * 1000.0);
            let text = |text: Option<&str>| cell(text.unwrap_or_default());
            let row = [
                cell(&name),
                text(Some(&conversation.trace_id)),
                text(conversation.trace_file.as_deref()),
                text(conversation.eval_case_id.as_deref()),
                cell(&evaluation.name),
                evaluation.outcome().as_str().to_owned(),
                number(evaluation.shown_score()),
                number(evaluation.threshold),
                cell(&why),
                evaluation.error_type.unwrap_or_default().to_owned(),
                number(milliseconds),
            ];
            let values = report.by.iter().map(|attribute| {
                let values = conversation.labels.get(attribute).map(|values| values.join("; "));
                cell(&values.unwrap_or_default())
            });
            writer.write_record(row.into_iter().chain(values))?;
        }
    }
    writer.flush()
}

/// Returns text in one line that no terminal, CI system or spreadsheet takes for a command: an agent's text would run as one.
pub(super) fn cell(text: &str) -> String {
    let line = one_line(text);
    let safe = printable(&line);
    format!("{}{safe}", formula_mark(&safe))
}
