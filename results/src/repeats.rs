//! Repeats of an evaluation, and what they amount to.

use super::{EvaluationOutcome, EvaluationReport};

impl EvaluationReport {
    /// Combines the repeats of an evaluation. A single one is returned as it is.
    ///
    /// The combination is an error if a repeat is, and not run if a repeat was not run. It passes if more than half of the
    /// repeats pass; it is not evaluated if those that are not evaluated could decide; else it fails. Its score and the scores
    /// of its turns are means, its duration is the sum. Everything else is that of the first repeat with the same outcome.
    pub fn combine(mut repeats: Vec<Self>) -> Self {
        if repeats.len() < 2 {
            return repeats.pop().unwrap_or_default();
        }
        let outcome = outcome(&repeats);
        let first = repeats.iter().find(|it| it.outcome() == outcome);
        let mut combined = first.cloned().unwrap_or_default();
        if matches!(outcome, EvaluationOutcome::Passed | EvaluationOutcome::Failed) {
            let scored = || repeats.iter().filter(|it| it.is_scored());
            combined.score = mean(scored().filter_map(|it| it.score));
            let turns = combined.per_invocation_scores.len();
            let alike = || scored().filter(|it| it.per_invocation_scores.len() == turns);
            combined.per_invocation_scores = (0..turns)
                .map(|turn| mean(alike().filter_map(|it| it.per_invocation_scores[turn])))
                .collect();
        }
        combined.duration = repeats
            .iter()
            .filter_map(|it| it.duration)
            .reduce(|one, other| one.saturating_add(other));
        combined.attempts = repeats.iter().map(|it| it.attempts).max().unwrap_or(1);
        combined.warnings.clear();
        for warning in repeats.iter().flat_map(|it| &it.warnings) {
            if !combined.warnings.contains(warning) {
                combined.warnings.push(warning.clone());
            }
        }
        let of = |outcome| repeats.iter().filter(|it| it.outcome() == outcome).count();
        for (outcome, what) in [
            (EvaluationOutcome::Error, "broke"),
            (EvaluationOutcome::NotEvaluated, "were not evaluated"),
        ] {
            let (some, all) = (of(outcome), repeats.len());
            if some > 0 && some < all {
                combined.warnings.push(format!("{some} of {all} repeats {what}"));
            }
        }
        combined.repeats = repeats;
        combined
    }

    /// Returns how many repeats passed, and how many there are; `None` if the evaluation was not repeated.
    pub fn passed_repeats(&self) -> Option<(usize, usize)> {
        let passed = self.repeats.iter().filter(|it| it.outcome() == EvaluationOutcome::Passed);
        (!self.repeats.is_empty()).then(|| (passed.count(), self.repeats.len()))
    }

    /// Returns how many repeats passed, and how many have a value; `None` if the evaluation was not repeated.
    pub(crate) fn passed_of_scored(&self) -> Option<(usize, usize)> {
        let scored = self.repeats.iter().filter(|it| it.is_scored()).count();
        self.passed_repeats().map(|(passed, _)| (passed, scored))
    }

    /// Returns true if repeats with a value differ in their score or outcome.
    pub fn repeats_differ(&self) -> bool {
        let mut scored = self.repeats.iter().filter(|it| it.is_scored());
        let key = |it: &Self| (it.outcome(), it.score.map(f64::to_bits));
        scored.next().is_some_and(|first| scored.any(|other| key(other) != key(first)))
    }

    /// Returns the evaluations that were started for this one: its repeats, or itself.
    pub fn each_repeat(&self) -> impl Iterator<Item = &Self> {
        let own = self.repeats.is_empty().then_some(self);
        own.into_iter().chain(&self.repeats)
    }
}

fn outcome(repeats: &[EvaluationReport]) -> EvaluationOutcome {
    let of = |outcome| repeats.iter().filter(|it| it.outcome() == outcome).count();
    let is_majority = |count| 2 * count > repeats.len();
    let passed = of(EvaluationOutcome::Passed);
    if of(EvaluationOutcome::Error) > 0 {
        EvaluationOutcome::Error
    } else if of(EvaluationOutcome::NotRun) > 0 {
        EvaluationOutcome::NotRun
    } else if is_majority(passed) {
        EvaluationOutcome::Passed
    } else if is_majority(passed + of(EvaluationOutcome::NotEvaluated)) {
        EvaluationOutcome::NotEvaluated
    } else {
        EvaluationOutcome::Failed
    }
}

/// Returns the mean; that of equal numbers is the number itself.
fn mean(mut numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let first = numbers.next()?;
    let (mut sum, mut count) = (0.0, 1.0);
    for number in numbers {
        sum += number - first;
        count += 1.0;
    }
    Some(first + sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NOT_RUN, Status};

    /// Repeats by letters: passed, failed, error, not evaluated, not run.
    fn repeats(letters: &str) -> Vec<EvaluationReport> {
        let repeat = |letter| {
            let mut report = EvaluationReport::new("check");
            match letter {
                'p' => (report.status, report.score) = (Status::Passed, Some(0.9)),
                'f' => (report.status, report.score) = (Status::Failed, Some(0.3)),
                'n' => {}
                _ => {
                    report.error = Some("broke".to_owned());
                    report.error_type = Some(if letter == '-' { NOT_RUN } else { "exited" });
                }
            }
            report
        };
        letters.chars().map(repeat).collect()
    }

    #[test]
    fn more_than_half_of_the_repeats_have_to_pass() {
        use EvaluationOutcome::{Error, Failed, NotEvaluated, NotRun, Passed};
        for (letters, expected) in [
            ("ppf", Passed),
            ("pff", Failed),
            ("pf", Failed),
            ("ppfff", Failed),
            ("ppe", Error),
            ("pp-", NotRun),
            ("e-", Error),
            ("ppn", Passed),
            ("pfn", NotEvaluated),
            ("ffn", Failed),
            ("pn", NotEvaluated),
            ("nnn", NotEvaluated),
            ("p", Passed),
        ] {
            let combined = EvaluationReport::combine(repeats(letters));
            assert_eq!(combined.outcome(), expected, "{letters}");
            let kept = if letters.len() > 1 { letters.len() } else { 0 };
            assert_eq!(combined.repeats.len(), kept, "{letters}");
        }
    }

    #[test]
    fn the_score_is_the_mean_and_that_of_equal_scores_is_exact() {
        let combined = EvaluationReport::combine(repeats("pfp"));
        assert!((combined.score.unwrap() - 0.7).abs() < 1e-12);
        assert_eq!((combined.passed_repeats(), combined.repeats_differ()), (Some((2, 3)), true));
        let mut equal = repeats("ppp");
        equal.iter_mut().for_each(|it| it.score = Some(0.1));
        equal.iter_mut().for_each(|it| it.per_invocation_scores = vec![Some(0.1), None]);
        let combined = EvaluationReport::combine(equal);
        assert_eq!(combined.score, Some(0.1));
        assert_eq!(combined.per_invocation_scores, [Some(0.1), None]);
        assert!(!combined.repeats_differ());
    }

    #[test]
    fn repeats_without_a_value_are_named() {
        let combined = EvaluationReport::combine(repeats("pepn"));
        assert_eq!(
            combined.warnings,
            ["1 of 4 repeats broke", "1 of 4 repeats were not evaluated"]
        );
        assert_eq!((combined.score, combined.passed_repeats()), (None, Some((2, 4))));
    }
}
