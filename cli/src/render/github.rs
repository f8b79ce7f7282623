//! Workflow commands that GitHub shows as annotations.

use std::{fmt::Write as _, io};

use evaluator_host::{report::Report, verdict::Status};

use super::{
    verdict,
    words::{contradictions, error_in_full, failure, kind, reason, with_cause},
};

pub(crate) fn github(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::new();
    for (error, cause) in report.errors_with_causes() {
        command(&mut text, "error", "input", &with_cause(error, cause));
    }
    for warning in &report.warnings {
        command(&mut text, "warning", "input", warning);
    }
    for name in report.missing_scores() {
        command(&mut text, "error", name, verdict::NOTHING_SCORED);
    }
    for contradiction in contradictions(report)? {
        let title = format!("{} on {}", contradiction.evaluator, contradiction.trace_id);
        command(&mut text, "warning", &title, &contradiction.message());
    }
    for conversation in &report.conversations {
        let conversation = conversation?;
        out.write_all(text.as_bytes())?;
        text.clear();
        for evaluation in &conversation.evaluations {
            let title = format!("{} on {}", evaluation.name, conversation.trace_id);
            match (&evaluation.error, evaluation.status) {
                // It says so once, below: there may be thousands.
                _ if !evaluation.was_run() => {}
                (Some(error), _) => {
                    let title = format!("{title} broke ({})", kind(evaluation));
                    let error = error_in_full(evaluation).unwrap_or_else(|| error.clone());
                    command(&mut text, "error", &title, &error);
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
    let message = message.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = title
        .replace('%', "%25")
        .replace(['\r', '\n'], " ")
        .replace(':', "%3A")
        .replace(',', "%2C");
    let _ = writeln!(text, "::{kind} title={title}::{message}");
}
