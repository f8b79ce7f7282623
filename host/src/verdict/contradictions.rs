//! What an answer says against itself.

use super::{Answer, Status};

impl Answer {
    /// Returns what does not fit together in a valid answer, a sentence each.
    ///
    /// The answer counts all the same, as the contract wants it, but whoever relies on it should know.
    #[must_use]
    pub fn contradictions(&self, threshold: f64) -> Vec<String> {
        let mut found = Vec::new();
        match (self.status, self.score) {
            (Some(Status::Passed), Some(score)) if score < threshold => found.push(format!(
                "it says PASSED, though its score {score} is below the threshold {threshold}"
            )),
            (Some(Status::Failed), Some(score)) if score >= threshold => found.push(format!(
                "it says FAILED, though its score {score} reaches the threshold {threshold}"
            )),
            _ => {}
        }
        let outside = (1..).zip(&self.per_invocation_scores).find_map(|(turn, score)| {
            let score = score.filter(|score| !(0.0..=1.0).contains(score))?;
            Some(format!("it scores turn {turn} with {score}, which is outside of 0..=1"))
        });
        found.extend(outside);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_against_themselves() {
        let answer = |score, status, per_turn: &[f64]| Answer {
            score: Some(score),
            status,
            per_invocation_scores: per_turn.iter().copied().map(Some).collect(),
            details: None,
        };
        let found = |answer: Answer| answer.contradictions(0.5).join("; ");
        assert_eq!(found(answer(0.5, None, &[1.0, 0.0])), "");
        assert_eq!(found(answer(0.1, None, &[])), "");
        assert_eq!(found(answer(0.9, Some(Status::NotEvaluated), &[1.0])), "");
        assert_eq!(found(answer(0.5, Some(Status::Passed), &[1.0, 1.0])), "");
        assert_eq!(
            found(answer(0.4, Some(Status::Passed), &[])),
            "it says PASSED, though its score 0.4 is below the threshold 0.5"
        );
        assert_eq!(
            found(answer(0.5, Some(Status::Failed), &[1.0, 1.5, -1.0])),
            "it says FAILED, though its score 0.5 reaches the threshold 0.5; \
             it scores turn 2 with 1.5, which is outside of 0..=1"
        );
    }
}
