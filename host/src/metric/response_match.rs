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

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        let expected = match reference(input) {
            Ok(expected) => expected,
            Err(not_evaluated) => return Verdict::Answer(not_evaluated),
        };
        let score = |(turn, expected): (&Turn, &ExpectedTurn)| {
            let reference = expected.final_text("\n").unwrap_or_default();
            rouge_1(turn.final_text.as_deref().unwrap_or_default(), &reference)
        };
        Verdict::Answer(mean_over_turns(input.turns, expected, Object::default(), score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        eval_set::EvalCase,
        metric::{MetricInput, MetricSettings},
        trace::SpanStatus,
    };

    fn score(answer: Option<&str>, expected: Option<&[&str]>) -> Option<f64> {
        let turn = Turn {
            trace_id: "t".into(),
            span_id: "s".to_owned(),
            root_anchored: true,
            agent_name: None,
            user_text: None,
            final_text: answer.map(str::to_owned),
            llm_calls: Vec::new(),
            tool_calls: Vec::new(),
            start_ns: 0,
            end_ns: 0,
            status: SpanStatus::Unset,
            judged: Default::default(),
        };
        let parts = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        let expected = ExpectedTurn { final_parts: expected.map(parts), ..ExpectedTurn::default() };
        let case = EvalCase { id: "c".to_owned(), turns: vec![expected] };
        let verdict = ResponseMatch.evaluate(&MetricInput {
            turns: &[turn],
            golden: Ok(&case),
            threshold: 0.5,
            settings: &MetricSettings::default(),
        });
        match verdict {
            Verdict::Answer(answer) => answer.score,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_of_the_expected_answer_are_lines() {
        assert_eq!(score(Some("one two"), Some(&["one", "two"])), Some(1.0));
        assert_eq!(score(Some("onetwo"), Some(&["one", "two"])), Some(0.0));
    }

    #[test]
    fn an_answer_that_is_missing_matches_nothing() {
        assert_eq!(score(None, Some(&["one"])), Some(0.0));
        assert_eq!(score(Some("one"), None), Some(0.0));
        assert_eq!(score(None, None), Some(0.0));
    }
}
