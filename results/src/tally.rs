//! Counts of evaluations and the result of a run. No other code decides whether a run passes.
//!
//! "Not evaluated" is neither a pass nor a failure. Evaluations that `--fail-fast` skips are "not run" and counted
//! separately, so that the exit code is that of the failure or error that stopped the run. Evaluations that are already
//! running are finished. Cancelling a run ends them, which is an error.

/// Number of evaluations by outcome. Every evaluation counts in exactly one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Tally {
    /// Scores that pass.
    pub passed: u64,
    /// Scores that fail.
    pub failed: u64,
    /// Errors of evaluators.
    pub errored: u64,
    /// Conversations that the evaluator does not apply to.
    pub not_evaluated: u64,
    /// Evaluations that were not started, because the run stopped early.
    pub not_run: u64,
}

/// Everything that decides the [`Standing`] of a run: counts, errors outside of evaluations, and the tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Balance {
    /// The evaluations.
    pub tally: Tally,
    /// Unusable trace files. Each counts as one error. The number of conversations in them is unknown, so they are never
    /// tolerated.
    pub unusable_files: u64,
    /// Whether the eval set could not be used. It affects all evaluations, so it is never tolerated.
    pub unusable_eval_set: bool,
    /// Whether the run file is missing or incomplete. No result is missing, but the user relies on the file, so it is never
    /// tolerated.
    pub unsaved: bool,
    /// Whether the results of an evaluator are unreliable: answers may belong to other documents, or a worker exited with an
    /// error. It affects all its results, so it is never tolerated.
    pub unreliable: bool,
    /// Evaluators with errors and without any score. Such errors are not random, so they are never tolerated.
    pub never_worked: u64,
    /// Evaluators that have to score at least one conversation and have not. Each counts as a failure.
    pub missing_scores: u64,
    /// Golden cases that have to be recorded and are not. Each counts as a failure.
    pub missing_cases: u64,
    /// Those of the failed evaluations that fail nothing, because gates or a comparison with a baseline judge them.
    pub gated_failures: u64,
    /// Gates that fail. Each counts as a failure.
    pub failed_gates: u64,
    /// Gates that are undecided.
    pub undecided_gates: u64,
    /// Claims about the comparison with a baseline that fail. Each counts as a failure.
    pub failed_claims: u64,
    /// Claims about the comparison with a baseline that are undecided.
    pub undecided_claims: u64,
    /// What undecided gates and claims mean.
    pub inconclusive: Inconclusive,
    /// Whether a run in which nothing was scored may pass; it fails by default.
    pub allow_unevaluated: bool,
    /// Whether the run ended before everything was evaluated. Such a run never passes and tolerates no errors: the share of
    /// errors in the whole is unknown.
    pub partial: bool,
    /// Whether the run ended because all of its gates were decided. What was not run fails nothing then.
    pub decided: bool,
    /// Whether results cannot be read back. That is never tolerated.
    pub unreadable: bool,
    /// Share of errors up to which they are tolerated, in 0..=1.
    pub max_error_rate: f64,
}

/// Result of a run, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Standing {
    /// No failure and no error, and every gate passes.
    Passed,
    /// No failure and no error, but a gate or a claim about a baseline is undecided.
    Inconclusive,
    /// At least one failure.
    Failed,
    /// At least one error that is not tolerated, so the other results are incomplete.
    Errored,
}

/// What undecided gates mean for a run without failures and errors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Inconclusive {
    /// The run is [inconclusive](Standing::Inconclusive).
    #[default]
    Stays,
    /// The run passes.
    Pass,
    /// The run fails.
    Fail,
}

impl Tally {
    /// Returns the number of evaluations with a score: passed and failed.
    pub fn scored(&self) -> u64 {
        self.passed + self.failed
    }

    /// Returns the number of all evaluations.
    pub fn total(&self) -> u64 {
        self.scored() + self.errored + self.not_evaluated + self.not_run
    }

