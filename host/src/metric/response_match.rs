//! `response_match_score`.

use super::{
    Metric, MetricInput,
    align::{mean_over_turns, reference},
    rouge_1,
};
use crate::{conversation::Turn, eval_set::ExpectedTurn, json::Object, verdict::Verdict};

/// Scores how many words each answer shares with the expected one: the F-measure of ROUGE-1 over stemmed words.
///
/// A turn without an answer, or without an expected one, has an empty text, and an empty text matches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseMatch;

impl Metric for ResponseMatch {
    fn name(&self) -> &str {
        "response_match_score"
    }

    fn description(&self) -> &str {
        "Words the answers share with the expected answers (ROUGE-1, F-measure)."
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        let expected = match reference(input) {
            Ok(expected) => expected,
            Err(not_evaluated) => return Verdict::Answer(not_evaluated),
        };
        let score = |(turn, expected): (&Turn, &ExpectedTurn)| {
            let reference = expected.final_parts.as_deref().unwrap_or_default().join("\n");
            rouge_1(turn.final_text.as_deref().unwrap_or_default(), &reference)
        };
        Verdict::Answer(mean_over_turns(input.turns, expected, Object::new(), score))
    }
}
