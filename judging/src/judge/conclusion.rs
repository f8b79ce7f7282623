//! Conclusion of a judgement for the verdict: a score, nothing, or an error.

use super::{Criterion, Judgement, OnDisagreement, Status};

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
    /// There was nothing to judge; with the reason.
    NotEvaluated(String),
    /// The judge failed. That is an error, never a score; with the reason.
    Failed(String),
}

impl Judgement {
    /// Returns what the judgement means under the rules of `criterion`.
    pub fn conclude(&self, criterion: &Criterion) -> Conclusion {
        let mut problems = self.problems.iter().filter(|problem| problem.cause.is_error(criterion));
        if let Some(problem) = problems.next() {
            let more = match problems.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            return Conclusion::Failed(format!("{problem}{more}"));
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
                Conclusion::Scored { score, passed: passed && self.missed.is_empty() }
            }
        }
    }

    /// Returns the reason why the conversation fails whatever its score is; `None` if the score decides.
    pub fn failure_reason(&self, criterion: &Criterion) -> Option<String> {
        let missed = match &self.missed[..] {
            [] => None,
            [only] => Some(only.clone()),
            [first, more @ ..] => Some(format!("{first} (and {} more)", more.len())),
        };
        let disagreement = self.disagreement(criterion);
        let disagreement = disagreement.filter(|(_, then)| *then == OnDisagreement::Fail);
        let reasons: Vec<String> =
            missed.into_iter().chain(disagreement.map(|(reason, _)| reason)).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
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
