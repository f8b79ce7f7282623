//! Markdown, for comments on pull requests and job summaries.

use std::{fmt::Write as _, io, sync::Arc};

use evaluator_host::{
    report::{EvaluationReport, Report},
    verdict::Status,
};

use super::{
    duration::milliseconds,
    verdict,
    words::{
        NO_RECORDING, contradictions, error_in_full, failure, kind, reason, unrecorded, with_cause,
    },
};

/// Rows of one table; GitHub cuts comments at 65,536 characters.
const ROWS: usize = 500;

/// Bytes that are shown of an error below its first line, and of all errors together.
const DETAIL_BYTES: usize = 1500;
const ALL_DETAIL_BYTES: usize = 15_000;

pub(crate) fn markdown(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(text(report)?.as_bytes())
}

/// Short, however many conversations there are.
fn text(report: &Report) -> io::Result<String> {
    let mut text = format!("### {}\n", escaped(&verdict::sentence(report)));
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(report.errors_with_causes().map(|(error, cause)| with_cause(error, cause)));
    remarks.extend(verdict::grouping(report).map(|grouping| grouping.to_string()));
    let missing = report.missing_scores().into_iter();
    remarks.extend(missing.map(|name| format!("{name}: {}", verdict::NOTHING_SCORED)));
    remarks.extend(report.warnings.iter().map(|warning| format!("warning: {warning}")));
    remarks.extend(unrecorded(report).iter().map(|case| format!("{NO_RECORDING}: {case}")));
    let contradictions = contradictions(report)?;
    remarks.extend(contradictions.iter().map(|it| format!("warning: {}", it.sentence())));
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(text, "- {}", escaped(&remark));
    }
    if report.tally().total() == 0 {
        return Ok(text);
    }
    text.push_str("\n| | Conversation | Metric | Score | Time | |\n|---|---|---|---:|---:|---|\n");
    let mut room = ALL_DETAIL_BYTES;
    for (trace_id, evaluation) in &rows(report)? {
        let score =
            evaluation.shown_score().map_or_else(String::new, |score| format!("{score:.4}"));
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
    if let Some(more) = report.tally().total().checked_sub(ROWS as u64).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    Ok(text)
}

/// What the table shows. What needs attention comes first, and within that the order of the run.
fn rows(report: &Report) -> io::Result<Vec<(Arc<str>, EvaluationReport)>> {
    let mut rows: [Vec<(Arc<str>, EvaluationReport)>; ATTENTIONS] = Default::default();
    for conversation in &report.conversations {
        let conversation = conversation?;
        for evaluation in conversation.evaluations {
            let attention = attention(&evaluation);
            rows[attention].push((Arc::clone(&conversation.trace_id), evaluation));
            if rows.iter().map(Vec::len).sum::<usize>() > ROWS {
                rows.iter_mut().rev().find_map(Vec::pop);
            }
        }
    }
    Ok(rows.into_iter().flatten().collect())
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

/// How many kinds of rows there are.
const ATTENTIONS: usize = 5;

/// Errors, failures, what was not judged, what passed, what was not run.
fn attention(evaluation: &EvaluationReport) -> usize {
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

#[cfg(test)]
mod tests {
    use evaluator_host::report::ConversationReport;

    use super::*;

    #[test]
    fn of_many_rows_those_that_need_attention_are_shown_in_the_order_of_the_run() {
        let conversations = (0..2000).map(|number| {
            let evaluation = EvaluationReport {
                name: "check".to_owned(),
                score: None,
                threshold: Some(0.5),
                // Many that passed come first, and then some that need attention.
                status: if number % 5 == 4 { Status::Failed } else { Status::Passed },
                failure_reason: None,
                per_invocation_scores: Vec::new(),
                duration: None,
                error: (number % 100 == 99).then(|| "broke".to_owned()),
                error_type: (number % 100 == 99).then_some("exited"),
                stderr: None,
                attempts: 1,
                warnings: Vec::new(),
                details: None,
            };
            ConversationReport {
                trace_id: format!("t{number}").into(),
                turns: 1,
                warnings: Vec::new(),
                evaluations: vec![evaluation],
                performance: None,
                events: None,
            }
        });
        let report = Report { conversations: conversations.collect(), ..Report::default() };
        let of = |wanted: fn(usize) -> bool| {
            (0..2000).filter(move |number| wanted(*number)).map(|number| format!("t{number}"))
        };
        let broken: fn(usize) -> bool = |number| number % 100 == 99;
        let failed: fn(usize) -> bool = |number| number % 5 == 4 && number % 100 != 99;
        let passed: fn(usize) -> bool = |number| number % 5 != 4;
        let expected: Vec<String> =
            of(broken).chain(of(failed)).chain(of(passed)).take(ROWS).collect();
        let rows = rows(&report).unwrap();
        let shown: Vec<&str> = rows.iter().map(|(trace_id, _)| &**trace_id).collect();
        assert_eq!(shown, expected);
        assert!(text(&report).unwrap().ends_with("\n... and 1500 more.\n"));
    }
}
