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

/// Rule that makes one vote of several.
///
/// Votes are scores; a vote for or against something is 1 or 0. The same rule holds for both: that of the majority is the
/// median, and of an even number of votes the lower one of the two in the middle, so that a tie is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panel {
    /// More than half of the votes must be positive. The score is the lower median.
    #[default]
    Majority,
    /// All votes must be positive. The score is the least one.
    All,
    /// One positive vote is enough. The score is the greatest one.
    Any,
}

impl Panel {
    /// Returns the score of the votes; `None` if there are none.
    pub(super) fn score(self, scores: &[f64]) -> Option<f64> {
        let mut scores = scores.to_vec();
        scores.sort_by(f64::total_cmp);
        let last = scores.len().checked_sub(1)?;
        Some(match self {
            Self::Majority => scores[last / 2],
            Self::All => scores[0],
            Self::Any => scores[last],
        })
    }

    /// Returns the verdict; `None` if there are no votes.
    fn verdict(self, positive: usize, negative: usize) -> Option<bool> {
        let verdict = match self {
            Self::Majority => positive > negative,
            Self::All => negative == 0,
            Self::Any => positive > 0,
        };
        (positive + negative > 0).then_some(verdict)
    }

    /// Returns the share of the winning side; `None` if there are no votes.
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 votes")]
    pub(super) fn agreement(self, positive: usize, negative: usize) -> Option<f64> {
        let winning = if self.verdict(positive, negative)? { positive } else { negative };
        Some(winning as f64 / (positive + negative) as f64)
    }
}

/// Votes about a turn, or about a rubric of a turn: of the samples of one model, or of the models of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Votes {
    /// Index of the turn.
    pub turn: usize,
    /// Index among the things that are judged in the turn.
    pub part: usize,
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
    /// Calls that failed; in a panel, models that failed.
    pub failed: usize,
    /// Votes for and against it in the swapped order; part of the above.
    pub swapped: (usize, usize),
    /// Score of each vote.
    pub scores: Vec<f64>,
    /// Votes of each model of a panel; empty if there is one model.
    pub members: Vec<MemberVotes>,
    /// Rule that makes one vote of several.
    pub(super) rule: Panel,
    /// Least score of a vote for it.
    bar: f64,
    /// First reason of the votes against it, for it, and of those that abstain.
    reasons: [Option<String>; 3],
}

/// Votes of one model of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberVotes {
    /// Name of the model.
    pub model: String,
    /// Its votes.
    pub votes: Votes,
    /// Whether the model has a vote in the panel. One that failed has none.
    pub counts: bool,
}

impl MemberVotes {
    /// Returns its vote.
    fn score(&self) -> Option<f64> {
        self.votes.score().filter(|_| self.counts)
    }
}

impl Votes {
    /// Creates an empty count. Votes with a score of at least `bar` are votes for it.
    pub(super) fn new(turn: usize, bar: f64) -> Self {
        Self {
            turn,
            part: 0,
            rubric: None,
            positive: 0,
            negative: 0,
            no_score: 0,
            unreadable: 0,
            failed: 0,
            swapped: (0, 0),
            scores: Vec::new(),
            members: Vec::new(),
            rule: Panel::Majority,
            bar,
            reasons: Default::default(),
        }
    }

    /// Sets the index among the things that are judged in the turn.
    pub(super) fn of_part(self, part: usize) -> Self {
        Self { part, ..self }
    }

    /// Creates an empty count of votes that are 1 or 0.
    pub(super) fn binary(turn: usize) -> Self {
        Self::new(turn, 0.5)
    }

