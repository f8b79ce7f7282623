//! Results of judged metrics.

use super::{Case, Cause, Tally, TurnProblem, Votes};

/// Result of a metric that a model judges.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Score of the conversation; `None` if it was not evaluated.
    pub score: Option<f64>,
    /// Judgement of each turn.
    pub turns: Vec<TurnJudgement>,
    /// Mean score of each rubric that was judged; `None` if the metric has no rubrics, or there are no turns.
    pub rubrics: Option<Vec<RubricScore>>,
    /// Reasons why the conversation fails whatever its score is, e.g. a required rubric that is not fulfilled.
    pub missed: Vec<String>,
    /// Votes, in the order of the turns.
    pub votes: Vec<Votes>,
    /// Problems, in the order of the turns.
    pub problems: Vec<TurnProblem>,
    /// Things that a user should know.
    pub warnings: Vec<String>,
    /// Whether the score would pass or fail differently if one vote changed.
    pub close: bool,
}

/// Judgement of a turn.
#[derive(Clone, Debug, Default)]
pub struct TurnJudgement {
    /// Score; `None` if it was not evaluated.
    pub score: Option<f64>,
    /// Score of each rubric that was judged; `None` if the metric has none, or a call failed.
    pub rubrics: Option<Vec<RubricScore>>,
}

/// Score of a rubric.
#[derive(Clone, Debug, PartialEq)]
pub struct RubricScore {
    /// Id of the rubric.
    pub id: String,
    /// Score; `None` if no reply has a verdict.
    pub score: Option<f64>,
    /// Reason.
    pub rationale: String,
}

/// Scores that follow from votes.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// Score of the conversation; `None` if it was not evaluated.
    pub score: Option<f64>,
    /// Judgement of each turn.
    pub turns: Vec<TurnJudgement>,
    /// Mean score of each rubric that was judged; `None` if the metric has no rubrics, or there are no turns.
    pub rubrics: Option<Vec<RubricScore>>,
    /// Reasons why the conversation fails whatever its score is, e.g. a required rubric that is not fulfilled.
    pub missed: Vec<String>,
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
    pub fn of(score: Option<f64>, threshold: f64) -> Self {
        match score {
            None => Self::NotEvaluated,
            Some(score) if score >= threshold => Self::Passed,
            Some(_) => Self::Failed,
        }
    }
}

impl Judgement {
    /// Computes the scores of a tally with `score`, see [`Judge::score`](super::Judge::score).
    pub(super) fn new(
        case: &Case<'_>,
        tally: Tally,
        score: impl Fn(&Tally, &[Option<f64>]) -> Scores,
    ) -> Self {
        let threshold = case.criterion.threshold;
        let has_too_few = |votes: &Votes| tally.has_too_few(votes, case.criterion);
        let value = |votes: &Votes| votes.score().filter(|_| !has_too_few(votes));
        let mut values: Vec<Option<f64>> = tally.votes.iter().map(value).collect();
        let scores = score(&tally, &values);
        let status = scores.status(threshold);
        let mut close = false;
        for (index, votes) in tally.votes.iter().enumerate() {
            let value = values[index];
            if has_too_few(votes) {
                continue;
            }
            for changed in votes.alternatives() {
                values[index] = changed;
                close |= changed != value && score(&tally, &values).status(threshold) != status;
            }
            values[index] = value;
        }
        let Scores { score, turns, rubrics, missed } = scores;
        let Tally { votes, problems, mut warnings } = tally;
        // What is not an error leaves turns out, and must not do so silently. What is incomplete is a warning already.
        let left_out = problems.iter().filter(|problem| {
            let is_noted = matches!(problem.cause, Cause::Incomplete(_));
            !is_noted && !problem.cause.is_error(case.criterion)
        });
        let mut left_out: Vec<&TurnProblem> = left_out.collect();
        left_out.dedup_by_key(|problem| problem.turn);
        warnings.extend(left_out.into_iter().map(|problem| format!("{problem}; not evaluated")));
        Self { score, turns, rubrics, missed, votes, problems, warnings, close }
    }

    /// Returns the least agreement with its turn; `None` if there are no votes.
    pub fn agreement(&self) -> Option<(f64, usize)> {
        let votes = self.votes.iter();
        votes
            .filter_map(|votes| Some((votes.agreement()?, votes.turn)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl Scores {
    fn status(&self, threshold: f64) -> Status {
        match Status::of(self.score, threshold) {
            Status::Passed if !self.missed.is_empty() => Status::Failed,
            status => status,
        }
    }
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
