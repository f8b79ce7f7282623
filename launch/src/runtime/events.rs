//! Events and errors of the preparation of evaluators.

use std::path::PathBuf;

/// An event of the preparation of evaluators, for progress messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareEvent {
    /// A build or an installation started, for one evaluator or several.
    Started {
        /// Action, e.g. `building 3 Rust evaluators`.
        what: String,
    },
    /// A line of progress, e.g. `Compiling serde v1.0.229`.
    Progress {
        /// The line, without its line end.
        line: String,
    },
    /// A message of a compiler or installer that is shown as it is (rendered diagnostics).
    Diagnostic {
        /// The text, possibly of several lines, possibly with terminal colours.
        rendered: String,
    },
    /// The work ended.
    Finished {
        /// Action and its duration.
        what: String,
    },
}

/// Reason why an evaluator is not prepared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The file does not exist (or is not a file).
    #[error("evaluator file not found: {}", .path.display())]
    NotFound {
        /// Absolute path.
        path: PathBuf,
    },
    /// No runtime is registered for the extension, and the file is not executable.
    #[error(
        "no runtime for {} (known extensions: {}); a file of any other kind must be executable",
        .path.display(),
        .known.join(", ")
    )]
    UnknownExtension {
        /// The path as given.
        path: PathBuf,
        /// Extensions of all registered runtimes.
        known: Vec<String>,
    },
    /// The runtime is not available on this machine.
    #[error("runtime not available: {reason}")]
    RuntimeMissing {
        /// Missing program and one hint.
        reason: String,
    },
    /// The evaluator does not compile.
    #[error("{summary}")]
    BuildFailed {
        /// One line.
        summary: String,
        /// Message of the compiler.
        rendered: String,
    },
    /// A dependency cannot be installed.
    #[error("Dependency installation failed: {reason}")]
    InstallFailed {
        /// Failed step, the end of the installer's output, and one hint; several lines.
        reason: String,
    },
    /// The evaluator brings no tests.
    #[error("no test of {}: {hint}", .path.display())]
    NoTests {
        /// The path as given.
        path: PathBuf,
        /// Where tests are looked for, or why none can be run.
        hint: String,
    },
    /// The file, package or manifest cannot be used.
    #[error("{reason}")]
    Unusable {
        /// Names the file and gives one hint.
        reason: String,
    },
}

impl PrepareError {
    /// [`PrepareError::Unusable`].
    pub fn unusable(reason: impl Into<String>) -> Self {
        Self::Unusable { reason: reason.into() }
    }

    /// [`PrepareError::RuntimeMissing`].
    pub fn runtime_missing(reason: impl Into<String>) -> Self {
        Self::RuntimeMissing { reason: reason.into() }
    }
}
