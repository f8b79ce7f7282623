//! Markdown, for comments on pull requests and job summaries.

use std::fmt::Write as _;

use evaluator_host::{
    report::{EvaluationReport, Report},
    verdict::Status,
};

use super::{
    duration::milliseconds,
    verdict,
    words::{contradictions, error_in_full, failure, kind, reason, with_cause},
};

/// Rows of one table; GitHub cuts comments at 65,536 characters.
const ROWS: usize = 500;

/// Bytes that are shown of an error below its first line, and of all errors together.
const DETAIL_BYTES: usize = 1500;
const ALL_DETAIL_BYTES: usize = 15_000;

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
    let mut room = ALL_DETAIL_BYTES;
    for (trace_id, evaluation) in rows.iter().take(ROWS) {
        let score = evaluation.score.map_or_else(String::new, |score| format!("{score:.4}"));
        let time = evaluation
            .duration
            .map_or_else(String::new, |time| milliseconds(time.as_secs_f64() * 1000.0));
        let (icon, remark) = match (&evaluation.error, evaluation.status) {
            (Some(error), _) if !evaluation.was_run() => ("⏹", error.clone()),
            (Some(error), _) => {
                let first = error.lines().next().unwrap_or_default();
                ("💥", first.to_owned())
            }
            (None, Status::Failed) => ("❌", failure(evaluation)),
            (None, Status::NotEvaluated) => ("➖", reason(evaluation)),
            (None, Status::Passed) => ("✅", String::new()),
        };
        let label = match &evaluation.error {
            Some(_) if evaluation.was_run() => format!("`{}`: ", kind(evaluation)),
            _ => String::new(),
        };
        let error = error_in_full(evaluation).filter(|_| evaluation.was_run());
        let more = error.map(|error| folded(&error, &mut room)).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {icon} | `{}` | {} | {score} | {time} | {label}{}{more} |",
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

/// The lines of an error below its first one, to be folded in its cell; takes what it needs of the room there is.
fn folded(error: &str, room: &mut usize) -> String {
    let Some((_, more)) = error.split_once('\n') else { return String::new() };
    let most = DETAIL_BYTES.min(*room);
    let start = more.len().saturating_sub(most);
    let start = (start..more.len()).find(|index| more.is_char_boundary(*index));
    let Some(shown) = start.map(|start| &more[start..]) else { return String::new() };
    *room -= shown.len().min(*room);
    let cut = if shown.len() < more.len() { "...<br>" } else { "" };
    let lines: Vec<String> = shown.lines().map(escaped).collect();
    format!("<details><summary>more</summary>{cut}{}</details>", lines.join("<br>"))
}

/// Errors, failures, what was not judged, what passed, what was not run.
fn attention(evaluation: &EvaluationReport) -> u8 {
    match (&evaluation.error, evaluation.status) {
        _ if !evaluation.was_run() => 4,
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
