//! Workflow commands that GitHub shows as annotations.

use std::{fmt::Write as _, io};

use evaluator_host::{
    report::{EvaluationOutcome, EvaluationReport, NotEvaluated, Report, Verdict as GateVerdict},
    verdict::Verdict,
};

use super::{
    errors::{Errors, Showing, below, headline},
    plain::{line_of, one_line},
    words::{NO_RECORDING, counted, failure, golden_case, kind, unrecorded, with_cause},
};

/// Writes the report as annotations. GitHub shows few of them, so broken evaluators come before failures, and equal errors and
/// reasons are one annotation. The last line counts evaluations that were not run: there may be thousands.
pub(crate) fn github(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    for (error, cause) in report.errors_with_causes() {
        command(&mut text, "error", ("input", None), &with_cause(error, cause));
    }
    if let Some(partial) = report.partial {
        command(&mut text, "error", ("partial report", None), &partial.to_string());
    }
    for missing in report.missing_scores() {
        command(&mut text, "error", (missing.scores.name, None), &missing.to_string());
    }
    for gate in report.decide_gates()? {
        let kind = match gate.verdict {
            GateVerdict::Pass => continue,
            GateVerdict::Fail => "error",
            GateVerdict::Inconclusive => "warning",
        };
        command(&mut text, kind, ("gate", None), &gate.to_string());
    }
    out.write_all(text.as_bytes())?;
    let mut broken = Errors::of(report)?;
    each(report, EvaluationOutcome::Error, out, |text, evaluation, (title, file)| {
        let Some(Showing::First(extent)) = broken.showing(evaluation) else { return };
        let ended = match evaluation.error_type {
            // The evaluator is not to blame.
            cancelled if cancelled == Verdict::Cancelled.error_type() => "not finished".to_owned(),
            _ => format!("broke ({})", kind(evaluation)),
        };
        let title = match extent.count {
            1 => format!("{title} {ended}"),
            _ => format!("{} {ended} in {extent}", evaluation.name),
        };
        let mut lines = vec![headline(evaluation)];
        lines.extend(below(evaluation));
        command(text, "error", (&title, file), &lines.join("\n"));
    })?;
    if report.tally().failed > 0 {
        each(report, EvaluationOutcome::Failed, out, |text, evaluation, place| {
            let kind = if report.is_gated(&evaluation.name) { "notice" } else { "error" };
            command(text, kind, place, &failure(evaluation));
        })?;
    }
    out.write_all(remarks(report)?.as_bytes())
}

/// Appends annotations of the evaluations with an outcome. The function gets the title and the file of each.
fn each(
    report: &Report,
    outcome: EvaluationOutcome,
    out: &mut dyn io::Write,
    mut annotate: impl FnMut(&mut String, &EvaluationReport, (&str, Option<&str>)),
) -> io::Result<()> {
    let mut text = String::new();
    for conversation in report.conversations.iter().without_performance() {
        let conversation = conversation?;
        let file = conversation.trace_file.as_deref();
        let case = golden_case(conversation.eval_case_id.as_deref());
        for evaluation in conversation.evaluations.iter().filter(|it| it.outcome() == outcome) {
            let title = format!("{} on {}{case}", evaluation.name, conversation.trace_id);
            annotate(&mut text, evaluation, (&title, file));
        }
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    Ok(())
}

/// Returns warnings and notices.
fn remarks(report: &Report) -> io::Result<String> {
    let mut text = String::new();
    for warning in &report.warnings {
        command(&mut text, "warning", ("run", None), warning);
    }
    let severity = if report.missing_cases().is_empty() { "warning" } else { "error" };
    for case in unrecorded(report) {
        command(&mut text, severity, ("eval set", None), &format!("{NO_RECORDING}: {case}"));
    }
    for contradiction in report.contradictions()? {
        let case = golden_case(contradiction.eval_case_id.as_deref());
        let title = format!("{} on {}{case}", contradiction.evaluator, contradiction.trace_id);
        let place = (&*title, contradiction.trace_file.as_deref());
        command(&mut text, "warning", place, &contradiction.message());
    }
    for NotEvaluated { evaluator, reasons, others, .. } in report.conversations.not_evaluated()? {
        let mut notice = |count: u64, reason: &str| {
            let title = format!("{evaluator} on {}", counted(count, "conversation"));
            command(&mut text, "notice", (&title, None), &format!("not evaluated: {reason}"));
        };
        reasons.iter().for_each(|(reason, count)| notice(*count, reason));
        if others > 0 {
            notice(others, "other reasons");
        }
    }
    Ok(text)
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
