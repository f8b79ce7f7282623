//! The report as a table per conversation.

use std::{fmt::Write as _, io};

use evaluator_host::{
    json::{self, Object, Value},
    report::{ConversationReport, EvaluationReport, Report},
    verdict::Status,
};

use super::{
    Columns,
    errors::{self, Errors, Showing},
    metrics,
    plain::{line_of, one_line},
    words::{detail, score_text, time, unrecorded},
};

/// Writes the report in tables of at most `width` columns, if that is given.
pub(crate) fn table(
    report: &Report,
    width: Option<usize>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut text = run_errors(report);
    let mut broken = Errors::of(report)?;
    for conversation in &report.conversations {
        one(&mut text, &conversation?, &mut broken, width);
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    if let Some(performance) = &report.performance {
        metrics::run(&mut text, performance);
    }
    text += &notes(report);
    out.write_all(text.as_bytes())
}

/// Returns the block of errors outside of any conversation; empty without errors.
pub(super) fn run_errors(report: &Report) -> String {
    block("Errors", &report.errors)
}

/// Returns the blocks about the whole run, which come last.
pub(super) fn notes(report: &Report) -> String {
    block("Warnings", &report.warnings)
        + &block("Golden cases without a recording", &unrecorded(report))
}

fn block(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {}\n", one_line(line))).collect();
    format!("{title}:\n{lines}\n")
}

fn one(
    text: &mut String,
    conversation: &ConversationReport,
    broken: &mut Errors,
    width: Option<usize>,
) {
    let trace_id = one_line(&conversation.trace_id);
    let _ = writeln!(text, "Trace: {trace_id}\nInvocations: {}", conversation.turns);
    for warning in &conversation.warnings {
        let _ = writeln!(text, "  Warning: {}", one_line(warning));
    }
    let showings: Vec<Option<Showing>> =
        conversation.evaluations.iter().map(|evaluation| broken.showing(evaluation)).collect();
    let mut table =
        Columns::new(["", "Metric", "Score", "Status", "Per-Invocation", "Time", "Error"]);
    for (evaluation, showing) in conversation.evaluations.iter().zip(&showings) {
        table.row([
            evaluation.outcome().mark().to_owned(),
            one_line(&evaluation.name).into_owned(),
            score(evaluation.shown_score(), evaluation.threshold),
            evaluation.outcome().label().to_owned(),
            evaluation
                .shown_turn_scores()
                .iter()
                .map(|value| score(*value, None))
                .collect::<Vec<_>>()
                .join(", "),
            time(evaluation),
            errors::cell(evaluation, *showing),
        ]);
    }
    table.shorten_numbers();
    let cut = table.fit(width);
    text.push_str(&table.to_text());
    for ((evaluation, showing), was_cut) in conversation.evaluations.iter().zip(&showings).zip(cut)
    {
        if let Some(reason) = &evaluation.failure_reason {
            let _ = writeln!(text, "  {}: {}", one_line(&evaluation.name), one_line(reason));
        }
        if let Some(Showing::First(extent)) = *showing {
            errors::whole(text, evaluation, extent, was_cut);
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

fn score(score: Option<f64>, threshold: Option<f64>) -> String {
    score.map_or_else(|| "N/A".to_owned(), |score| score_text(score, threshold))
}

/// Writes expected and actual tool calls of the turns that do not match.
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

/// Writes the differences of tool calls that a metric recorded.
fn diff(text: &mut String, evaluation: &EvaluationReport) {
    let Some(diff) = detail(evaluation, "diff").filter(|diff| !diff.is_empty()) else { return };
    let _ = writeln!(text, "  Differences of {}:", one_line(&evaluation.name));
    for line in diff.lines() {
        let _ = writeln!(text, "    {}", line_of(line));
    }
}

/// Writes measured values that are not scores, and have no column.
fn measured(text: &mut String, evaluations: &[EvaluationReport]) {
    for evaluation in evaluations {
        if let Some(measured) = detail(evaluation, "measured") {
            let _ = writeln!(text, "  {}: {}", one_line(&evaluation.name), one_line(measured));
        }
    }
}

fn calls(text: &mut String, comparison: &Object, key: &str) {
    let calls = comparison.get(key).and_then(Value::as_array).unwrap_or_default();
    if calls.is_empty() {
        text.push_str("      (none)\n");
    }
    for call in calls {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        // Missing arguments look like empty ones.
        let args = match call.get("args") {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(args) => json::to_python_in_order(args),
        };
        let _ = writeln!(text, "      - {}({args})", one_line(name));
    }
}