    /// Returns all counts with their names in reports.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("scored", self.scored()),
            ("passed", self.passed),
            ("failed", self.failed),
            ("errored", self.errored),
            ("not_evaluated", self.not_evaluated),
            ("not_run", self.not_run),
            ("total", self.total()),
        ]
    }

    /// Returns the result of these evaluations alone. An error outweighs any number of passes and failures; evaluations that
    /// were not run do not pass. The [`Balance`] decides whether a run without a score passes.
    pub fn standing(&self) -> Standing {
        Balance { tally: *self, allow_unevaluated: true, ..Balance::default() }.standing()
    }
}

impl Balance {
    /// Returns the number of errors of evaluations and of unusable trace files.
    pub fn errors(&self) -> u64 {
        self.tally.errored + self.unusable_files
    }

    /// Returns the share of errors in all evaluations and unusable files, in 0..=1.
    pub fn error_rate(&self) -> f64 {
        match self.tally.total() + self.unusable_files {
            0 => 0.0,
            total => self.errors() as f64 / total as f64,
        }
    }

    /// Returns true if there are errors and all of them are tolerated: their share is small enough, every evaluator with
    /// errors has scores as well, every trace file could be used, and the run is complete.
    pub fn tolerates_errors(&self) -> bool {
        self.errors() > 0
            && self.error_rate() <= self.max_error_rate
            && self.tally.scored() > 0
            && self.never_worked == 0
            && self.unusable_files == 0
            && !self.partial
            && !self.unusable_eval_set
            && !self.unreadable
            && !self.unsaved
            && !self.unreliable
    }

    /// Returns true if the run fails only because it has no score.
    pub fn fails_as_unevaluated(&self) -> bool {
        !self.allow_unevaluated
            && self.tally.scored() == 0
            && !self.has_failures()
            && !self.has_errors()
    }

    /// Returns the result. An error that is not tolerated outweighs any number of passes and failures, and a tolerated error
    /// does not hide a failure. A run without a score fails, unless that is allowed. A failure outweighs gates that are
    /// undecided.
    pub fn standing(&self) -> Standing {
        if self.has_errors() {
            Standing::Errored
        } else if self.has_failures() || self.fails_as_unevaluated() {
            Standing::Failed
        } else {
            match self.inconclusive {
                _ if self.undecided_gates + self.undecided_claims == 0 => Standing::Passed,
                Inconclusive::Stays => Standing::Inconclusive,
                Inconclusive::Pass => Standing::Passed,
                Inconclusive::Fail => Standing::Failed,
            }
        }
    }

    fn has_errors(&self) -> bool {
        self.errors() > 0 && !self.tolerates_errors()
            || self.unusable_eval_set
            || self.unsaved
            || self.unreliable
            || self.unreadable
    }

    fn has_failures(&self) -> bool {
        let failures = self.tally.failed.saturating_sub(self.gated_failures)
            + self.failed_gates
            + self.failed_claims;
        let missing = self.missing_scores + self.missing_cases;
        let not_run = if self.decided { 0 } else { self.tally.not_run };
        failures + missing + not_run > 0 || self.partial
    }
}

