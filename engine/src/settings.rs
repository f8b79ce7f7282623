//! Settings of an execution.

use std::num::NonZeroUsize;

use crate::{models::Secret, process::Cancellation};

/// Settings of an execution.
#[derive(Clone, Debug)]
pub struct ExecutionSettings {
    /// Maximum number of concurrent evaluations.
    pub jobs: NonZeroUsize,
    /// Cancels the run.
    pub cancellation: Cancellation,
    /// Secrets of this machine, which reports and transcripts do not contain.
    pub secrets: Vec<Secret>,
    /// Whether evaluators have fingerprints.
    pub is_identified: bool,
}
