//! What the checks of evaluators found.

use std::fmt::Write as _;

use evaluator_host::validate::{Check, CheckKind, Finding, Standing, Validation};
use serde_json::{Value, json};

use super::config_error;

/// Columns that a check's outcome and name take.
const OUTCOME: usize = 7;
const NAME: usize = 13;

/// A line per check of each evaluator, what is wrong below it, and how many are valid.
pub(crate) fn validation_text(validations: &[Validation]) -> String {
    let mut text = String::new();
    for validation in validations {
        let _ = writeln!(text, "{} ({})", validation.name, validation.folder.display());
        for check in &validation.checks {
            check_lines(&mut text, check, validation);
        }
        for note in &validation.notes {
            let _ = writeln!(text, "  {:OUTCOME$}  {note}", "note");
        }
        text.push('\n');
    }
    let count = |standing| {
        validations.iter().filter(|validation| validation.standing() == standing).count()
    };
    let _ = writeln!(
        text,
        "{} valid, {} not valid, {} not wholly checked, {} in all",
        count(Standing::Valid),
        count(Standing::Invalid),
        count(Standing::Incomplete),
        validations.len()
    );
    text
}

fn check_lines(text: &mut String, check: &Check, validation: &Validation) {
    let name = check.kind.as_str().replace('_', " ");
    let mut line = |outcome: &str, detail: &str| {
        let line = format!("  {outcome:OUTCOME$}  {name:NAME$}  {detail}");
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

/// The same for programs.
pub(crate) fn validation_json(validations: &[Validation]) -> String {
    let evaluators: Vec<Value> = validations
        .iter()
        .map(|validation| {
            let checks: Vec<Value> = validation.checks.iter().map(check_json).collect();
            json!({
                "name": validation.name,
                "folder": validation.folder.to_string_lossy(),
                "standing": validation.standing().as_str(),
                "checks": checks,
                "notes": validation.notes,
            })
        })
        .collect();
    let count = |standing| {
        validations.iter().filter(|validation| validation.standing() == standing).count()
    };
    let document = json!({
        "evaluators": evaluators,
        "summary": {
            "valid": count(Standing::Valid),
            "invalid": count(Standing::Invalid),
            "incomplete": count(Standing::Incomplete),
            "total": validations.len(),
        },
    });
    format!("{document:#}\n")
}

fn check_json(check: &Check) -> Value {
    let name = check.kind.as_str();
    match &check.finding {
        Finding::Ok { detail } => json!({"check": name, "outcome": "ok", "detail": detail}),
        Finding::Failed { problems } => {
            json!({"check": name, "outcome": "failed", "problems": problems})
        }
        Finding::Skipped { reason } => {
            json!({"check": name, "outcome": "skipped", "reason": reason})
        }
    }
}