impl Standing {
    /// Returns the process exit code of a run: 0, 1, 3 or 4 (2 means that nothing ran).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Inconclusive => 4,
            Self::Failed => 1,
            Self::Errored => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ERROR_TYPES, EvaluationReport, NOT_RUN, Status};

    /// An evaluation with an error and any status, which does not count.
    fn errors() -> impl Strategy<Value = EvaluationReport> {
        let kinds = ERROR_TYPES.into_iter().filter(|kind| *kind != NOT_RUN).collect::<Vec<_>>();
        (prop::sample::select(kinds), answers()).prop_map(|(kind, answer)| EvaluationReport {
            error: Some(String::new()),
            error_type: Some(kind),
            ..answer
        })
    }

    fn answers() -> impl Strategy<Value = EvaluationReport> {
        let status = prop::sample::select(Status::ALL.to_vec());
        (prop::option::of(0.0..=1.0f64), status).prop_map(|(score, status)| EvaluationReport {
            score,
            status,
            ..EvaluationReport::new("check")
        })
    }

    fn not_run() -> EvaluationReport {
        EvaluationReport {
            error: Some(String::new()),
            error_type: Some(NOT_RUN),
            ..EvaluationReport::new("check")
        }
    }

    fn evaluation() -> impl Strategy<Value = EvaluationReport> {
        prop_oneof![6 => answers(), 2 => errors(), 1 => Just(not_run())]
    }

    fn evaluations() -> impl Strategy<Value = Vec<EvaluationReport>> {
        prop::collection::vec(evaluation(), 0..20)
    }

    fn tally<'e>(evaluations: impl IntoIterator<Item = &'e EvaluationReport>) -> Tally {
        let mut tally = Tally::default();
        evaluations.into_iter().for_each(|evaluation| evaluation.count_in(&mut tally));
        tally
    }

    /// Any run under any policy.
    fn balances() -> impl Strategy<Value = Balance> {
        let rate = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64];
        let rarely = || prop::bool::weighted(0.2);
        let files = prop_oneof![3 => Just(0u64), 1 => 1..3u64];
        let doubts = (rarely(), rarely(), rarely());
        let missing = (0..2u64, 0..2u64, 0..2u64, any::<bool>());
        let gates = (any::<bool>(), 0..2u64, 0..2u64, inconclusive());
        let ends = (rarely(), rarely(), rarely());
        let claims = (0..2u64, 0..2u64);
        (evaluations(), files, doubts, missing, (gates, claims), ends, rate).prop_map(
            |(
                evaluations,
                unusable_files,
                (unusable_eval_set, unsaved, unreliable),
                (never_worked, missing_scores, missing_cases, allow_unevaluated),
                (
                    (is_gated, failed_gates, undecided_gates, inconclusive),
                    (failed_claims, undecided_claims),
                ),
                (partial, decided, unreadable),
                max_error_rate,
            )| {
                let tally = tally(&evaluations);
                Balance {
                    tally,
                    unusable_files,
                    unusable_eval_set,
                    unsaved,
                    unreliable,
                    never_worked,
                    missing_scores,
                    missing_cases,
                    gated_failures: if is_gated { tally.failed } else { 0 },
                    failed_gates,
                    undecided_gates,
                    failed_claims,
                    undecided_claims,
                    inconclusive,
                    allow_unevaluated,
                    partial,
                    decided,
                    unreadable,
                    max_error_rate,
                }
            },
        )
    }

    fn inconclusive() -> impl Strategy<Value = Inconclusive> {
        prop::sample::select(vec![Inconclusive::Stays, Inconclusive::Pass, Inconclusive::Fail])
    }

    fn with(balance: Balance, evaluation: &EvaluationReport) -> Balance {
        let (tally, added) = (balance.tally, tally([evaluation]));
        let tally = Tally {
            passed: tally.passed + added.passed,
            failed: tally.failed + added.failed,
            errored: tally.errored + added.errored,
            not_evaluated: tally.not_evaluated + added.not_evaluated,
            not_run: tally.not_run + added.not_run,
        };
        Balance { tally, ..balance }
    }

    proptest! {
        #[test]
        fn an_error_is_never_green_and_never_a_failure(evaluations in evaluations(), error in errors()) {
            let before = tally(&evaluations);
            let after = tally(evaluations.iter().chain([&error]));
            prop_assert_eq!(after.standing(), Standing::Errored);
            prop_assert_eq!(after, Tally { errored: before.errored + 1, ..before });
        }

        #[test]
        fn another_evaluation_never_makes_a_run_better(evaluations in evaluations(), more in evaluations()) {
            let standing = |evaluations: &[EvaluationReport]| tally(evaluations).standing();
            let (before, all) = (standing(&evaluations), standing(&[&evaluations[..], &more].concat()));
            prop_assert_eq!(all, before.max(standing(&more)));
        }

        #[test]
        fn the_order_does_not_matter(
            (evaluations, shuffled) in evaluations().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            prop_assert_eq!(tally(&evaluations), tally(&shuffled));
        }

        #[test]
        fn denominators_add_up(evaluations in evaluations()) {
            let tally = tally(&evaluations);
            prop_assert_eq!(tally.total(), evaluations.len() as u64);
            let kinds: Vec<_> = evaluations.iter().filter_map(|it| it.error_type).collect();
            let not_run = kinds.iter().filter(|kind| **kind == "not_run").count();
            prop_assert_eq!(tally.not_run, not_run as u64);
            prop_assert_eq!(tally.errored, (kinds.len() - not_run) as u64);
            prop_assert_eq!(tally.scored() + tally.not_evaluated, (evaluations.len() - kinds.len()) as u64);
        }

        #[test]
        fn an_error_never_makes_a_run_better_whatever_is_tolerated(balance in balances(), error in errors()) {
            let file = Balance { unusable_files: balance.unusable_files + 1, ..balance };
            let eval_set = Balance { unusable_eval_set: true, ..balance };
            let unreadable = Balance { unreadable: true, ..balance };
            prop_assert_eq!(unreadable.standing(), Standing::Errored);
            let unsaved = Balance { unsaved: true, ..balance };
            let unreliable = Balance { unreliable: true, ..balance };
            prop_assert_eq!(unreliable.standing(), Standing::Errored);
            for worse in [with(balance, &error), file, eval_set, unsaved, unreliable, unreadable] {
                prop_assert!(worse.standing() >= balance.standing(), "{balance:?} {worse:?}");
            }
        }

        #[test]
        fn no_tolerance_makes_a_failure_green(balance in balances(), failures in 1..5u64) {
            let failed = Tally { failed: balance.tally.failed + failures, ..balance.tally };
            for worse in [
                Balance { tally: failed, ..balance },
                Balance { missing_scores: failures, ..balance },
                Balance { missing_cases: failures, ..balance },
                Balance { failed_gates: failures, ..balance },
                Balance { decided: false, ..with(balance, &not_run()) },
                Balance { partial: true, ..balance },
            ] {
                prop_assert!(worse.standing() >= Standing::Failed, "{worse:?}");
            }
        }

        #[test]
        fn errors_are_tolerated_only_next_to_scores_in_a_whole_run_and_up_to_their_share(balance in balances()) {
            let without = Balance { max_error_rate: 0.0, ..balance };
            prop_assert!(!without.tolerates_errors());
            if balance.tolerates_errors() {
                prop_assert!(balance.tally.scored() > 0 && !balance.partial);
                prop_assert!(balance.never_worked == 0 && balance.unusable_files == 0);
                prop_assert!(!balance.unusable_eval_set && !balance.unreadable);
                prop_assert!(balance.errors() > 0 && balance.error_rate() <= balance.max_error_rate);
                let tally = Tally { errored: 0, ..balance.tally };
                let rest = Balance { tally, ..balance };
                prop_assert_eq!(balance.standing(), rest.standing());
            } else {
                prop_assert_eq!(balance.standing(), without.standing());
            }
        }

        #[test]
        fn an_undecided_gate_never_makes_a_run_better(balance in balances()) {
            let more = Balance { undecided_gates: balance.undecided_gates + 1, ..balance };
            prop_assert!(more.standing() >= balance.standing());
            let strict = Balance { inconclusive: Inconclusive::Stays, ..more };
            prop_assert!(strict.standing() >= Standing::Inconclusive);
            let lenient = Balance { inconclusive: Inconclusive::Pass, ..more };
            prop_assert!(lenient.standing() <= more.standing());
        }

        #[test]
        fn to_tolerate_more_never_makes_a_run_worse(balance in balances(), rate in 0.0..=1.0f64) {
            let more = Balance { max_error_rate: balance.max_error_rate.max(rate), ..balance };
            prop_assert!(more.standing() <= balance.standing());
        }
    }

    #[test]
    fn gates_judge_evaluators_in_place_of_their_thresholds() {
        let tally = Tally { passed: 8, failed: 2, ..Tally::default() };
        let balance = Balance { tally, gated_failures: 2, ..Balance::default() };
        assert_eq!(balance.standing(), Standing::Passed);
        let other = Balance { gated_failures: 1, ..balance };
        assert_eq!(other.standing(), Standing::Failed);
        let undecided = Balance { undecided_gates: 1, ..balance };
        assert_eq!(undecided.standing(), Standing::Inconclusive);
        assert_eq!(undecided.standing().exit_code(), 4);
        let failed = Balance { failed_gates: 1, ..undecided };
        assert_eq!(failed.standing(), Standing::Failed);
        let errored = Balance { unreliable: true, ..failed };
        assert_eq!(errored.standing(), Standing::Errored);
        let fail = Balance { inconclusive: Inconclusive::Fail, ..undecided };
        assert_eq!(fail.standing(), Standing::Failed);
    }

    #[test]
    fn exit_codes() {
        let passed = Tally { passed: 9, not_evaluated: 1, ..Tally::default() };
        let failed = Tally { failed: 1, ..passed };
        let errored = Tally { errored: 1, ..failed };
        let stopped = Tally { not_run: 1, ..passed };
        assert_eq!(
            [passed, stopped, failed, errored].map(|tally| tally.standing().exit_code()),
            [0, 1, 1, 3]
        );
    }

    #[test]
    fn a_share_of_evaluations_is_tolerated() {
        let tally = Tally { passed: 8, errored: 2, ..Tally::default() };
        let balance = Balance { tally, max_error_rate: 0.2, ..Balance::default() };
        assert_eq!((balance.errors(), balance.error_rate()), (2, 0.2));
        assert_eq!(balance.standing(), Standing::Passed);
        let strict = Balance { max_error_rate: 0.199, ..balance };
        assert_eq!(strict.standing(), Standing::Errored);
        let undefined = Balance { max_error_rate: f64::NAN, ..balance };
        assert_eq!(undefined.standing(), Standing::Errored);
        let nothing =
            Balance { max_error_rate: 1.0, allow_unevaluated: true, ..Balance::default() };
        assert_eq!((nothing.error_rate(), nothing.standing()), (0.0, Standing::Passed));
    }

    #[test]
    fn what_is_not_chance_is_never_tolerated() {
        let tally = Tally { passed: 8, errored: 1, ..Tally::default() };
        let tolerant = Balance { tally, max_error_rate: 1.0, ..Balance::default() };
        assert_eq!(tolerant.standing(), Standing::Passed);
        for broken in
            [Balance { never_worked: 1, ..tolerant }, Balance { unusable_files: 1, ..tolerant }]
        {
            assert_eq!(broken.standing(), Standing::Errored, "{broken:?}");
        }
    }

    #[test]
    fn a_run_in_which_nothing_was_scored_fails_unless_that_is_allowed() {
        for not_evaluated in [0, 3] {
            let tally = Tally { not_evaluated, ..Tally::default() };
            let strict = Balance { tally, ..Balance::default() };
            assert!(strict.fails_as_unevaluated());
            assert_eq!(strict.standing(), Standing::Failed);
            let allowed = Balance { allow_unevaluated: true, ..strict };
            assert_eq!(allowed.standing(), Standing::Passed);
            // Other failures and errors are not excused by `allow_unevaluated`, and are named first.
            for (worse, standing) in [
                (Balance { missing_cases: 1, ..strict }, Standing::Failed),
                (Balance { partial: true, ..strict }, Standing::Failed),
                (Balance { unreliable: true, ..strict }, Standing::Errored),
            ] {
                assert!(!worse.fails_as_unevaluated());
                assert_eq!(worse.standing(), standing);
                assert_eq!(Balance { allow_unevaluated: true, ..worse }.standing(), standing);
            }
        }
    }
}
