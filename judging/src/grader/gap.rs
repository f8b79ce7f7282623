//! Values that do not exist.

use evaluator_metrics::Outcome;

/// Reason why a value does not exist.
#[derive(Clone, Debug)]
pub(super) enum Gap {
    /// There is nothing to compare: the turn is not evaluated.
    NotEvaluated(String),
    /// The producer did not record it: the conversation is not evaluated.
    Unknown(String),
    /// The turn does not have it, which is an error of the evaluation.
    Missing(String),
}

impl Gap {
    /// Names the grader of a multi grader that has the gap.
    pub(super) fn of_part(self, name: Option<&str>) -> Self {
        let named = |reason: String| match name {
            Some(name) => format!("{name}: {reason}"),
            None => reason,
        };
        match self {
            Self::NotEvaluated(reason) => Self::NotEvaluated(named(reason)),
            Self::Missing(reason) => Self::Missing(named(reason)),
            Self::Unknown(reason) => Self::Unknown(reason),
        }
    }

    /// Returns the reason why the turn at this index is not evaluated.
    ///
    /// # Errors
    ///
    /// The outcome of a conversation that is not evaluated, or cannot be.
    pub(super) fn of_turn(self, index: usize) -> Result<String, Outcome> {
        match self {
            Self::NotEvaluated(reason) => Ok(reason),
            Self::Unknown(reason) => Err(Outcome::not_evaluated(reason)),
            Self::Missing(reason) => {
                Err(Outcome::Failed { reason: format!("turn {}: {reason}", index + 1) })
            }
        }
    }
}
