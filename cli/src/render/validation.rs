//! Renders reports of validations.

use std::fmt::Write as _;

use evaluator_host::validate::{Check, CheckKind, Finding, Standing, Validation};
use serde_json::{Value, json};

use super::config_error;

/// Width of the columns with the outcome and the name of a check.
const OUTCOME: usize = 7;
const NAME: usize = 13;

/// Renders a line for each check of each evaluator, its problems, and the number of valid evaluators.
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
    let _ = writeln!(
        text,
        "{} valid, {} not valid, {} not wholly checked, {} in all",
        count(validations, Standing::Valid),
        count(validations, Standing::Invalid),
        count(validations, Standing::Incomplete),
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

/// Renders the report as JSON.
pub(crate) fn validation_json(validations: &[Validation]) -> String {
    let evaluators: Vec<Value> = validations
        .iter()
        .map(|validation| {
            json!({
                "name": validation.name,
                "folder": validation.folder.to_string_lossy(),
                "standing": validation.standing(),
                "checks": validation.checks,
                "notes": validation.notes,
            })
        })
        .collect();
    let document = json!({
        "evaluators": evaluators,
        "summary": {
            "valid": count(validations, Standing::Valid),
            "invalid": count(validations, Standing::Invalid),
            "incomplete": count(validations, Standing::Incomplete),
            "total": validations.len(),
        },
    });
    format!("{document:#}\n")
}

fn count(validations: &[Validation], standing: Standing) -> usize {
    validations.iter().filter(|validation| validation.standing() == standing).count()
}
