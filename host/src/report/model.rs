//! The report of a run.

use std::{sync::Arc, time::Duration};

use crate::{
    conversation::{PerformanceMetrics, RunPerformance},
    json::Object,
    verdict::{Status, Tally},
};

/// The report of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Conversations in the order of the traces.
    pub conversations: Vec<ConversationReport>,
    /// What went wrong outside of any conversation, e.g. files that could not be loaded.
    pub errors: Vec<String>,
    /// Latencies, tokens and counts of all conversations; `None` when there is none that has them.
    pub performance: Option<RunPerformance>,
}

/// What came of one conversation.
#[derive(Clone, Debug)]
pub struct ConversationReport {
    /// Trace id of the conversation's first trace.
    pub trace_id: Arc<str>,
    /// Number of turns.
    pub turns: usize,
    /// What was odd about the recording.
    pub warnings: Vec<String>,
    /// Evaluations in the order of the configuration.
    pub evaluations: Vec<EvaluationReport>,
    /// Latencies, tokens and counts.
    pub performance: Option<PerformanceMetrics>,
}

/// What came of one evaluator on one conversation.
#[derive(Clone, Debug)]
pub struct EvaluationReport {
    /// Name of the evaluator; `(all)` stands for all of them, when the conversation could not be evaluated at all.
    pub name: String,
    /// The score; `None` when there is none.
    pub score: Option<f64>,
    /// Score from which on it passes; `None` when no evaluator was asked.
    pub threshold: Option<f64>,
    /// The status. [`Status::NotEvaluated`] when there is an error.
    pub status: Status,
    /// Score of each turn.
    pub per_invocation_scores: Vec<Option<f64>>,
    /// How long it took; `None` when nothing was started.
    pub duration: Option<Duration>,
    /// Why the evaluator broke, if it did. One paragraph, with the end of its stderr where that explains it.
    pub error: Option<String>,
    /// Stable name of the kind of error, e.g. `timed_out`.
    pub error_type: Option<&'static str>,
    /// What does not fit together in the answer, e.g. a status that contradicts the score; it counts all the same.
    pub warnings: Vec<String>,
    /// The evaluator's details.
    pub details: Option<Object>,
}

impl Report {
    /// How many evaluations passed, failed, broke and were not evaluated.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for evaluation in
            self.conversations.iter().flat_map(|conversation| &conversation.evaluations)
        {
            match (&evaluation.error, evaluation.status) {
                (Some(_), _) => tally.errored += 1,
                (None, Status::Passed) => tally.passed += 1,
                (None, Status::Failed) => tally.failed += 1,
                (None, Status::NotEvaluated) => tally.not_evaluated += 1,
            }
        }
        tally
    }
}
