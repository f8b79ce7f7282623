//! The report as tables per conversation, and as a line per metric.

use std::{fmt::Write as _, io};

use evaluator_host::{
    conversation::{PerformanceMetrics, RunPerformance, Stats},
    json::{self, Object, Value},
    report::{ConversationReport, EvaluationReport, Report},
    verdict::Status,
};
use indexmap::IndexMap;

use super::{
    Columns,
    changes::section,
    errors::{self, AS_ABOVE, Errors, Showing, below, headline},
    plain::{line_of, one_line},
    slices,
    words::{detail, kind, milliseconds, repeats, score_text, time, unrecorded},
};

/// Writes the report in tables of at most `width` columns, if that is given.
pub(crate) fn table(
    report: &Report,
    width: Option<usize>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut text = block("Errors", &report.errors);
    let mut broken = Errors::of(report)?;
    report.conversations.iter().try_for_each_ahead(|conversation| {
        heading(&mut text, &conversation, report.suite.is_some());
        one(&mut text, &conversation, &mut broken, width);
        out.write_all(text.as_bytes())?;
        text.clear();
        Ok(())
    })?;
    if let Some(performance) = report.conversations.performance() {
        run_performance(&mut text, performance);
    }
    if !report.by.is_empty() {
        let mut sliced = String::new();
        slices::text(report, width, None, &mut sliced)?;
        let _ = writeln!(text, "{}", sliced.trim_start());
    }
    text += &notes(report);
    out.write_all(text.as_bytes())
}

/// Returns the blocks about the whole run, which come last.
pub(super) fn notes(report: &Report) -> String {
    section(report)
        + &block("Warnings", &report.warnings)
        + &block("Golden cases without a recording", &unrecorded(report))
}

fn block(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {}\n", one_line(line))).collect();
    format!("{title}:\n{lines}\n")
}

/// Writes the lines above the table of a conversation.
fn heading(text: &mut String, conversation: &ConversationReport, is_test: bool) {
    let id = one_line(&conversation.trace_id);
    let _ = match is_test {
        true => writeln!(text, "Test: {id}"),
        false => writeln!(text, "Trace: {id}\nInvocations: {}", conversation.turns),
    };
    for warning in &conversation.warnings {
        let _ = writeln!(text, "  Warning: {}", one_line(warning));
    }
    failed_turns(text, conversation);
}

fn failed_turns(text: &mut String, conversation: &ConversationReport) {
    for failure in &conversation.failed_turns {
        let _ = writeln!(text, "  Warning: a turn failed: {}", one_line(failure));
    }
}

