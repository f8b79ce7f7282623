//! What the answers of a judge amount to.

use super::{Criterion, Votes, answer::Readings};

/// Result of a metric that a model judges.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Judgement {
    /// Score of the conversation; `None` if it was not evaluated.
    pub score: Option<f64>,
    /// Judgement of each turn.
    pub turns: Vec<TurnJudgement>,
    /// Mean score of each rubric that was judged; `None` if the metric has no rubrics, or there are no turns.
    pub rubrics: Option<Vec<RubricScore>>,
    /// Votes, in the order of the turns.
    pub votes: Vec<Votes>,
    /// What went wrong, in the order of the turns.
    pub troubles: Vec<Trouble>,
    /// Things that a user should know.
    pub warnings: Vec<String>,
    /// Whether the score would pass or fail differently if one vote changed.
    pub close: bool,
}

/// Judgement of a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnJudgement {
    /// Score; `None` if it was not evaluated.
    pub score: Option<f64>,
    /// Score of each rubric that was judged; `None` if the metric has none, or a call failed.
    pub rubrics: Option<Vec<RubricScore>>,
}

/// Score of a rubric.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RubricScore {
    /// Id of the rubric.
    pub id: String,
    /// Score; `None` if no reply has a verdict.
    pub score: Option<f64>,
    /// Reason.
    pub rationale: String,
}

/// Status of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It reaches the threshold.
    Passed,
    /// It does not reach the threshold.
    Failed,
    /// There is no score.
    NotEvaluated,
}

impl Status {
    /// Returns the status of a score.
    #[must_use]
    pub fn of(score: Option<f64>, threshold: f64) -> Self {
        match score {
            None => Self::NotEvaluated,
            Some(score) if score >= threshold => Self::Passed,
            Some(_) => Self::Failed,
        }
    }
}

/// Something that went wrong in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// Index of the turn.
    pub turn: usize,
    /// What went wrong.
    pub cause: Cause,
}

/// What went wrong.
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
    /// Something was not judged.
    #[error("{0}")]
    Incomplete(String),
}

impl Judgement {
    /// Notes what is wrong with the answers about a turn.
    pub(super) fn note<T>(&mut self, turn: usize, readings: &Readings<T>, criterion: &Criterion) {
        for (sample, reason) in &readings.failed {
            let cause = Cause::Failed { sample: *sample, reason: reason.clone() };
            self.troubles.push(Trouble { turn, cause });
        }
        let (readable, samples) = (readings.read.len(), readings.samples);
        let least = criterion.rules.min_readable.unwrap_or(samples / 2 + 1);
        let unreadable = readings.unreadable.first();
        let cause = match unreadable {
            Some((_, excerpt)) if readable == 0 => Cause::Unreadable { excerpt: excerpt.clone() },
            Some(_) if readable < least => Cause::TooFew { readable, samples },
            _ => return,
        };
        self.troubles.push(Trouble { turn, cause });
    }

    /// Notes that something was not judged.
    pub(super) fn incomplete(&mut self, turn: usize, text: String) {
        self.warnings.push(format!("turn {}: {text}", turn + 1));
        self.troubles.push(Trouble { turn, cause: Cause::Incomplete(text) });
    }

    /// Returns the least agreement with its turn; `None` if there are no votes.
    #[must_use]
    pub fn agreement(&self) -> Option<(f64, usize)> {
        let votes = self.votes.iter();
        votes
            .filter_map(|votes| Some((votes.agreement()?, votes.turn)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Returns the verdict of each of `votes`.
pub(super) fn verdicts(votes: &[Votes]) -> Vec<Option<bool>> {
    votes.iter().map(Votes::verdict).collect()
}

/// Returns true if the score would pass or fail differently if one vote changed.
pub(super) fn close(
    votes: &[Votes],
    threshold: f64,
    score: impl Fn(&[Option<bool>]) -> Option<f64>,
) -> bool {
    let mut verdicts = verdicts(votes);
    let status = Status::of(score(&verdicts), threshold);
    (0..votes.len()).filter(|index| votes[*index].is_close()).any(|index| {
        let verdict = verdicts[index];
        verdicts[index] = verdict.map(|verdict| !verdict);
        let changed = Status::of(score(&verdicts), threshold) != status;
        verdicts[index] = verdict;
        changed
    })
}

/// Returns the mean of verdicts, 1 for a positive one; `None` if there are none.
pub(super) fn mean_verdict(verdicts: &[Option<bool>]) -> Option<f64> {
    mean(verdicts.iter().flatten().map(|verdict| f64::from(u8::from(*verdict))))
}

/// Returns the mean; `None` if there are no numbers.
///
/// The rest that rounding loses is added at each step, so that the mean is that of the exact sum.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 scores")]
pub(super) fn mean(scores: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut rest, mut count) = (0.0_f64, 0.0_f64, 0_usize);
    for score in scores {
        let next = sum + score;
        rest += if sum.abs() >= score.abs() { (sum - next) + score } else { (score - next) + sum };
        sum = next;
        count += 1;
    }
    let count = (count > 0).then_some(count as f64)?;
    let mean = sum / count;
    let error = (-mean).mul_add(count, sum) + rest;
    Some(mean + error / count)
}
