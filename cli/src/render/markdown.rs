//! Markdown, for comments on pull requests and job summaries.

use std::fmt::Write as _;

use evaluator_host::{
    report::{EvaluationReport, Report},
    verdict::Status,
};

use super::{
    duration::milliseconds,
    verdict,
    words::{contradictions, failure, reason, with_cause},
};

/// Rows of one table; GitHub cuts comments at 65,536 characters.
const ROWS: usize = 500;

pub(crate) fn markdown(report: &Report) -> String {
    let mut text = format!("### {}\n", escaped(&verdict::sentence(report)));
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(report.errors_with_causes().map(|(error, cause)| with_cause(error, cause)));
    let missing = report.missing_scores().into_iter();
    remarks.extend(missing.map(|name| format!("{name}: {}", verdict::NOTHING_SCORED)));
    let contradictions = contradictions(report);
    remarks.extend(contradictions.iter().map(|it| format!("warning: {}", it.sentence())));
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(text, "- {}", escaped(&remark));
    }
    let rows: Vec<(&str, &EvaluationReport)> = report
        .conversations
        .iter()
        .flat_map(|conversation| {
            conversation.evaluations.iter().map(|it| (&*conversation.trace_id, it))
        })
        .collect();
    if rows.is_empty() {
        return text;
    }
    text.push_str("\n| | Conversation | Metric | Score | Time | |\n|---|---|---|---:|---:|---|\n");
    // What needs attention comes first, and within that the order of the run.
    let mut rows = rows;
    rows.sort_by_key(|(_, evaluation)| attention(evaluation));
    for (trace_id, evaluation) in rows.iter().take(ROWS) {
        let score = evaluation.score.map_or_else(String::new, |score| format!("{score:.4}"));
        let time = evaluation
            .duration
            .map_or_else(String::new, |time| milliseconds(time.as_secs_f64() * 1000.0));
        let (icon, remark) = match (&evaluation.error, evaluation.status) {
            (Some(error), _) => ("💥", error.lines().next().unwrap_or_default().to_owned()),
            (None, Status::Failed) => ("❌", failure(evaluation)),
            (None, Status::NotEvaluated) => ("➖", reason(evaluation)),
            (None, Status::Passed) => ("✅", String::new()),
        };
        let _ = writeln!(
            text,
            "| {icon} | `{}` | {} | {score} | {time} | {} |",
            trace_id.replace(['`', '|'], "_"),
            escaped(&evaluation.name),
            escaped(&remark)
        );
    }
    if let Some(more) = rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    text
}

/// Errors, failures, what was not judged, what passed.
fn attention(evaluation: &EvaluationReport) -> u8 {
    match (&evaluation.error, evaluation.status) {
        (Some(_), _) => 0,
        (None, Status::Failed) => 1,
        (None, Status::NotEvaluated) => 2,
        (None, Status::Passed) => 3,
    }
}

/// Text that means itself in a cell of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => {
                escaped.extend(['\\', character])
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
