//! A line per metric.

use std::{fmt::Write as _, io};

use indexmap::IndexMap;

use evaluator_host::report::{EvaluationReport, Report};

use super::{
    duration::milliseconds,
    table::{errors, notes},
    words::{kind, stderr_beside},
};

pub(crate) fn summary(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = errors(report);
    for conversation in &report.conversations {
        let conversation = conversation?;
        let _ =
            writeln!(text, "Trace {} ({} invocations):", conversation.trace_id, conversation.turns);
        for evaluation in &conversation.evaluations {
            let _ = writeln!(
                text,
                "  {} {}: {}",
                evaluation.outcome().mark(),
                evaluation.name,
                outcome(evaluation)
            );
        }
        text.push('\n');
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    text += &notes(report);
    out.write_all(text.as_bytes())
}

/// What the lines do not tell of errors, as others know these lines: of what kind they are, and what the evaluator wrote to
/// standard error. One paragraph for each evaluator and kind: the first such error, and how many more there are.
pub(crate) fn errors_of_summary(report: &Report) -> io::Result<Vec<String>> {
    let mut found: IndexMap<(String, &'static str), (String, u64)> = IndexMap::new();
    if report.tally().errored == 0 {
        return Ok(Vec::new());
    }
    for conversation in &report.conversations {
        let conversation = conversation?;
        for evaluation in conversation.evaluations.iter().filter(|it| it.error.is_some()) {
            let first = || {
                let mut text = format!("first in trace {}", conversation.trace_id);
                for line in stderr_beside(evaluation).into_iter().flatten() {
                    let _ = write!(text, "\n  stderr: {line}");
                }
                (text, 0)
            };
            let key = (evaluation.name.clone(), kind(evaluation));
            found.entry(key).or_insert_with(first).1 += 1;
        }
    }
    let paragraphs = found.into_iter().map(|((name, kind), (first, count))| {
        format!("{name}: {count} of error type {kind}, {first}")
    });
    Ok(paragraphs.collect())
}

fn outcome(evaluation: &EvaluationReport) -> String {
    let label = evaluation.outcome().label();
    let mut text = match (&evaluation.error, evaluation.shown_score()) {
        (Some(error), _) => format!("{label} - {error}"),
        (None, Some(score)) => format!("{score:.4} ({label})"),
        (None, None) => format!("N/A ({label})"),
    };
    if let Some(reason) = &evaluation.failure_reason {
        let _ = write!(text, " - {reason}");
    }
    if let Some(duration) = evaluation.duration {
        let _ = write!(text, " [{}]", milliseconds(duration.as_secs_f64() * 1000.0));
    }
    text
}
