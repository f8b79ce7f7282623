//! The report as a line per metric.

use std::{fmt::Write as _, io};

use indexmap::IndexMap;

use evaluator_host::report::{EvaluationReport, Report};

use super::{
    errors::{AS_ABOVE, Errors, Showing, below, headline},
    plain::one_line,
    table::{notes, run_errors},
    words::{kind, score_text, time},
};

/// Writes the report as lines.
pub(crate) fn summary(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = run_errors(report);
    let mut broken = Errors::of(report)?;
    for conversation in &report.conversations {
        let conversation = conversation?;
        let trace_id = one_line(&conversation.trace_id);
        let _ = writeln!(text, "Trace {trace_id} ({} invocations):", conversation.turns);
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
    }
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
    for conversation in &report.conversations {
        let conversation = conversation?;
        for evaluation in conversation.evaluations.iter().filter(|it| it.error.is_some()) {
            let first = || {
                let mut text = format!("first in trace {}", one_line(&conversation.trace_id));
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
            format!("{} ({label})", score_text(score, evaluation.threshold))
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
