//! A score, and what was observed for it.

use serde::Serialize;

/// What was observed about one part of what is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The observation.
    pub text: String,
    /// Whether it speaks for the answer.
    pub passed: bool,
    /// What it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

impl Row {
    /// Creates a row.
    pub fn new(text: impl Into<String>, passed: bool) -> Self {
        Self { text: text.into(), passed, evidence: None }
    }
}

/// A score with everything that led to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// From 0 to 1.
    pub score: f64,
    /// Observations.
    pub rows: Vec<Row>,
    /// Reason of the whole.
    pub reason: Option<String>,
    /// Whether it passes, if the score does not decide.
    pub passes: Option<bool>,
    /// Ids of required items that were missed.
    pub missed: Vec<String>,
}

impl Score {
    /// Creates a score with its observations.
    pub fn new(score: f64, rows: Vec<Row>) -> Self {
        // A score of -0 is 0.
        Self { score: score + 0.0, rows, ..Self::default() }
    }

    /// Creates a score of 1 or 0.
    pub fn of(holds: bool, rows: Vec<Row>) -> Self {
        Self::new(f64::from(u8::from(holds)), rows)
    }
}

/// Returns the share of `part` in `whole`.
#[expect(clippy::cast_precision_loss, reason = "outputs have fewer than 2^53 parts")]
pub(super) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_of_minus_zero_is_zero() {
        assert!(Score::new(-0.0, Vec::new()).score.is_sign_positive());
    }
}
