//! Counts before scores are computed: votes, failures and warnings.

use super::{Criterion, OnFailure, Votes, answer::Readings};

/// Votes in the answers of a judge.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Votes, in the order of the turns.
    pub votes: Vec<Votes>,
    /// Problems, in the order of the turns.
    pub problems: Vec<TurnProblem>,
    /// Things that a user should know.
    pub warnings: Vec<String>,
}

/// Problem in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnProblem {
    /// Index of the turn.
    pub turn: usize,
    /// Model of a panel.
    pub model: Option<String>,
    /// Cause of a problem.
    pub cause: Cause,
}

impl std::fmt::Display for TurnProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "turn {}", self.turn + 1)?;
        if let Some(model) = &self.model {
            write!(f, ", {model}")?;
        }
        write!(f, ": {}", self.cause)
    }
}

/// Cause of a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// A call failed.
    #[error("sample {}: {reason}", sample + 1)]
    Failed {
        /// Index of the sample.
        sample: usize,
        /// Reason.
        reason: String,
    },
    /// No reply can be read.
    #[error("unreadable reply: {excerpt}")]
    Unreadable {
        /// Start of a reply.
        excerpt: String,
    },
    /// Too few replies can be read.
    #[error("too few readable replies ({readable} of {samples})")]
    TooFew {
        /// Number of replies that can be read.
        readable: usize,
        /// Number of samples.
        samples: usize,
    },
    /// Too few replies judge a rubric.
    #[error("too few replies judge the rubric `{rubric}` ({judged} of {samples})")]
    TooFewFor {
        /// Id of the rubric.
        rubric: String,
        /// Number of replies with a verdict about it.
        judged: usize,
        /// Number of samples.
        samples: usize,
    },
    /// Something was not judged.
    #[error("{0}")]
    Incomplete(String),
}

impl Cause {
    /// Returns true if it is an error of the metric.
    pub(super) fn is_error(&self, criterion: &Criterion) -> bool {
        let rules = &criterion.rules;
        match self {
            Self::Incomplete(_) => rules.errors == OnFailure::Error || rules.complete,
            Self::TooFew { .. } | Self::TooFewFor { .. } => {
                rules.errors == OnFailure::Error || rules.min_readable.is_some()
            }
            Self::Failed { .. } | Self::Unreadable { .. } => rules.errors == OnFailure::Error,
        }
    }

    /// Returns true if a model of a panel has no vote because of it.
    pub(super) fn loses_vote(&self, criterion: &Criterion) -> bool {
        match self {
            Self::Incomplete(_) => self.is_error(criterion),
            Self::Failed { .. }
            | Self::Unreadable { .. }
            | Self::TooFew { .. }
            | Self::TooFewFor { .. } => true,
        }
    }
}

impl Tally {
    /// Notes what is wrong with the answers about a turn.
    pub(super) fn note(&mut self, readings: &Readings<'_>, criterion: &Criterion) {
        let turn = readings.turn;
        for (sample, reason) in &readings.failed {
            self.problem(turn, Cause::Failed { sample: *sample, reason: (*reason).to_owned() });
        }
        let (readable, samples) = (readings.votes.len(), readings.samples);
        let least = least(criterion, samples);
        match readings.unreadable.first() {
            Some(excerpt) if readable == 0 => {
                self.problem(turn, Cause::Unreadable { excerpt: (*excerpt).to_owned() });
            }
            Some(_) if readable < least => self.problem(turn, Cause::TooFew { readable, samples }),
            _ => {}
        }
    }

    /// Notes that too few replies have a verdict about a rubric, if that is so and the replies themselves are not too few.
    pub(super) fn note_rubric(
        &mut self,
        rubric: &str,
        judged: usize,
        readings: &Readings<'_>,
        criterion: &Criterion,
    ) {
        let (turn, samples) = (readings.turn, readings.samples);
        let least = least(criterion, samples);
        if judged == 0 {
            self.incomplete(turn, format!("no reply judges the rubric `{rubric}`"));
        } else if judged < least && readings.votes.len() >= least {
            let rubric = rubric.to_owned();
            self.problem(turn, Cause::TooFewFor { rubric, judged, samples });
        }
    }

    /// Notes that something was not judged.
    pub(super) fn incomplete(&mut self, turn: usize, text: String) {
        self.warnings.push(format!("turn {}: {text}", turn + 1));
        self.problem(turn, Cause::Incomplete(text));
    }

    /// Returns true if a call about the turn failed.
    pub(super) fn has_failed(&self, turn: usize) -> bool {
        let mut problems = self.problems.iter().filter(|problem| problem.turn == turn);
        problems.any(|problem| matches!(problem.cause, Cause::Failed { .. }))
    }

    /// Returns true if the votes are too few for a score, and that is not an error.
    pub(super) fn has_too_few(&self, votes: &Votes, criterion: &Criterion) -> bool {
        let own = self.problems.iter();
        let mut own = own.filter(|it| it.turn == votes.turn && it.model.is_none());
        own.any(|problem| match &problem.cause {
            cause if cause.is_error(criterion) => false,
            Cause::TooFew { .. } => true,
            Cause::TooFewFor { rubric, .. } => votes.rubric.as_ref() == Some(rubric),
            _ => false,
        })
    }

    fn problem(&mut self, turn: usize, cause: Cause) {
        self.problems.push(TurnProblem { turn, model: None, cause });
    }
}

/// Returns the least number of replies that must have a verdict.
fn least(criterion: &Criterion, samples: usize) -> usize {
    criterion.rules.min_readable.unwrap_or(samples / 2 + 1)
}
