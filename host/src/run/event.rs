//! What a caller can show while it waits.

use std::path::PathBuf;

use crate::runtime::PrepareEvent;

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// The file of an evaluator was not in the working directory and was found beside the configuration.
    FoundBesideConfig {
        /// Name of the evaluator.
        evaluator: String,
        /// The file that will run.
        path: PathBuf,
    },
    /// An evaluator is being made ready.
    Prepare(PrepareEvent),
    /// An evaluation ended.
    Evaluated {
        /// Evaluations that have ended so far.
        done: usize,
        /// All evaluations of the run.
        total: usize,
        /// Those of `done` in which the evaluator broke.
        errored: usize,
    },
}