fn one(
    text: &mut String,
    conversation: &ConversationReport,
    broken: &mut Errors,
    width: Option<usize>,
) {
    let showings: Vec<Option<Showing>> =
        conversation.evaluations.iter().map(|evaluation| broken.showing(evaluation)).collect();
    let mut table =
        Columns::new(["", "Metric", "Score", "Status", "Per-Invocation", "Time", "Error"]);
    let (mut places, mut rows) = (Vec::new(), 0);
    for (evaluation, showing) in conversation.evaluations.iter().zip(&showings) {
        table.row([
            evaluation.outcome().mark().to_owned(),
            one_line(&evaluation.name).into_owned(),
            score(evaluation.shown_score(), evaluation.threshold),
            status(evaluation),
            evaluation
                .shown_turn_scores()
                .iter()
                .map(|value| score(*value, None))
                .collect::<Vec<_>>()
                .join(", "),
            time(evaluation),
            errors::cell(evaluation, *showing),
        ]);
        places.push(rows);
        rows += 1 + members(&mut table, evaluation, 1);
    }
    table.shorten_numbers();
    let cut = table.fit(width);
    text.push_str(&table.to_text());
    for ((evaluation, showing), at) in conversation.evaluations.iter().zip(&showings).zip(places) {
        let own = evaluation.reason().filter(|_| evaluation.status == Status::Failed);
        let reasons = [evaluation.failure_reason.as_deref(), own.as_deref()];
        for reason in reasons.into_iter().flatten() {
            let _ = writeln!(text, "  {}: {}", one_line(&evaluation.name), one_line(reason));
        }
        if let Some(Showing::First(extent)) = *showing {
            errors::whole(text, evaluation, extent, cut[at]);
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
        conversation_performance(text, performance);
    }
}

/// Adds the rows of the evaluators whose results an evaluation combines. Returns their number.
fn members(table: &mut Columns<7>, evaluation: &EvaluationReport, depth: usize) -> usize {
    let mut added = 0;
    for member in evaluation.members() {
        let get = |key: &str| member.details.as_ref()?.get(key);
        let text = |key: &str| get(key).and_then(Value::as_str).unwrap_or_default();
        let label = match text("verdict") {
            "borderline" => "FAILED (borderline)",
            _ => member.outcome().label(),
        };
        let rows = get("rows").and_then(Value::as_array).unwrap_or_default();
        let missed =
            rows.iter().filter(|row| row.get("passed").and_then(Value::as_bool) == Some(false));
        let missed: Vec<&str> = missed.filter_map(|row| row.get("text")?.as_str()).collect();
        let reason = match text("reason") {
            "" => missed.join("; "),
            reason => reason.to_owned(),
        };
        let reason = one_line(reason.trim_start().lines().next().unwrap_or_default());
        table.row([
            member.outcome().mark().to_owned(),
            format!("{}{}", "  ".repeat(depth), one_line(&member.name)),
            score(member.score, None),
            label.to_owned(),
            String::new(),
            String::new(),
            reason.into_owned(),
        ]);
        added += 1 + members(table, &member, depth + 1);
    }
    added
}

/// Returns the outcome, and how many repeats passed.
fn status(evaluation: &EvaluationReport) -> String {
    let label = evaluation.outcome().label();
    repeats(evaluation).map_or_else(|| label.to_owned(), |repeats| format!("{label} ({repeats})"))
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

/// Writes the report as lines.
pub(crate) fn summary(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = block("Errors", &report.errors);
    let mut broken = Errors::of(report)?;
    report.conversations.iter().outlines().try_for_each_ahead(|conversation| {
        let trace_id = one_line(&conversation.trace_id);
        let _ = match &report.suite {
            Some(_) => writeln!(text, "Test {trace_id}:"),
            None => writeln!(text, "Trace {trace_id} ({} invocations):", conversation.turns),
        };
        failed_turns(&mut text, &conversation);
        for evaluation in &conversation.evaluations {
            let _ = writeln!(
                text,
                "  {} {}: {}",
                evaluation.outcome().mark(),
                one_line(&evaluation.name),
                outcome(evaluation, &mut broken)
            );
        }
        text.push('\n');
        out.write_all(text.as_bytes())?;
        text.clear();
        Ok(())
    })?;
    text += &notes(report);
    out.write_all(text.as_bytes())
}

/// Returns facts about errors that the lines of agentevals do not contain: kinds, and standard error. One paragraph for each
/// evaluator and kind: the number of such errors, and the first one.
pub(crate) fn errors_of_summary(report: &Report) -> io::Result<Vec<String>> {
    let mut found: IndexMap<(String, &'static str), (String, u64)> = IndexMap::new();
    if report.tally().errored == 0 {
        return Ok(Vec::new());
    }
    for conversation in report.conversations.iter().outlines() {
        let conversation = conversation?;
        for evaluation in conversation.evaluations.iter().filter(|it| it.error.is_some()) {
            let first = || {
                let mut text = format!("first in trace {}", one_line(&conversation.trace_id));
                if let Some(file) = &conversation.trace_file {
                    let _ = write!(text, " ({})", one_line(file));
                }
                for line in below(evaluation) {
                    let _ = write!(text, "\n  {line}");
                }
                (text, 0)
            };
            let key = (one_line(&evaluation.name).into_owned(), kind(evaluation));
            found.entry(key).or_insert_with(first).1 += 1;
        }
    }
    let paragraphs = found.into_iter().map(|((name, kind), (first, count))| {
        format!("{name}: {count} of error type {kind}, {first}")
    });
    Ok(paragraphs.collect())
}

fn outcome(evaluation: &EvaluationReport, broken: &mut Errors) -> String {
    let label = evaluation.outcome().label();
    let mut text = match (&evaluation.error, evaluation.shown_score()) {
        (Some(_), _) => match broken.showing(evaluation) {
            Some(Showing::Again) => format!("{label} - {AS_ABOVE}"),
            Some(Showing::First(extent)) => {
                format!("{label} - {}{}", headline(evaluation), extent.suffix())
            }
            None => format!("{label} - {}", headline(evaluation)),
        },
        (None, Some(score)) => {
            let repeats = repeats(evaluation).map(|it| format!(", {it}")).unwrap_or_default();
            format!("{} ({label}{repeats})", score_text(score, evaluation.threshold))
        }
        (None, None) => format!("N/A ({label})"),
    };
    if let Some(reason) = &evaluation.failure_reason {
        let _ = write!(text, " - {reason}");
    }
    if evaluation.duration.is_some() {
        let _ = write!(text, " [{}]", time(evaluation));
    }
    text
}

/// Writes the block below the table of a conversation.
fn conversation_performance(text: &mut String, metrics: &PerformanceMetrics) {
    text.push_str("  Performance Metrics:\n");
    if !metrics.models.is_empty() {
        let _ = writeln!(text, "    Model: {}", one_line(&metrics.models.join(", ")));
    }
    let counts = &metrics.counts;
    let counts = [
        (counts.llm_calls, "LLM calls"),
        (counts.tool_calls, "tool calls"),
        (counts.invocations, "invocations"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| format!("{n} {noun}")).collect();
    if !counts.is_empty() {
        let _ = writeln!(text, "    Counts: {}", counts.join(", "));
    }
    latency(text, "Overall", &metrics.latency.overall);
    latency(text, "LLM", &metrics.latency.llm_calls);
    latency(text, "Tool", &metrics.latency.tool_executions);
    let tokens = &metrics.tokens;
    let cache = match cache(tokens.cache_read_tokens, tokens.cache_creation_tokens) {
        cache if cache.is_empty() => cache,
        cache => format!(" [{cache}]"),
    };
    let (total, prompt, output) = (tokens.total, tokens.total_prompt, tokens.total_output);
    let _ = writeln!(text, "    Tokens: {total} total ({prompt} prompt + {output} output){cache}");
    text.push('\n');
}

/// Writes the block at the end of a report.
fn run_performance(text: &mut String, run: &RunPerformance) {
    let counts = &run.counts;
    text.push_str("Overall Performance:\n");
    let _ = writeln!(
        text,
        "  Traces: {}, LLM Calls: {}, Tool Calls: {}",
        counts.traces, counts.total_llm_calls, counts.total_tool_calls
    );
    if !run.models.is_empty() {
        let _ = writeln!(text, "  Models: {}", one_line(&run.models.join(", ")));
    }
    if let Some(latency) = run.latency.overall_per_trace.filter(|latency| latency.p50 > 0.0) {
        let [p50, p95, p99] = [latency.p50, latency.p95, latency.p99].map(milliseconds);
        let _ = writeln!(text, "  Latency per Trace: p50={p50}, p95={p95}, p99={p99}");
    }
    let tokens = &run.tokens;
    let (total, prompt, output) = (tokens.total, tokens.total_prompt, tokens.total_output);
    let _ = writeln!(text, "  Total Tokens: {total} ({prompt} prompt + {output} output)");
    let per_trace = &tokens.avg_per_trace;
    let _ = writeln!(
        text,
        "  Avg per Trace: {:.0} prompt, {:.0} output",
        per_trace.prompt, per_trace.output
    );
    let cache = cache(tokens.cache_read_tokens, tokens.cache_creation_tokens);
    if !cache.is_empty() {
        let _ = writeln!(text, "  Cache Tokens: {cache}");
    }
    text.push('\n');
}

fn latency(text: &mut String, name: &str, stats: &Stats) {
    if stats.count > 0 {
        let [min, median, max] = [stats.min, stats.median, stats.max].map(milliseconds);
        let _ = writeln!(text, "    {name} Latency: min={min}, median={median}, max={max}");
    }
}

/// Returns the numbers of tokens read from and written to a cache, unless they are zero.
fn cache(read: i64, written: i64) -> String {
    let counts = [(read, "cache read"), (written, "cache write")];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, noun)| format!("{n} {noun}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_cached_is_named() {
        assert_eq!(cache(0, 0), "");
        assert_eq!(cache(6, 0), "6 cache read");
        assert_eq!(cache(0, 5), "5 cache write");
        assert_eq!(cache(6, 5), "6 cache read, 5 cache write");
    }

    #[test]
    fn tokens_are_shown_even_if_there_are_none() {
        let mut text = String::new();
        conversation_performance(&mut text, &PerformanceMetrics::default());
        assert_eq!(text, "  Performance Metrics:\n    Tokens: 0 total (0 prompt + 0 output)\n\n");
    }
}
