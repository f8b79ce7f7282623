//! Workflow commands that GitHub shows as annotations.

use std::{fmt::Write as _, io};

use evaluator_host::report::{EvaluationOutcome, Report};

use super::{
    errors::{Errors, Showing, below, headline},
    plain::{line_of, one_line},
    verdict,
    words::{
        NO_RECORDING, contradictions, failure, golden_case, kind, reason, unrecorded, with_cause,
    },
};

/// Writes the report as annotations.
pub(crate) fn github(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    for (error, cause) in report.errors_with_causes() {
        command(&mut text, "error", ("input", None), &with_cause(error, cause));
    }
    for name in report.missing_scores() {
        command(&mut text, "error", (name, None), verdict::NOTHING_SCORED);
    }
    for warning in &report.warnings {
        command(&mut text, "warning", ("run", None), warning);
    }
    let severity = if report.missing_cases().is_empty() { "warning" } else { "error" };
    for case in unrecorded(report) {
        command(&mut text, severity, ("eval set", None), &format!("{NO_RECORDING}: {case}"));
    }
    for contradiction in contradictions(report)? {
        let case = golden_case(contradiction.eval_case_id.as_deref());
        let title = format!("{} on {}{case}", contradiction.evaluator, contradiction.trace_id);
        let place = (&*title, contradiction.trace_file.as_deref());
        command(&mut text, "warning", place, &contradiction.message());
    }
    let mut broken = Errors::of(report)?;
    for conversation in report.conversations.iter().without_performance() {
        let conversation = conversation?;
        out.write_all(text.as_bytes())?;
        text.clear();
        let file = conversation.trace_file.as_deref();
        let case = golden_case(conversation.eval_case_id.as_deref());
        for evaluation in &conversation.evaluations {
            let title = format!("{} on {}{case}", evaluation.name, conversation.trace_id);
            match evaluation.outcome() {
                EvaluationOutcome::Error => {
                    // GitHub shows few annotations of a step.
                    let Some(Showing::First(extent)) = broken.showing(evaluation) else { continue };
                    let (name, kind) = (&evaluation.name, kind(evaluation));
                    let title = match extent.count {
                        1 => format!("{title} broke ({kind})"),
                        _ => format!("{name} broke ({kind}) in {extent}"),
                    };
                    let mut lines = vec![headline(evaluation)];
                    lines.extend(below(evaluation));
                    command(&mut text, "error", (&title, file), &lines.join("\n"));
                }
                EvaluationOutcome::Failed => {
                    command(&mut text, "error", (&title, file), &failure(evaluation));
                }
                EvaluationOutcome::NotEvaluated => {
                    let reason = format!("not evaluated: {}", reason(evaluation));
                    command(&mut text, "notice", (&title, file), &reason);
                }
                // The last line counts evaluations that were not run: there may be thousands.
                _ => {}
            }
        }
    }
    if let Some(partial) = report.partial {
        command(&mut text, "error", ("partial report", None), &partial.to_string());
    }
    out.write_all(text.as_bytes())
}

/// Appends an annotation with a title and, if known, a file.
pub(super) fn command(
    text: &mut String,
    kind: &str,
    (title, file): (&str, Option<&str>),
    message: &str,
) {
    // A line feed ends a message; a colon or a comma also ends a property.
    let message = line_of(message).replace('%', "%25").replace('\n', "%0A");
    let property =
        |text| one_line(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
    let file = file.map(|file| format!("file={},", property(file))).unwrap_or_default();
    let _ = writeln!(text, "::{kind} {file}title={}::{message}", property(title));
}
