//! What was found out about evaluators.

use std::path::PathBuf;

use crate::config::ConfigError;

/// All checks of one evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Validation {
    /// What its manifest calls it; what its folder is called if the manifest cannot be read.
    pub name: String,
    /// Its folder, as it was given.
    pub folder: PathBuf,
    /// What is wrong with its manifest, with the text around it; the first check says the same in lines.
    pub manifest_error: Option<ConfigError>,
    /// In the order in which they build upon each other.
    pub checks: Vec<Check>,
    /// What is no mistake, but good to know before it is published.
    pub notes: Vec<String>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// What was looked at.
    pub kind: CheckKind,
    /// What was found.
    pub finding: Finding,
}

/// What a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckKind {
    /// `evaluator.yaml`.
    Manifest,
    /// The files of the folder.
    Files,
    /// The form that evaluators in this language have.
    Structure,
    /// Whether the sources can be read, or compiled.
    Syntax,
    /// Whether it runs, on documents of several kinds.
    SmokeRun,
    /// Whether what it answers is a result.
    ResultSchema,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// All is well.
    Ok {
        /// What was looked at.
        detail: String,
    },
    /// The evaluator is not valid.
    Failed {
        /// What is wrong, at least one thing; each possibly several lines.
        problems: Vec<String>,
    },
    /// The check could not be done. That says nothing good of the evaluator.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// What the checks of an evaluator amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Every check was done, and all is well.
    Valid,
    /// Something is wrong.
    Invalid,
    /// Nothing is known to be wrong, but a check could not be done.
    Incomplete,
}

impl CheckKind {
    /// A stable name, e.g. `smoke_run`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Files => "files",
            Self::Structure => "structure",
            Self::Syntax => "syntax",
            Self::SmokeRun => "smoke_run",
            Self::ResultSchema => "result_schema",
        }
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

impl Standing {
    /// A stable name, e.g. `invalid`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Incomplete => "incomplete",
        }
    }
}

impl Validation {
    /// What the checks amount to. A skipped check is never green.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let any = |is: fn(&Finding) -> bool| self.checks.iter().any(|check| is(&check.finding));
        // The last check; without it nobody has seen an answer, for whatever reason.
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
