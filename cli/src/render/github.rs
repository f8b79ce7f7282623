//! Workflow commands that GitHub shows as annotations.

use std::{fmt::Write as _, io};

use evaluator_host::{report::Report, verdict::Status};

use super::{
    errors::{Errors, Showing, below, headline},
    plain::{line_of, one_line},
    verdict,
    words::{NO_RECORDING, contradictions, failure, kind, reason, unrecorded, with_cause},
};

pub(crate) fn github(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    for (error, cause) in report.errors_with_causes() {
        command(&mut text, "error", "input", &with_cause(error, cause));
    }
    for name in report.missing_scores() {
        command(&mut text, "error", name, verdict::NOTHING_SCORED);
    }
    for warning in &report.warnings {
        command(&mut text, "warning", "run", warning);
    }
    let severity = if report.missing_cases().is_empty() { "warning" } else { "error" };
    for case in unrecorded(report) {
        command(&mut text, severity, "eval set", &format!("{NO_RECORDING}: {case}"));
    }
    for contradiction in contradictions(report)? {
        let title = format!("{} on {}", contradiction.evaluator, contradiction.trace_id);
        command(&mut text, "warning", &title, &contradiction.message());
    }
    let mut broken = Errors::of(report)?;
    for conversation in &report.conversations {
        let conversation = conversation?;
        out.write_all(text.as_bytes())?;
        text.clear();
        for evaluation in &conversation.evaluations {
            let title = format!("{} on {}", evaluation.name, conversation.trace_id);
            match (&evaluation.error, evaluation.status) {
                // It says so once, below: there may be thousands.
                _ if !evaluation.was_run() => {}
                (Some(_), _) => {
                    // GitHub shows few annotations of a step.
                    let Some(Showing::First(extent)) = broken.showing(evaluation) else { continue };
                    let (name, kind) = (&evaluation.name, kind(evaluation));
                    let title = match extent.count {
                        1 => format!("{title} broke ({kind})"),
                        _ => format!("{name} broke ({kind}) in {extent}"),
                    };
                    let mut lines = vec![headline(evaluation)];
                    lines.extend(below(evaluation));
                    command(&mut text, "error", &title, &lines.join("\n"));
                }
                (None, Status::Failed) => command(&mut text, "error", &title, &failure(evaluation)),
                (None, Status::NotEvaluated) => {
                    command(
                        &mut text,
                        "notice",
                        &title,
                        &format!("not evaluated: {}", reason(evaluation)),
                    );
                }
                (None, Status::Passed) => {}
            }
        }
    }
    if let Some(partial) = report.partial {
        command(&mut text, "error", "partial report", &partial.to_string());
    }
    let _ = writeln!(text, "{}", verdict::sentence(report));
    out.write_all(text.as_bytes())
}

fn command(text: &mut String, kind: &str, title: &str, message: &str) {
    // A message ends with its line; a property also at a colon or a comma.
    let message = line_of(message).replace('%', "%25").replace('\n', "%0A");
    let title = one_line(title).replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
    let _ = writeln!(text, "::{kind} title={title}::{message}");
}
