//! What a judgement means for the verdict: a score, nothing, or an error.

use super::{Cause, Criterion, Judgement, OnDisagreement, OnFailure, Status};

/// Meaning of a judgement.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The conversation has a score.
    Scored {
        /// The score.
        score: f64,
        /// Whether it passes.
        passed: bool,
    },
    /// There was nothing to judge; the text says why.
    NotEvaluated(String),
    /// The judge failed. That is an error, never a score; the text says why.
    Failed(String),
}

impl Judgement {
    /// Returns what the judgement means under the rules of `criterion`.
    #[must_use]
    pub fn conclude(&self, criterion: &Criterion) -> Conclusion {
        let rules = &criterion.rules;
        let counts = |cause: &Cause| match cause {
            Cause::Incomplete(_) => rules.complete,
            Cause::TooFew { .. } => {
                rules.errors == OnFailure::Error || rules.min_readable.is_some()
            }
            Cause::Failed { .. } | Cause::Unreadable { .. } => rules.errors == OnFailure::Error,
        };
        let mut troubles = self.troubles.iter().filter(|trouble| counts(&trouble.cause));
        if let Some(trouble) = troubles.next() {
            let more = match troubles.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let turn = trouble.turn + 1;
            return Conclusion::Failed(format!("turn {turn}: {}{more}", trouble.cause));
        }
        let Some(score) = self.score else {
            let reason = match self.turns.is_empty() {
                true => "there are no turns to judge",
                false => "no turn has a score",
            };
            return Conclusion::NotEvaluated(reason.to_owned());
        };
        match self.disagreement(criterion) {
            Some((reason, OnDisagreement::Error)) => Conclusion::Failed(reason),
            Some((reason, OnDisagreement::NotEvaluated)) => Conclusion::NotEvaluated(reason),
            Some((_, OnDisagreement::Fail)) => Conclusion::Scored { score, passed: false },
            None => {
                let passed = Status::of(Some(score), criterion.threshold) == Status::Passed;
                Conclusion::Scored { score, passed }
            }
        }
    }

    /// Returns what is done about votes that disagree, with the reason; `None` if they agree well enough.
    fn disagreement(&self, criterion: &Criterion) -> Option<(String, OnDisagreement)> {
        let (least, then) = criterion.rules.min_agreement?;
        if let Some(votes) = self.votes.iter().find(|votes| votes.depends_on_order()) {
            let turn = votes.turn + 1;
            return Some((format!("turn {turn}: the verdict depends on the order"), then));
        }
        let (agreement, turn) = self.agreement()?;
        let reason = format!("turn {}: agreement {agreement:.2} is below {least}", turn + 1);
        (agreement < least).then_some((reason, then))
    }
}
