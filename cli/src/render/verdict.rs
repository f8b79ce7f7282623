//! The last line of a run, on stderr: what it amounts to, with all denominators.

use evaluator_host::{report::Report, verdict::Standing};

use super::{line, paint::for_stderr};

pub(crate) fn verdict(report: &Report) {
    line(&for_stderr(&text(report)));
}

fn text(report: &Report) -> String {
    let tally = report.tally();
    let word = match tally.standing() {
        _ if !report.errors.is_empty() => "ERROR",
        Standing::Errored => "ERROR",
        Standing::Failed => "FAILED",
        Standing::Passed if tally.scored() == 0 => "NOTHING EVALUATED",
        Standing::Passed => "PASSED",
    };
    let mut text = format!(
        "{word}: {} passed, {} failed, {} errored, {} not evaluated ({} evaluations in {} conversations)",
        tally.passed,
        tally.failed,
        tally.errored,
        tally.not_evaluated,
        tally.total(),
        report.conversations.len()
    );
    match report.errors.len() {
        0 => {}
        1 => text.push_str("; 1 input could not be used"),
        n => text.push_str(&format!("; {n} errors outside of any conversation")),
    }
    text
}
