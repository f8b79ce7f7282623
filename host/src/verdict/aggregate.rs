//! Counting evaluations. This is the one place that decides what they amount to.

use std::ops::{Add, AddAssign};

use super::Status;

/// How many evaluations ended how. Every evaluation is counted in exactly one of the four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Scored and good enough.
    pub passed: u64,
    /// Scored and not good enough.
    pub failed: u64,
    /// The evaluator broke.
    pub errored: u64,
    /// The evaluator did not judge.
    pub not_evaluated: u64,
}

/// What a whole run amounts to, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Nothing failed and nothing broke.
    Passed,
    /// Something failed.
    Failed,
    /// An evaluator broke, so the rest says less than it seems to.
    Errored,
}

impl Tally {
    /// Counts an evaluation by its status; `None` when the evaluator broke, which is not a status.
    pub fn count(&mut self, status: Option<Status>) {
        let counter = match status {
            Some(Status::Passed) => &mut self.passed,
            Some(Status::Failed) => &mut self.failed,
            Some(Status::NotEvaluated) => &mut self.not_evaluated,
            None => &mut self.errored,
        };
        *counter += 1;
    }

    /// Evaluations that have a score to compare: passed and failed.
    #[must_use]
    pub fn scored(&self) -> u64 {
        self.passed + self.failed
    }

    /// All evaluations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.scored() + self.errored + self.not_evaluated
    }

    /// What they amount to. An error outweighs any number of passes and failures.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.errored, self.failed) {
            (0, 0) => Standing::Passed,
            (0, _) => Standing::Failed,
            _ => Standing::Errored,
        }
    }

    /// Whether nothing failed and nothing broke. A run in which nothing was evaluated is green, as is an empty one.
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.standing() == Standing::Passed
    }
}

impl Standing {
    /// The process exit code of a run: 0, 1 or 3 (2 means that nothing ran).
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Errored => 3,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.errored += other.errored;
        self.not_evaluated += other.not_evaluated;
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::verdict::{Answer, BadAnswer, Verdict};

    fn errors() -> impl Strategy<Value = Verdict> {
        prop_oneof![
            (1..=255i32).prop_map(|code| Verdict::Exited { code }),
            (1..=31i32).prop_map(|signal| Verdict::Signalled { signal }),
            Just(Verdict::TimedOut { limit: Duration::from_secs(1) }),
            Just(Verdict::LeakedPipe),
            Just(Verdict::BadAnswer(BadAnswer::Empty)),
            Just(Verdict::Cancelled),
            Just(Verdict::Lost { reason: String::new() }),
            Just(Verdict::SpawnFailed { reason: String::new(), transient: true }),
            Just(Verdict::PrepareFailed { reason: String::new() }),
            Just(Verdict::MetricFailed { reason: String::new() }),
            Just(Verdict::Reported { kind: String::new(), message: String::new() }),
        ]
    }

    fn answers() -> impl Strategy<Value = Verdict> {
        let status = prop::option::of(prop::sample::select(Status::ALL.to_vec()));
        (prop::option::of(0.0..=1.0f64), status).prop_map(|(score, status)| {
            Verdict::Answer(Answer { score, status, ..Answer::default() })
        })
    }

    fn verdicts() -> impl Strategy<Value = Vec<Verdict>> {
        prop::collection::vec(prop_oneof![3 => answers(), 1 => errors()], 0..20)
    }

    fn tally<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>) -> Tally {
        let mut tally = Tally::default();
        for verdict in verdicts {
            tally.count(verdict.status(0.5));
        }
        tally
    }

    proptest! {
        #[test]
        fn an_error_is_never_green_and_never_a_failure(verdicts in verdicts(), error in errors()) {
            let before = tally(&verdicts);
            let after = tally(verdicts.iter().chain([&error]));
            prop_assert_eq!(after.standing(), Standing::Errored);
            prop_assert!(!after.is_green());
            prop_assert_eq!(after, Tally { errored: before.errored + 1, ..before });
        }

        #[test]
        fn another_verdict_never_makes_a_run_better(verdicts in verdicts(), more in verdicts()) {
            let (before, added) = (tally(&verdicts), tally(&more));
            prop_assert!((before + added).standing() >= before.standing());
            prop_assert_eq!((before + added).standing(), before.standing().max(added.standing()));
        }

        #[test]
        fn order_and_grouping_do_not_matter(
            (verdicts, shuffled) in verdicts().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
            cut: prop::sample::Index,
        ) {
            let (left, right) = shuffled.split_at(cut.index(shuffled.len() + 1));
            prop_assert_eq!(tally(&verdicts), [tally(left), tally(right)].into_iter().sum());
        }

        #[test]
        fn denominators_add_up(verdicts in verdicts()) {
            let tally = tally(&verdicts);
            prop_assert_eq!(tally.total(), verdicts.len() as u64);
            let errors = verdicts.iter().filter(|verdict| verdict.error_type().is_some()).count();
            prop_assert_eq!(tally.errored, errors as u64);
            prop_assert_eq!(tally.scored() + tally.not_evaluated, (verdicts.len() - errors) as u64);
        }
    }

    #[test]
    fn exit_codes() {
        let passed = Tally { passed: 9, not_evaluated: 1, ..Tally::default() };
        let failed = Tally { failed: 1, ..passed };
        let errored = Tally { errored: 1, ..failed };
        assert_eq!([passed, failed, errored].map(|tally| tally.standing().exit_code()), [0, 1, 3]);
    }
}
