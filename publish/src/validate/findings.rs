//! Reports of validations.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::config::ConfigError;

/// Report of one evaluator.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Name in its manifest; the name of its directory if the manifest cannot be read.
    pub name: String,
    /// Its directory, as it was given.
    pub directory: PathBuf,
    /// Problems of its manifest, with its text; the first check has the same problems as lines.
    pub manifest_error: Option<ConfigError>,
    /// Checks in order of their dependencies.
    pub checks: Vec<Check>,
    /// Remarks that are not problems.
    pub notes: Vec<String>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Subject of the check.
    #[serde(rename = "check")]
    pub kind: CheckKind,
    /// Result.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// `evaluator.yaml`.
    Manifest,
    /// Files of the directory.
    Files,
    /// Structure of evaluators in this language.
    Structure,
    /// Syntax of the sources; for compiled languages, whether they compile.
    Syntax,
    /// Whether the evaluator runs with documents of several kinds.
    SmokeRun,
    /// Whether its answers are results.
    ResultSchema,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Finding {
    /// No problem was found.
    Ok {
        /// Subject of the check.
        detail: String,
    },
    /// The evaluator is not valid.
    Failed {
        /// Problems, at least one; each may have several lines.
        problems: Vec<String>,
    },
    /// The check was not possible. The evaluator does not count as valid.
    Skipped {
        /// Reason.
        reason: String,
    },
}

/// Result of all checks of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// No check was skipped or failed.
    Valid,
    /// A check failed.
    Invalid,
    /// No check failed, but one was skipped.
    Incomplete,
}

impl fmt::Display for CheckKind {
    /// Writes the name in reports, e.g. `smoke_run`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Finding {
    pub(super) fn ok(detail: impl Into<String>) -> Self {
        Self::Ok { detail: detail.into() }
    }

    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self::Failed { problems: vec![problem.into()] }
    }

    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped { reason: reason.into() }
    }
}

impl Validation {
    pub(super) fn new(name: String, directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { name, directory, manifest_error: None, checks: Vec::new(), notes: Vec::new() }
    }

    /// Returns the result of all checks.
    pub fn standing(&self) -> Standing {
        let any = |is: fn(&Finding) -> bool| self.checks.iter().any(|check| is(&check.finding));
        // The last check; without it no answer was checked.
        let judged = self.checks.iter().any(|check| check.kind == CheckKind::ResultSchema);
        if any(|finding| matches!(finding, Finding::Failed { .. })) {
            Standing::Invalid
        } else if !judged || any(|finding| matches!(finding, Finding::Skipped { .. })) {
            Standing::Incomplete
        } else {
            Standing::Valid
        }
    }

    pub(super) fn add(&mut self, kind: CheckKind, finding: Finding) {
        self.checks.push(Check { kind, finding });
    }
}
