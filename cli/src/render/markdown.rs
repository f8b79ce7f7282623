//! Markdown, for comments on pull requests and job summaries.

use std::{fmt::Write as _, io, sync::Arc};

use evaluator_host::{
    report::{EvaluationReport, Report},
    verdict::Status,
};

use super::{
    duration::milliseconds,
    errors::{Errors, Extent, Showing, below, headline},
    plain::{one_line, printable},
    verdict,
    words::{
        NO_RECORDING, contradictions, failure, kind, reason, score_text, unrecorded, with_cause,
    },
};

/// Rows of one table; GitHub cuts comments at 65,536 characters.
const ROWS: usize = 500;

/// Bytes that are shown of an error below its first line, and of all errors together.
const DETAIL_BYTES: usize = 1500;
const ALL_DETAIL_BYTES: usize = 15_000;

pub(crate) fn markdown(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(printable(&text(report)?).as_bytes())
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
    let (rows, more) = rows(report)?;
    for Row { trace_id, evaluation, extent } in &rows {
        let score = evaluation
            .shown_score()
            .map_or_else(String::new, |score| score_text(score, evaluation.threshold));
        let time = evaluation
            .duration
            .map_or_else(String::new, |time| milliseconds(time.as_secs_f64() * 1000.0));
        let (icon, remark) = match (&evaluation.error, evaluation.status) {
            (Some(_), _) if !evaluation.was_run() => ("⏹", headline(evaluation)),
            (Some(_), _) => ("💥", headline(evaluation)),
            (None, Status::Failed) => ("❌", failure(evaluation)),
            (None, Status::NotEvaluated) => ("➖", reason(evaluation)),
            (None, Status::Passed) => ("✅", String::new()),
        };
        let label = match &evaluation.error {
            Some(_) if evaluation.was_run() => format!("`{}`: ", kind(evaluation)),
            _ => String::new(),
        };
        let more = match evaluation.was_run() {
            true => folded(&below(evaluation).join("\n"), &mut room),
            false => String::new(),
        };
        let trace_id = one_line(trace_id).replace(['`', '|'], "_");
        let conversation = match extent.filter(|extent| extent.count > 1) {
            Some(extent) => format!("{extent}, first `{trace_id}`"),
            None => format!("`{trace_id}`"),
        };
        let _ = writeln!(
            text,
            "| {icon} | {conversation} | {} | {score} | {time} | {label}{}{more} |",
            escaped(&evaluation.name),
            escaped(&remark)
        );
    }
    if more > 0 {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    Ok(text)
}

/// A row of the table.
struct Row {
    /// The conversation, or the first of several.
    trace_id: Arc<str>,
    evaluation: EvaluationReport,
    /// Conversations that have this error.
    extent: Option<Extent>,
}

/// The rows that the table shows, and the number of those that it has no room for. What needs attention comes first, and
/// within that the order of the run; equal errors are one row.
fn rows(report: &Report) -> io::Result<(Vec<Row>, usize)> {
    let mut rows: [Vec<Row>; ATTENTIONS] = Default::default();
    let mut broken = Errors::of(report)?;
    let mut more = 0;
    for conversation in &report.conversations {
        let conversation = conversation?;
        for evaluation in conversation.evaluations {
            let extent = match broken.showing(&evaluation) {
                Some(Showing::Again) => continue,
                Some(Showing::First(extent)) => Some(extent),
                None => None,
            };
            let trace_id = Arc::clone(&conversation.trace_id);
            rows[attention(&evaluation)].push(Row { trace_id, evaluation, extent });
            if rows.iter().map(Vec::len).sum::<usize>() > ROWS {
                rows.iter_mut().rev().find_map(Vec::pop);
                more += 1;
            }
        }
    }
    Ok((rows.into_iter().flatten().collect(), more))
}

/// The lines of an error below its headline, to be folded in its cell; takes what it needs of the room there is.
fn folded(error: &str, room: &mut usize) -> String {
    let most = DETAIL_BYTES.min(*room);
    let start = error.len().saturating_sub(most);
    let start = (start..error.len()).find(|index| error.is_char_boundary(*index));
    let Some(shown) = start.map(|start| &error[start..]) else { return String::new() };
    *room -= shown.len().min(*room);
    let cut = if shown.len() < error.len() { "...<br>" } else { "" };
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
    for character in one_line(text).chars() {
        match character {
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
            let mut evaluation = EvaluationReport::new("check");
            evaluation.threshold = Some(0.5);
            // Many that passed come first, and then some that need attention.
            evaluation.status = if number % 5 == 4 { Status::Failed } else { Status::Passed };
            if number % 100 == 99 {
                // Each is another one: equal errors would be one row.
                evaluation.error = Some(format!("broke {number}"));
                evaluation.error_type = Some("exited");
            }
            let mut conversation = ConversationReport::new(format!("t{number}").into());
            conversation.turns = 1;
            conversation.evaluations = vec![evaluation];
            conversation
        });
        let mut report = Report::default();
        report.conversations = conversations.collect();
        let of = |wanted: fn(usize) -> bool| {
            (0..2000).filter(move |number| wanted(*number)).map(|number| format!("t{number}"))
        };
        let broken: fn(usize) -> bool = |number| number % 100 == 99;
        let failed: fn(usize) -> bool = |number| number % 5 == 4 && number % 100 != 99;
        let passed: fn(usize) -> bool = |number| number % 5 != 4;
        let expected: Vec<String> =
            of(broken).chain(of(failed)).chain(of(passed)).take(ROWS).collect();
        let (rows, more) = rows(&report).unwrap();
        let shown: Vec<&str> = rows.iter().map(|row| &*row.trace_id).collect();
        assert_eq!((shown, more), (expected.iter().map(String::as_str).collect(), 1500));
        assert!(text(&report).unwrap().ends_with("\n... and 1500 more.\n"));
    }
}
