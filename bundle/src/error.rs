//! Errors of bundles.

use std::{io, path::Path};

/// Reason why there is no bundle, or why it cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Something cannot be in a bundle. Each is named.
    #[error("this cannot be in a bundle:\n{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// An evaluator cannot be prepared on this machine.
    #[error("{0}")]
    Unprepared(String),
    /// The bundle does not fit this machine or program.
    #[error("{0}")]
    Misfit(String),
    /// A run of the bundle would differ from one without it.
    #[error("a run of the bundle would differ from one of the configuration: {0}")]
    Differs(String),
    /// A file cannot be read or written.
    #[error("cannot {action}: {source}")]
    Disk {
        /// Action and file.
        action: String,
        /// Error of the system.
        source: io::Error,
    },
}

impl BundleError {
    /// Returns true if the input is the reason, and not this machine.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Unprepared(_) | Self::Misfit(_))
    }

    /// Converts an error of the system.
    pub(crate) fn disk(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let action = format!("{verb} {}", path.display());
        |source| Self::Disk { action, source }
    }
}
