//! Progress of a run.

use std::{path::PathBuf, sync::Arc};

use crate::{
    report::run_file::{Damage, Event},
    runtime::PrepareEvent,
};

/// Event of a run, for progress output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A trace file or the eval set cannot be used. The report contains the message, too.
    BadInput {
        /// The file and what is wrong, as in the report.
        message: String,
        /// The cause, with the position.
        cause: Option<String>,
        /// Content of the file, or what to do about it.
        hint: Option<String>,
    },
    /// Trace files are being read.
    Loading {
        /// Number of files.
        files: usize,
    },
    /// Trace files have been read.
    Loaded {
        /// Number of conversations.
        conversations: usize,
    },
    /// The file and the runtime of an evaluator were determined.
    Found {
        /// Name of the evaluator.
        evaluator: String,
        /// The file that will run.
        path: PathBuf,
        /// The runtime, e.g. `Python`.
        runtime: String,
    },
    /// A gate cannot pass with the conversations of the run.
    HopelessGate {
        /// The gate, and how many cases it needs.
        message: String,
    },
    /// The run measures something else than its baseline, and is compared with it all the same.
    Difference {
        /// What differs, with both values.
        message: String,
        /// Whether it would prevent the comparison if it was not allowed.
        is_allowed: bool,
    },
    /// A metric without a judge has settings for one, which are ignored.
    UnusedJudge {
        /// Name of the metric.
        metric: String,
        /// Keys of the settings.
        settings: Vec<&'static str>,
    },
    /// Fetched evaluators were added to the lock file, which belongs under version control.
    Pinned {
        /// Names of the evaluators.
        evaluators: Vec<String>,
        /// The lock file.
        file: PathBuf,
    },
    /// Evaluators do not see environment variables that look like secrets. One event for all evaluators with the same
    /// variables.
    Withheld {
        /// Names of the evaluators.
        evaluators: Vec<String>,
        /// Names of the variables.
        variables: Vec<String>,
    },
    /// The source of an evaluator names an environment variable that looks like a secret, which it does not see.
    NamedSecret {
        /// Name of the evaluator.
        evaluator: String,
        /// Name of the variable.
        variable: String,
    },
    /// Programs from sources run without containment.
    Uncontained {
        /// Names of their evaluators.
        evaluators: Vec<String>,
    },
    /// An evaluator is prepared, and its program will run in an executor that contains it.
    Contained {
        /// Name of the evaluator.
        evaluator: String,
        /// The executor, and what the program may use.
        description: String,
    },
    /// An evaluator is being prepared.
    Prepare(PrepareEvent),
    /// An evaluator did not compile, or a tool that prepares it failed.
    BuildFailed {
        /// Name of the evaluator.
        evaluator: String,
        /// Summary of the failure on one line.
        summary: String,
        /// Output of the tool; parts of it may have been [`PrepareEvent::Diagnostic`] events.
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
    /// The run file cannot be written (any more). The run continues without it, and the report contains the message.
    UnsavedRun {
        /// What happened, as in the report.
        message: String,
    },
    /// The results of an evaluator cannot be relied on, because of how its workers behaved or exited. The report contains
    /// the message.
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
    /// Something about models that judge, or their recordings, does not affect results but should be known.
    JudgeWarning {
        /// A sentence.
        message: String,
    },
    /// All evaluators are prepared or have failed; evaluations start.
    Evaluating {
        /// Number of evaluations, if every conversation has turns.
        total: usize,
    },
    /// Evaluations of a program do not share an interpreter or compiled code, although they could. Only the duration is
    /// affected.
    NotReused {
        /// Name of the evaluator.
        evaluator: String,
        /// Fallback, and the reason.
        reason: String,
    },
    /// An evaluation is finished.
    Evaluated {
        /// Name of the evaluator.
        evaluator: String,
        /// Trace id of the conversation.
        trace_id: Arc<str>,
        /// Error of the evaluator, if there is one.
        error: Option<String>,
        /// Warnings about its answer.
        warnings: Vec<String>,
        /// End of its standard error.
        stderr: String,
        /// Number of finished evaluations.
        done: usize,
        /// Number of evaluations of the run, which decreases with each conversation without turns.
        total: usize,
        /// Number of finished evaluations with an error.
        errored: usize,
    },
    /// Results cannot be written to a temporary file. They stay in memory; none is lost.
    ReportInMemory {
        /// The error of the system.
        reason: String,
    },
}

impl From<Event> for RunEvent {
    fn from(event: Event) -> Self {
        match event {
            Event::Failed(message) => Self::UnsavedRun { message },
            Event::InMemory(reason) => Self::ReportInMemory { reason },
        }
    }
}
