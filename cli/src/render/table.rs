//! A table per conversation.

use std::{fmt::Write as _, io};

use evaluator_host::{
    json::{self, Object, Value},
    report::{ConversationReport, EvaluationReport, Report},
    verdict::Status,
};

use super::{Columns, duration::milliseconds, long_error, metrics, words::unrecorded};

pub(crate) fn table(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = errors(report);
    for conversation in &report.conversations {
        one(&mut text, &conversation?);
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    if let Some(performance) = &report.performance {
        metrics::run(&mut text, performance);
    }
    text += &notes(report);
    out.write_all(text.as_bytes())
}

/// The blocks of errors and warnings outside of any conversation; empty when there are none.
pub(super) fn errors(report: &Report) -> String {
    block("Errors", &report.errors)
}

/// What is to be known of the run as a whole, in blocks below everything else; empty when there is nothing.
pub(super) fn notes(report: &Report) -> String {
    block("Warnings", &report.warnings)
        + &block("Golden cases without a recording", &unrecorded(report))
}

fn block(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {line}\n")).collect();
    format!("{title}:\n{lines}\n")
}

fn one(text: &mut String, conversation: &ConversationReport) {
    let _ = writeln!(text, "Trace: {}\nInvocations: {}", conversation.trace_id, conversation.turns);
    for warning in &conversation.warnings {
        let _ = writeln!(text, "  Warning: {warning}");
    }
    let mut table =
        Columns::new(["", "Metric", "Score", "Status", "Per-Invocation", "Time", "Error"]);
    for evaluation in &conversation.evaluations {
        let time =
            evaluation.duration.map(|duration| milliseconds(duration.as_secs_f64() * 1000.0));
        table.row([
            evaluation.outcome().mark().to_owned(),
            evaluation.name.clone(),
            score(evaluation.shown_score()),
            evaluation.outcome().label().to_owned(),
            evaluation
                .shown_turn_scores()
                .iter()
                .map(|value| score(*value))
                .collect::<Vec<_>>()
                .join(", "),
            time.unwrap_or_default(),
            evaluation
                .error
                .as_deref()
                .map(|error| long_error::cell(&evaluation.name, error))
                .unwrap_or_default(),
        ]);
    }
    table.shorten_numbers();
    text.push_str(&table.to_text());
    long_error::whole(text, &conversation.evaluations);
    for evaluation in &conversation.evaluations {
        if let Some(reason) = &evaluation.failure_reason {
            let _ = writeln!(text, "  {}: {reason}", evaluation.name);
        }
    }
    for evaluation in
        conversation.evaluations.iter().filter(|evaluation| evaluation.status == Status::Failed)
    {
        mismatches(text, evaluation);
        diff(text, evaluation);
    }
    measured(text, &conversation.evaluations);
    text.push('\n');
    if let Some(performance) = &conversation.performance {
        metrics::conversation(text, performance);
    }
}

fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "N/A".to_owned(), |score| format!("{score:.4}"))
}

/// Expected and actual tool calls of the turns that do not match.
fn mismatches(text: &mut String, evaluation: &EvaluationReport) {
    let comparisons = evaluation
        .details
        .as_ref()
        .and_then(|details| details.get("comparisons"))
        .and_then(Value::as_array);
    for (index, comparison) in comparisons.unwrap_or_default().iter().enumerate() {
        let Some(comparison) = comparison.as_object() else { continue };
        if comparison.get("matched").and_then(Value::as_bool) != Some(false) {
            continue;
        }
        let _ = writeln!(text, "  Invocation {} trajectory mismatch:", index + 1);
        for (title, key) in [("Expected", "expected"), ("Actual", "actual")] {
            let _ = writeln!(text, "    {title}:");
            calls(text, comparison, key);
        }
    }
}

/// How the calls of the turns differ, where a metric has written it down.
fn diff(text: &mut String, evaluation: &EvaluationReport) {
    let Some(diff) = detail(evaluation, "diff").filter(|diff| !diff.is_empty()) else { return };
    let _ = writeln!(text, "  Differences of {}:", evaluation.name);
    for line in diff.lines() {
        let _ = writeln!(text, "    {line}");
    }
}

/// What metrics measured, which is no score and has no column.
fn measured(text: &mut String, evaluations: &[EvaluationReport]) {
    for evaluation in evaluations {
        if let Some(measured) = detail(evaluation, "measured") {
            let _ = writeln!(text, "  {}: {measured}", evaluation.name);
        }
    }
}

fn detail<'a>(evaluation: &'a EvaluationReport, key: &str) -> Option<&'a str> {
    evaluation.details.as_ref()?.get(key)?.as_str()
}

fn calls(text: &mut String, comparison: &Object, key: &str) {
    let calls = comparison.get(key).and_then(Value::as_array).unwrap_or_default();
    if calls.is_empty() {
        text.push_str("      (none)\n");
    }
    for call in calls {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        // No arguments at all look the same whether they are recorded as such or not recorded.
        let args = match call.get("args") {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(args) => json::to_python_in_order(args),
        };
        let _ = writeln!(text, "      - {name}({args})");
    }
}
