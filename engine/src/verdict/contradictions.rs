//! Contradictions within answers.

use super::Answer;
use crate::report::contradiction;

/// Returns contradictions within an answer, one sentence each. A contradictory answer is valid.
pub fn contradictions(answer: &Answer, threshold: f64) -> Vec<String> {
    let stated = answer.status.and_then(|status| contradiction(status, answer.score, threshold));
    let outside = (1..).zip(&answer.per_invocation_scores).find_map(|(turn, score)| {
        let score = score.filter(|score| !(0.0..=1.0).contains(score))?;
        Some(format!("it scores turn {turn} with {score}, which is outside of 0..=1"))
    });
    stated.into_iter().chain(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Status;

    #[test]
    fn contradictions_within_an_answer_are_found() {
        let answer = |score, status, per_turn: &[f64]| Answer {
            score: Some(score),
            status,
            per_invocation_scores: per_turn.iter().copied().map(Some).collect(),
            ..Answer::default()
        };
        let found = |answer: Answer| contradictions(&answer, 0.5).join("; ");
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
