//! Votes: what the samples of a question say together.

/// Order of the things that a judge compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The answer before the reference, the rubrics as they are.
    #[default]
    Plain,
    /// The reference before the answer, the rubrics in reverse.
    Swapped,
}

impl Order {
    /// Returns the orders in which a question is asked, each with its number of samples.
    pub(super) fn of(samples: usize, swap: bool) -> Vec<(Self, usize)> {
        if swap {
            vec![(Self::Plain, samples - samples / 2), (Self::Swapped, samples / 2)]
        } else {
            vec![(Self::Plain, samples)]
        }
    }
}

/// Votes about a turn, or about a rubric of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Votes {
    /// Index of the turn.
    pub turn: usize,
    /// Id of the rubric, if it is about one.
    pub rubric: Option<String>,
    /// Votes for it.
    pub positive: usize,
    /// Votes against it.
    pub negative: usize,
    /// Readable replies that abstain.
    pub no_score: usize,
    /// Replies that cannot be read.
    pub unreadable: usize,
    /// Calls that failed.
    pub failed: usize,
    /// Votes for and against it in the swapped order; part of the above.
    pub swapped: (usize, usize),
}

impl Votes {
    /// Counts a vote; `None` abstains.
    pub(super) fn add(&mut self, vote: Option<bool>, order: Order) {
        let (all, swapped) = match vote {
            Some(true) => (&mut self.positive, &mut self.swapped.0),
            Some(false) => (&mut self.negative, &mut self.swapped.1),
            None => {
                self.no_score += 1;
                return;
            }
        };
        *all += 1;
        if order == Order::Swapped {
            *swapped += 1;
        }
    }

    /// Returns the verdict of the majority; a tie is negative. `None` if there is no vote, or if a call failed.
    #[must_use]
    pub fn verdict(&self) -> Option<bool> {
        (self.failed == 0).then(|| majority(self.positive, self.negative)).flatten()
    }

    /// Returns the share of the winning side among the votes; `None` if there is no vote.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 votes")]
    pub fn agreement(&self) -> Option<f64> {
        let votes = self.positive + self.negative;
        (votes > 0).then(|| self.positive.max(self.negative) as f64 / votes as f64)
    }

    /// Returns the verdicts of the majorities in plain and in swapped order.
    #[must_use]
    pub fn by_order(&self) -> (Option<bool>, Option<bool>) {
        let (positive, negative) = self.swapped;
        (majority(self.positive - positive, self.negative - negative), majority(positive, negative))
    }

    /// Returns true if the verdict depends on the order of the things that are compared.
    #[must_use]
    pub fn depends_on_order(&self) -> bool {
        matches!(self.by_order(), (Some(plain), Some(swapped)) if plain != swapped)
    }

    /// Returns true if the verdict would change if one vote changed.
    #[must_use]
    pub fn is_close(&self) -> bool {
        let changed = |positive: usize, negative: usize| majority(positive, negative);
        let verdict = self.verdict();
        verdict.is_some()
            && ((self.positive > 0 && changed(self.positive - 1, self.negative + 1) != verdict)
                || (self.negative > 0 && changed(self.positive + 1, self.negative - 1) != verdict))
    }
}

fn majority(positive: usize, negative: usize) -> Option<bool> {
    (positive + negative > 0).then_some(positive > negative)
}

/// Returns the verdict of a panel: each member's verdict is one vote, a tie is negative.
///
/// `None` if fewer than `quorum` members have a verdict.
#[must_use]
pub fn panel(members: &[Option<bool>], quorum: usize, rule: Panel) -> Option<bool> {
    let votes: Vec<bool> = members.iter().copied().flatten().collect();
    if votes.len() < quorum.max(1) {
        return None;
    }
    let positive = votes.iter().filter(|vote| **vote).count();
    Some(match rule {
        Panel::Majority => positive * 2 > votes.len(),
        Panel::All => positive == votes.len(),
        Panel::Any => positive > 0,
    })
}

/// How the verdicts of several models are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panel {
    /// More than half of the models must agree.
    #[default]
    Majority,
    /// All models must agree.
    All,
    /// One model is enough.
    Any,
}
