//! The last lines of a run, on stderr: what it amounts to, with all denominators.

use std::fmt::Write as _;

use evaluator_host::{
    json::Value,
    report::{EvaluationReport, Report},
    verdict::{Balance, Standing, Status},
};

use super::{line, words::contradictions};

/// `verbose`: contradictions were told one by one.
pub(crate) fn verdict(report: &Report, verbose: bool) {
    line(&text(report, verbose));
}

fn text(report: &Report, verbose: bool) -> String {
    let mut text = String::new();
    for contradiction in contradictions(report).iter().filter(|_| !verbose) {
        let _ = writeln!(text, "warning: {}", contradiction.sentence());
    }
    text += &not_evaluated(report);
    for name in report.missing_scores() {
        let _ = writeln!(text, "{name}: {NOTHING_SCORED}");
    }
    text + &sentence(report)
}

/// What is wrong with an evaluator that has to score something and does not.
pub(super) const NOTHING_SCORED: &str =
    "scored no conversation, and every evaluator has to score one";

/// The outcome in a word, and the counts.
pub(crate) fn sentence(report: &Report) -> String {
    let balance = report.balance();
    let tally = balance.tally;
    let word = match balance.standing() {
        Standing::Errored => "ERROR",
        Standing::Failed => "FAILED",
        Standing::Passed if tally.scored() == 0 => "NOTHING EVALUATED",
        Standing::Passed => "PASSED",
    };
    let not_run = match tally.not_run {
        0 => String::new(),
        count => format!(", {count} not run"),
    };
    let mut text = format!(
        "{word}: {} passed, {} failed, {} errored, {} not evaluated{not_run} ({} in {}), {} scored of {} in total",
        tally.passed,
        tally.failed,
        tally.errored,
        tally.not_evaluated,
        counted(tally.total(), "evaluation"),
        counted(report.conversations.len() as u64, "conversation"),
        tally.scored(),
        tally.total(),
    );
    if !report.errors.is_empty() {
        let errors = counted(report.errors.len() as u64, "error");
        let _ = write!(text, "; {errors} outside of any conversation");
    }
    text += &tolerance(&balance);
    if let Some(partial) = report.partial {
        let _ = write!(text, "; partial: {partial}");
    }
    text
}

/// What was made of the errors, where some may be tolerated.
fn tolerance(balance: &Balance) -> String {
    if balance.max_error_rate <= 0.0 || balance.errors() == 0 {
        return String::new();
    }
    let errors = counted(balance.errors(), "error");
    let (share, most) = (balance.error_rate(), balance.max_error_rate);
    let share = format!("a share of {share:.4}, and up to {most} is tolerated");
    if balance.tolerates_errors() {
        format!("; {errors} tolerated ({share})")
    } else {
        let why = if balance.partial {
            "the run is partial"
        } else if balance.unusable_eval_set {
            "the eval set could not be used"
        } else if balance.unwritten_journal {
            "the journal could not be written"
        } else if balance.tally.scored() == 0 {
            "nothing was scored"
        } else {
            "they are too many"
        };
        format!("; {errors} not tolerated, because {why} ({share})")
    }
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Why metrics did not evaluate, a line for each metric and reason.
fn not_evaluated(report: &Report) -> String {
    let mut reasons: Vec<(&str, &str, u64)> = Vec::new();
    for evaluation in report.evaluations() {
        let Some(reason) = reason(evaluation) else { continue };
        match reasons.iter_mut().find(|(name, why, _)| *name == evaluation.name && *why == reason) {
            Some((_, _, count)) => *count += 1,
            None => reasons.push((&evaluation.name, reason, 1)),
        }
    }
    reasons.into_iter().fold(String::new(), |mut text, (name, reason, count)| {
        let conversations = counted(count, "conversation");
        let _ = writeln!(text, "{name}: {conversations} not evaluated: {reason}");
        text
    })
}

fn reason(evaluation: &EvaluationReport) -> Option<&str> {
    let details = evaluation
        .details
        .as_ref()
        .filter(|_| evaluation.error.is_none() && evaluation.status == Status::NotEvaluated)?;
    details.get("reason").and_then(Value::as_str)
}
