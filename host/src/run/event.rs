//! What a caller can show while it waits.

use std::{path::PathBuf, sync::Arc};

use crate::{report::run_file::Damage, runtime::PrepareEvent};

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A trace file or the eval set cannot be used. The report says so too, in words that others compare, and less precisely.
    BadInput {
        /// The file and what is wrong, as in the report.
        message: String,
        /// What lies behind it, with the position.
        cause: Option<String>,
        /// What the file seems to be, or what is to be done about it.
        hint: Option<String>,
    },
    /// Trace files are being read.
    Loading {
        /// How many.
        files: usize,
    },
    /// They have been read.
    Loaded {
        /// How many conversations are in them.
        conversations: usize,
    },
    /// It was decided which file an evaluator is, and what runs it.
    Found {
        /// Name of the evaluator.
        evaluator: String,
        /// The file that will run.
        path: PathBuf,
        /// The runtime, e.g. `Python`.
        runtime: String,
    },
    /// A metric that asks no judge has settings for one. They change nothing.
    UnusedJudge {
        /// Name of the metric.
        metric: String,
        /// The settings, as a configuration calls them.
        settings: Vec<&'static str>,
    },
    /// Fetched evaluators were not pinned and are now; the file should be kept under version control.
    Pinned {
        /// Names of the evaluators.
        evaluators: Vec<String>,
        /// The lock file.
        file: PathBuf,
    },
    /// Evaluators do not see variables of the environment that look like secrets. Told once for those from whom the same is
    /// withheld.
    Withheld {
        /// Names of the evaluators.
        evaluators: Vec<String>,
        /// Names of the variables.
        variables: Vec<String>,
    },
    /// An evaluator is being made ready.
    Prepare(PrepareEvent),
    /// An evaluator did not compile, or a tool that makes it ready failed.
    BuildFailed {
        /// Name of the evaluator.
        evaluator: String,
        /// What failed, in a line.
        summary: String,
        /// The tool's own text; parts of it may have come as [`PrepareEvent::Diagnostic`] already.
        rendered: String,
    },
    /// Lines of the run file that is resumed are damaged. What they recorded is evaluated again.
    DamagedRunFile {
        /// The file.
        file: PathBuf,
        /// The damaged lines.
        damage: Damage,
    },
    /// Results of an evaluator are neither taken from an earlier run nor used by a later one.
    NotResumable {
        /// Name of the evaluator.
        evaluator: String,
        /// The reason.
        reason: String,
    },
    /// The run file cannot be written (any more). The run goes on without it, and the report says so.
    UnsavedRun {
        /// What happened, as in the report.
        message: String,
    },
    /// The results of an evaluator cannot be relied on, because of how its workers behaved or exited. The report says so.
    Unreliable {
        /// What happened, as in the report.
        message: String,
    },
    /// The run is saved in a file with a name.
    Saved {
        /// The file.
        file: PathBuf,
        /// Number of evaluations that were taken from an earlier run.
        reused: usize,
        /// Number of evaluations.
        total: usize,
    },
    /// All evaluators are ready or known not to be; their evaluations begin.
    Evaluating {
        /// All evaluations of the run, if every conversation turns out to have turns.
        total: usize,
    },
    /// Evaluations of a program that could be forked from a running interpreter are started one by one after all. It costs time
    /// and changes nothing else.
    NotForked {
        /// Name of the evaluator.
        evaluator: String,
        /// What is in the way.
        reason: String,
    },
    /// Processes of a program that could keep for each other what they compile do not. It costs time and changes nothing else.
    NotCached {
        /// Name of the evaluator.
        evaluator: String,
        /// What is in the way.
        reason: String,
    },
    /// An evaluation ended.
    Evaluated {
        /// Name of the evaluator.
        evaluator: String,
        /// Trace id of the conversation.
        trace_id: Arc<str>,
        /// Why the evaluator broke, if it did.
        error: Option<String>,
        /// What does not fit together in its answer.
        warnings: Vec<String>,
        /// What it wrote to its standard error, without the middle if it was long.
        stderr: String,
        /// Evaluations that have ended so far.
        done: usize,
        /// All evaluations of the run; fewer than before when a conversation turned out to have no turns.
        total: usize,
        /// Those of `done` in which the evaluator broke.
        errored: usize,
    },
    /// Results could not be written to a temporary file. From here on they stay in memory, and nothing is lost.
    ReportInMemory {
        /// The error of the system.
        reason: String,
    },
}
