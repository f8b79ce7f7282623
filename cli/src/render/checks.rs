//! Reports of `evaluator conform` and `evaluator validate`, as text and as JSON.

use std::{ffi::OsString, fmt::Write as _};

use evaluator_host::hosts::conform::{
    CaseReport, Conformance, HostReport, Outcome, Recorded, Release, Standing,
};
use evaluator_publish::validate::{self, Check, CheckKind, Finding, Validation};
use serde_json::{Value, json};

use super::{
    config_error,
    words::{counted, cut},
};

/// Width of the columns with the name of a case and the behavior of the program.
const NAME: usize = 26;
const BEHAVIOR: usize = 10;

/// Maximum number of characters of a message.
const MESSAGE: usize = 140;

/// Renders a line for each case of each host.
pub(crate) fn conformance_text(conformance: &Conformance, asked: &[&'static Release]) -> String {
    let mut text = String::new();
    for report in &conformance.hosts {
        let standing = match report.standing() {
            Standing::Conforms => "conforms",
            Standing::DoesNotConform => "DOES NOT CONFORM",
            Standing::NotAnswered => "answers none of its documents",
        };
        let _ = writeln!(text, "{}: {standing}", report.release);
        // One case is enough for a host that the program is not written for, unless `--host` names it.
        let is_short =
            report.standing() == Standing::NotAnswered && !asked.contains(&report.release);
        let shown = if is_short { 1 } else { report.cases.len() };
        report.cases.iter().take(shown).for_each(|case| case_lines(&mut text, case));
        for note in notes(report) {
            let _ = writeln!(text, "  note: {note}");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{}: {} it conforms to, {} it does not, {} whose documents it does not answer",
        counted(conformance.hosts.len() as u64, "release"),
        conformance.count(Standing::Conforms),
        conformance.count(Standing::DoesNotConform),
        conformance.count(Standing::NotAnswered)
    );
    text
}

/// Returns remarks that are not problems.
fn notes(report: &HostReport) -> Vec<&'static str> {
    let never = "it answers NOT_EVALUATED to every document that it answers, so no score of it was tested; settings that it \
                 needs are given with --config";
    report.evaluates_nothing().then_some(never).into_iter().collect()
}

fn case_lines(text: &mut String, case: &CaseReport) {
    let behavior = case.behavior.to_string().replace('_', " ");
    let mark = if case.problem.is_some() { "!" } else { " " };
    let recorded = case.recorded.as_ref().map(recorded_text).unwrap_or_default();
    let line = format!("{mark} {:NAME$}  {behavior:BEHAVIOR$}  {recorded}", case.name);
    let _ = writeln!(text, "{}", line.trim_end());
    if let Some(problem) = &case.problem {
        let _ = writeln!(text, "    {}", last_line(problem));
    }
}

/// Renders a record in one line: outcome, score, status, number of rows, message.
fn recorded_text(recorded: &Recorded) -> String {
    let mut parts = vec![outcome(recorded.outcome).to_owned()];
    if let Some(score) = recorded.score {
        parts.push(format!("score {score}"));
    }
    if let Some(status) = recorded.status {
        parts.push(status.to_owned());
    }
    if !recorded.rows.is_empty() {
        parts.push(counted(recorded.rows.len() as u64, "row"));
    }
    let message = recorded.message.as_ref().map(|message| format!(": {}", last_line(message)));
    parts.join(", ") + &message.unwrap_or_default()
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Recorded => "recorded",
        Outcome::Lost => "LOST",
        Outcome::Error => "an error",
        Outcome::LooksFailed => "an error that is a failure",
        Outcome::LooksPassed => "SHOWN AS PASS",
        Outcome::HostDies => "THE HOST MAY DIE",
    }
}

/// Returns the last line of a message, which is where a traceback has its message.
fn last_line(message: &str) -> String {
    let line = message.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    cut(line, MESSAGE).into_owned()
}

/// Renders the whole report as JSON.
pub(crate) fn conformance_json(
    command: &[OsString],
    conformance: &Conformance,
    asked: &[&'static Release],
) -> String {
    let words: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let hosts: Vec<Value> =
        conformance.hosts.iter().map(|report| host_json(report, asked)).collect();
    let document = json!({
        "command": words,
        "conforms": conformance.holds_for(asked),
        "hosts": hosts,
        "summary": {
            "conforms": conformance.count(Standing::Conforms),
            "does_not_conform": conformance.count(Standing::DoesNotConform),
            "not_answered": conformance.count(Standing::NotAnswered),
            "total": conformance.hosts.len(),
        },
    });
    format!("{document:#}\n")
}

fn host_json(report: &HostReport, asked: &[&'static Release]) -> Value {
    json!({
        "host": report.release.name,
        "system": report.release.host,
        "title": report.release.title,
        "standing": report.standing(),
        "counts": report.counts(asked),
        "cases": report.cases,
        "notes": notes(report),
    })
}

/// Width of the columns with the outcome and the name of a check.
const OUTCOME: usize = 7;
const CHECK: usize = 13;

/// Renders a line for each check of each evaluator, its problems, and the number of valid evaluators.
pub(crate) fn validation_text(validations: &[Validation]) -> String {
    let mut text = String::new();
    for validation in validations {
        let _ = writeln!(text, "{} ({})", validation.name, validation.directory.display());
        for check in &validation.checks {
            check_lines(&mut text, check, validation);
        }
        for note in &validation.notes {
            let _ = writeln!(text, "  {:OUTCOME$}  {note}", "note");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} valid, {} not valid, {} not wholly checked, {} in all",
        count(validations, validate::Standing::Valid),
        count(validations, validate::Standing::Invalid),
        count(validations, validate::Standing::Incomplete),
        validations.len()
    );
    text
}

fn check_lines(text: &mut String, check: &Check, validation: &Validation) {
    let name = check.kind.to_string().replace('_', " ");
    let mut line = |outcome: &str, detail: &str| {
        let line = format!("  {outcome:OUTCOME$}  {name:CHECK$}  {detail}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    match &check.finding {
        Finding::Ok { detail } => line("ok", detail),
        Finding::Skipped { reason } => line("skipped", reason),
        Finding::Failed { problems } => {
            let shown = match (&validation.manifest_error, check.kind) {
                (Some(error), CheckKind::Manifest) => vec![config_error::text(error)],
                _ => problems.clone(),
            };
            match shown.as_slice() {
                [problem] if !problem.contains('\n') => line("failed", problem),
                _ => {
                    line("failed", "");
                    for problem in shown {
                        for part in problem.lines() {
                            let _ = writeln!(text, "{}", format!("    {part}").trim_end());
                        }
                    }
                }
            }
        }
    }
}

/// Renders the report as JSON.
pub(crate) fn validation_json(validations: &[Validation]) -> String {
    let evaluators: Vec<Value> = validations
        .iter()
        .map(|validation| {
            json!({
                "name": validation.name,
                "directory": validation.directory.to_string_lossy(),
                "standing": validation.standing(),
                "checks": validation.checks,
                "notes": validation.notes,
            })
        })
        .collect();
    let document = json!({
        "evaluators": evaluators,
        "summary": {
            "valid": count(validations, validate::Standing::Valid),
            "invalid": count(validations, validate::Standing::Invalid),
            "incomplete": count(validations, validate::Standing::Incomplete),
            "total": validations.len(),
        },
    });
    format!("{document:#}\n")
}

fn count(validations: &[Validation], standing: validate::Standing) -> usize {
    validations.iter().filter(|validation| validation.standing() == standing).count()
}
