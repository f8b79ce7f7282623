//! What an evaluator made of an edit.

use serde::Serialize;

use crate::kind::Effect;

/// Difference of scores from which on damage is noticed, and evaluations of the same conversation differ.
pub const NOTICED: f64 = 0.01;

/// Difference of scores that rounding may make.
const ROUNDING: f64 = 1e-9;

/// Result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum Observed {
    /// A score, and whether the evaluation passes.
    Scored {
        /// The score.
        score: f64,
        /// Whether the evaluation passes.
        passed: bool,
    },
    /// The evaluator did not apply.
    NotEvaluated,
    /// The evaluator broke.
    Error {
        /// Stable name of the kind of error.
        error_type: String,
        /// The message.
        message: String,
    },
}

impl Observed {
    /// Returns the score.
    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Scored { score, .. } => Some(*score),
            _ => None,
        }
    }
}

/// Outcome of a damaged conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It passed before and does not pass now.
    Killed,
    /// Its score fell, and it still passes.
    Noticed,
    /// It had to be noticed and was not.
    Survived,
    /// It need not be noticed and was not, or must not be and was not.
    Allowed,
    /// It must not be noticed, and was.
    FalseAlarm,
    /// The evaluator broke.
    Broke,
}

impl Outcome {
    /// Returns the outcome of damage with this effect, of a conversation that passes with a score, which varies by up to `noise`.
    pub fn of(effect: Effect, before: f64, noise: f64, observed: &Observed) -> Self {
        let (score, passed) = match observed {
            Observed::Error { .. } => return Self::Broke,
            Observed::Scored { score, passed } => (Some(*score), Some(*passed)),
            Observed::NotEvaluated => (None, None),
        };
        let has_changed = differs(before, score, noise) || passed != Some(true);
        match effect {
            Effect::Same if has_changed => Self::FalseAlarm,
            Effect::Pass if passed != Some(true) => Self::FalseAlarm,
            Effect::Same | Effect::Pass => Self::Allowed,
            _ if passed == Some(false) => Self::Killed,
            _ if score.is_some_and(|score| before - score >= NOTICED) => Self::Noticed,
            Effect::Down => Self::Survived,
            Effect::Any => Self::Allowed,
        }
    }
}

/// Returns true if a score differs from the one before.
pub(crate) fn differs(before: f64, score: Option<f64>, noise: f64) -> bool {
    score.is_none_or(|score| (score - before).abs() > noise.max(ROUNDING))
}

/// Returns true if a score is above a limit.
pub(crate) fn exceeds(score: f64, limit: f64, noise: f64) -> bool {
    score > limit + noise.max(ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_follow_from_the_effect() {
        let scored = |score: f64| Observed::Scored { score, passed: score >= 0.5 };
        let error = Observed::Error { error_type: "timed_out".to_owned(), message: String::new() };
        for (effect, observed, expected) in [
            (Effect::Down, scored(0.4), Outcome::Killed),
            (Effect::Down, scored(0.99), Outcome::Noticed),
            (Effect::Down, scored(0.995), Outcome::Survived),
            (Effect::Down, scored(1.0), Outcome::Survived),
            (Effect::Down, Observed::NotEvaluated, Outcome::Survived),
            (Effect::Down, error.clone(), Outcome::Broke),
            (Effect::Any, scored(1.0), Outcome::Allowed),
            (Effect::Any, scored(0.0), Outcome::Killed),
            (Effect::Any, Observed::NotEvaluated, Outcome::Allowed),
            (Effect::Same, scored(1.0), Outcome::Allowed),
            (Effect::Same, scored(0.999), Outcome::FalseAlarm),
            (Effect::Same, Observed::NotEvaluated, Outcome::FalseAlarm),
            (Effect::Same, error, Outcome::Broke),
            (Effect::Pass, scored(0.6), Outcome::Allowed),
            (Effect::Pass, scored(0.4), Outcome::FalseAlarm),
        ] {
            assert_eq!(Outcome::of(effect, 1.0, 0.0, &observed), expected, "{effect} {observed:?}");
        }
        assert_eq!(Outcome::of(Effect::Same, 1.0, 0.005, &scored(0.996)), Outcome::Allowed);
    }
}