    /// Creates the votes of a panel, about what the members vote about. `failed` is the number of models without a vote, if
    /// too many have none.
    pub(super) fn of_panel(rule: Panel, members: Vec<MemberVotes>, failed: usize) -> Option<Self> {
        let Votes { turn, part, rubric, bar, .. } = members.first()?.votes.clone();
        let mut votes = Self { part, rubric, rule, failed, ..Self::new(turn, bar) };
        for member in &members {
            votes.unreadable += member.votes.unreadable;
            if member.counts {
                votes.add(member.score(), Order::Plain, "");
            }
        }
        let verdict = votes.verdict();
        let reasons = members.iter().filter(|it| it.counts && it.votes.verdict() == verdict);
        votes.reasons[side(verdict)] = reasons.filter_map(|it| it.votes.reason()).next().cloned();
        votes.members = members;
        Some(votes)
    }

    /// Counts a vote; `None` abstains.
    pub(super) fn add(&mut self, score: Option<f64>, order: Order, reason: &str) {
        let vote = score.map(|score| score >= self.bar);
        self.scores.extend(score);
        let (all, swapped) = match vote {
            Some(true) => (&mut self.positive, Some(&mut self.swapped.0)),
            Some(false) => (&mut self.negative, Some(&mut self.swapped.1)),
            None => (&mut self.no_score, None),
        };
        *all += 1;
        if let (Order::Swapped, Some(swapped)) = (order, swapped) {
            *swapped += 1;
        }
        if !reason.is_empty() {
            self.reasons[side(vote)].get_or_insert_with(|| reason.to_owned());
        }
    }

    /// Returns the score of the votes; `None` if there is no vote, or if a call failed.
    pub fn score(&self) -> Option<f64> {
        (self.failed == 0).then(|| self.rule.score(&self.scores)).flatten()
    }

    /// Returns the verdict; `None` if there is no vote, or if a call failed.
    pub fn verdict(&self) -> Option<bool> {
        (self.failed == 0).then(|| self.rule.verdict(self.positive, self.negative)).flatten()
    }

    /// Returns the first reason of the winning side.
    pub fn reason(&self) -> Option<&String> {
        self.reasons[side(self.verdict())].as_ref()
    }

    /// Returns the share of the winning side among the votes; `None` if there is no vote.
    pub fn agreement(&self) -> Option<f64> {
        self.rule.agreement(self.positive, self.negative)
    }

    /// Returns the verdicts of the majorities in plain and in swapped order.
    pub fn by_order(&self) -> (Option<bool>, Option<bool>) {
        let (positive, negative) = self.swapped;
        let verdict = |positive, negative| Panel::Majority.verdict(positive, negative);
        (verdict(self.positive - positive, self.negative - negative), verdict(positive, negative))
    }

    /// Returns true if the verdict depends on the order of the things that are compared; in a panel, if that of a model does.
    pub fn depends_on_order(&self) -> bool {
        let own = matches!(self.by_order(), (Some(plain), Some(swapped)) if plain != swapped);
        own || self.members.iter().any(|member| member.counts && member.votes.depends_on_order())
    }

    /// Returns the possible scores of the votes if one vote of one model were another one.
    pub(super) fn alternatives(&self) -> Vec<Option<f64>> {
        if self.failed > 0 || self.positive + self.negative == 0 {
            return Vec::new();
        }
        if self.members.is_empty() {
            let mut scores = self.scores.clone();
            scores.sort_by(f64::total_cmp);
            let (mut lower, mut higher) = (scores.clone(), scores);
            lower.iter_mut().last().into_iter().for_each(|highest| *highest = 0.0);
            higher.iter_mut().take(1).for_each(|lowest| *lowest = 1.0);
            return vec![self.rule.score(&lower), self.rule.score(&higher)];
        }
        let mut found = Vec::new();
        for (index, member) in self.members.iter().enumerate().filter(|(_, it)| it.counts) {
            for changed in member.votes.alternatives() {
                let scores = self.members.iter().enumerate();
                let scores =
                    scores.filter_map(
                        |(other, member)| {
                            if other == index { changed } else { member.score() }
                        },
                    );
                found.push(self.rule.score(&scores.collect::<Vec<_>>()));
            }
        }
        found
    }
}

fn side(vote: Option<bool>) -> usize {
    vote.map_or(2, usize::from)
}
