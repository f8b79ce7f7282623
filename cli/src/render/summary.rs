//! A line per metric.

use std::{fmt::Write as _, io};

use evaluator_host::report::{EvaluationReport, Report};

use super::{
    duration::milliseconds,
    icon,
    table::errors,
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
                icon(evaluation.status),
                evaluation.name,
                outcome(evaluation)
            );
            // Below the line, which is as others know it.
            if evaluation.error.is_some() {
                let _ = writeln!(text, "      error type: {}", kind(evaluation));
            }
            for line in stderr_beside(evaluation).into_iter().flatten() {
                let _ = writeln!(text, "      stderr: {line}");
            }
        }
        text.push('\n');
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    out.write_all(text.as_bytes())
}

fn outcome(evaluation: &EvaluationReport) -> String {
    let mut text = match (&evaluation.error, evaluation.score) {
        (Some(error), _) => format!("ERROR - {error}"),
        (None, Some(score)) => format!("{score:.4} ({})", evaluation.status.as_str()),
        (None, None) => format!("N/A ({})", evaluation.status.as_str()),
    };
    if let Some(duration) = evaluation.duration {
        let _ = write!(text, " [{}]", milliseconds(duration.as_secs_f64() * 1000.0));
    }
    text
}
