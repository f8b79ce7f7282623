//! The outcome of one evaluation, as every form of the report shows it.

use evaluator_json::Value;

use super::{EvaluationReport, Status, Tally};

/// Outcome of one evaluation. Unlike [`Status`], which is part of the contract, it distinguishes an error from an evaluation
/// that does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvaluationOutcome {
    /// The score passes.
    Passed,
    /// The score fails.
    Failed,
    /// The evaluator does not apply to the conversation.
    NotEvaluated,
    /// Error of the evaluator.
    Error,
    /// The run stopped before the evaluation was started.
    NotRun,
}

impl EvaluationOutcome {
    /// Name in the JSON report, e.g. `not_evaluated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotEvaluated => "not_evaluated",
            Self::Error => "error",
            Self::NotRun => "not_run",
        }
    }

    /// Word in the status column of reports for people, e.g. `NOT_EVALUATED`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Passed => Status::Passed.as_str(),
            Self::Failed => Status::Failed.as_str(),
            Self::NotEvaluated => Status::NotEvaluated.as_str(),
            Self::Error => "ERROR",
            Self::NotRun => "NOT_RUN",
        }
    }

    /// Mark at the beginning of a line of reports for people, e.g. `[PASS]`; all marks have the same width.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Passed => "[PASS]",
            Self::Failed => "[FAIL]",
            Self::NotEvaluated | Self::NotRun => "[----]",
            Self::Error => "[ERR ]",
        }
    }
}

/// Key of the results of evaluators in the details of a test of an eval file.
pub const EVALUATORS: &str = "evaluators";

impl EvaluationReport {
    /// Returns the results that the evaluation combines: those of the evaluators of a test, or of the members of such an
    /// evaluator. Their details are everything that is known about them.
    pub fn members(&self) -> impl Iterator<Item = Self> {
        let details = self.details.iter();
        let lists = details.flat_map(|details| [details.get(EVALUATORS), details.get("members")]);
        let members = lists.flatten().filter_map(Value::as_array).flatten();
        members.filter_map(Value::as_object).map(|member| {
            let text = |key: &str| member.get(key).and_then(Value::as_str).unwrap_or_default();
            let (status, is_error) = match text("status") {
                "passed" => (Status::Passed, false),
                "failed" => (Status::Failed, false),
                _ => (Status::NotEvaluated, true),
            };
            let score = match member.get("score") {
                Some(Value::Float(score)) => Some(*score),
                _ => None,
            };
            Self {
                score,
                status,
                error: is_error.then(|| text("reason").to_owned()),
                error_type: is_error.then_some("metric_failed"),
                details: Some(member.clone()),
                ..Self::new(text("name"))
            }
        })
    }

    /// Adds the evaluation to a tally.
    pub fn count_in(&self, tally: &mut Tally) {
        *match self.outcome() {
            EvaluationOutcome::Passed => &mut tally.passed,
            EvaluationOutcome::Failed => &mut tally.failed,
            EvaluationOutcome::NotEvaluated => &mut tally.not_evaluated,
            EvaluationOutcome::Error => &mut tally.errored,
            EvaluationOutcome::NotRun => &mut tally.not_run,
        } += 1;
    }

    /// Outcome of the evaluation.
    pub fn outcome(&self) -> EvaluationOutcome {
        match (&self.error, self.status) {
            _ if !self.was_run() => EvaluationOutcome::NotRun,
            (Some(_), _) => EvaluationOutcome::Error,
            (None, Status::Passed) => EvaluationOutcome::Passed,
            (None, Status::Failed) => EvaluationOutcome::Failed,
            (None, Status::NotEvaluated) => EvaluationOutcome::NotEvaluated,
        }
    }

    /// Score to show to people. An evaluation that was not judged has none, whatever number the contract made the
    /// evaluator write.
    pub fn shown_score(&self) -> Option<f64> {
        self.score.filter(|_| self.is_scored())
    }

    /// Scores of the turns to show to people; empty where the evaluation was not judged.
    pub fn shown_turn_scores(&self) -> &[Option<f64>] {
        if self.is_scored() { &self.per_invocation_scores } else { &[] }
    }

    /// Returns true if it passed or failed.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self.outcome(), EvaluationOutcome::Passed | EvaluationOutcome::Failed)
    }
}
