//! Metrics that measure what a conversation cost: `tool_call_count_v1`, `inference_call_count_v1`, `token_usage_v1`
//! and `invocation_duration_v1`.
//!
//! They are those of Google's Agent Development Kit. A count is not a score, so by themselves they pass and fail nothing:
//! the numbers stand in the details, and the status is "not evaluated". A `max` in their entry makes a budget of
//! it, and that can be scored:
//!
//! ```text
//! score of a turn = 1                 if its value <= max
//!                   max / its value   otherwise
//! score           = mean over the turns that have a value
//! ```
//!
//! So a conversation that keeps to its budget in every turn scores 1, and one that takes twice as much scores 0.5. An
//! entry with `max` has the threshold 1 unless it says otherwise.

mod facts;
mod measure;

use self::{
    facts::Facts,
    measure::{Measured, Row},
};
use super::{Metric, MetricInput, align::not_evaluated};
use crate::{
    conversation::Turn,
    json::{Object, Value},
    verdict::{Answer, Status, Verdict},
};

const NO_BUDGET: &str = "it measures; give it a `max` to score turns against";

/// Measures one thing of every turn, and scores it where the config has a budget for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Efficiency {
    measure: Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    ToolCalls,
    InferenceCalls,
    Tokens,
    Duration,
}

impl Efficiency {
    /// `tool_call_count_v1`: calls of tools. Every turn has a value; overall is the mean of the turns.
    pub const TOOL_CALLS: Self = Self { measure: Measure::ToolCalls };

    /// `inference_call_count_v1`: calls of models, those that tools made included. A turn for which the recording has no
    /// call of a model has no value, because some recorders see none; overall is the mean of the turns that have one.
    pub const INFERENCE_CALLS: Self = Self { measure: Measure::InferenceCalls };

    /// `token_usage_v1`: tokens read and written by models. A turn in which no call reported its usage has no value. Overall
    /// is the sum over the number of *all* turns.
    pub const TOKENS: Self = Self { measure: Measure::Tokens };

    /// `invocation_duration_v1`: seconds from the start of a turn to its end, to the millisecond; overall is the mean of the
    /// turns. The details divide it into time in which models ran, time in which tools ran, and the rest.
    pub const DURATION: Self = Self { measure: Measure::Duration };

    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::TOOL_CALLS, Self::INFERENCE_CALLS, Self::TOKENS, Self::DURATION];

    fn measured(self, facts: &[Facts]) -> Measured {
        match self.measure {
            Measure::ToolCalls => measure::tool_calls(facts),
            Measure::InferenceCalls => measure::inference_calls(facts),
            Measure::Tokens => measure::tokens(facts),
            Measure::Duration => measure::duration(facts),
        }
    }

    fn unit(self) -> &'static str {
        match self.measure {
            Measure::ToolCalls => "tool calls",
            Measure::InferenceCalls => "model calls",
            Measure::Tokens => "tokens",
            Measure::Duration => "seconds",
        }
    }

    /// What the parts of a value are called in the details; counts of calls have none.
    fn parts(self) -> Option<&'static str> {
        match self.measure {
            Measure::ToolCalls | Measure::InferenceCalls => None,
            Measure::Tokens => Some("token_usage_details"),
            Measure::Duration => Some("duration_details"),
        }
    }

    fn details(self, turns: &[Turn], measured: &Measured) -> Object {
        let rows = turns.iter().zip(&measured.rows).map(|(turn, row)| {
            let mut object = self.row(row);
            object.shift_insert(0, "invocation_id".to_owned(), turn.span_id.as_str().into());
            Value::Object(object)
        });
        let mut details = Object::default();
        details.insert("unit".to_owned(), self.unit().into());
        details.insert("overall".to_owned(), Value::Object(self.row(&measured.overall)));
        details.insert("invocations".to_owned(), Value::Array(rows.collect()));
        details.insert("measured".to_owned(), self.sentence(measured).into());
        details
    }

    fn row(self, row: &Row) -> Object {
        let mut object = Object::from_iter([("value".to_owned(), self.number(row.value))]);
        if let Some(key) = self.parts() {
            let parts = row.parts.iter().filter(|(_, value)| value.is_some());
            let parts = parts.map(|(name, value)| ((*name).to_owned(), self.number(*value)));
            object.insert(key.to_owned(), Value::Object(parts.collect()));
        }
        object
    }

    /// Whole counts are integers; means of counts, and seconds, are not.
    fn number(self, value: Option<f64>) -> Value {
        match value {
            None => Value::Null,
            Some(value) if self.measure != Measure::Duration && value.fract() == 0.0 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "a count is far below 2^127")]
                Value::from(value as i128)
            }
            Some(value) => Value::Float(value),
        }
    }

    /// `1.5 per turn (1, 2)`, for people.
    fn sentence(self, measured: &Measured) -> String {
        let Some(overall) = measured.overall.value else { return "not recorded".to_owned() };
        let unit = if self.measure == Measure::Duration { " s" } else { "" };
        let mut text = format!("{}{unit}", short(overall));
        if measured.rows.len() > 1 {
            let values = measured.rows.iter().map(|row| row.value);
            let values = values.map(|value| value.map_or_else(|| "N/A".to_owned(), short));
            text += &format!(" per turn ({})", values.collect::<Vec<_>>().join(", "));
        }
        text
    }
}

/// At most three decimals, and none where there is nothing to see in them.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Metric for Efficiency {
    fn name(&self) -> &str {
        match self.measure {
            Measure::ToolCalls => "tool_call_count_v1",
            Measure::InferenceCalls => "inference_call_count_v1",
            Measure::Tokens => "token_usage_v1",
            Measure::Duration => "invocation_duration_v1",
        }
    }

    fn description(&self) -> &str {
        match self.measure {
            Measure::ToolCalls => "Number of tool calls of each turn; scored if `max` is set.",
            Measure::InferenceCalls => {
                "Number of model calls of each turn; scored if `max` is set."
            }
            Measure::Tokens => "Number of tokens of each turn; scored if `max` is set.",
            Measure::Duration => "Duration of each turn in seconds; scored if `max` is set.",
        }
    }

    fn compares_golden_turns(&self) -> bool {
        false
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::metric::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        if input.turns.is_empty() {
            return Verdict::Answer(not_evaluated("no turns to measure"));
        }
        let facts: Vec<Facts> = input.turns.iter().map(Facts::of).collect();
        let measured = self.measured(&facts);
        let mut details = self.details(input.turns, &measured);
        let reason = match (input.settings.max, measured.overall.value) {
            (_, None) => Some(format!("the recording does not say how many {}", self.unit())),
            (None, Some(_)) => Some(NO_BUDGET.to_owned()),
            (Some(_), Some(_)) => None,
        };
        let (None, Some(max)) = (&reason, input.settings.max) else {
            details.shift_insert(0, "reason".to_owned(), reason.unwrap_or_default().into());
            return Verdict::Answer(Answer {
                status: Some(Status::NotEvaluated),
                details: Some(details),
                ..Answer::default()
            });
        };
        details.insert("max".to_owned(), self.number(Some(max)));
        let scores: Vec<Option<f64>> =
            measured.rows.iter().map(|row| row.value.map(|value| within(value, max))).collect();
        Verdict::Answer(Answer {
            score: measure::mean(scores.iter().copied()),
            status: None,
            per_invocation_scores: scores,
            details: Some(details),
        })
    }
}

/// 1 within the budget, and the less the more it was exceeded.
fn within(value: f64, max: f64) -> f64 {
    if value <= max { 1.0 } else { max / value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        conversation::{LlmCall, ToolCall, Usage},
        eval_set::Unmatched,
        json::to_python,
        metric::MetricSettings,
        trace::SpanStatus,
    };

    fn turn(tools: usize, usage: &[Option<(i64, i64)>]) -> Turn {
        let call = |usage: &Option<(i64, i64)>| LlmCall {
            usage: usage.map(|(input_tokens, output_tokens)| Usage {
                input_tokens,
                output_tokens,
                ..Usage::default()
            }),
            start_ns: 1_000_000_000,
            end_ns: 1_500_000_000,
            ..LlmCall::default()
        };
        Turn {
            trace_id: "t".into(),
            span_id: format!("s{tools}"),
            root_anchored: true,
            agent_name: None,
            user_text: None,
            final_text: None,
            llm_calls: usage.iter().map(call).collect(),
            tool_calls: vec![ToolCall::default(); tools],
            start_ns: 1_000_000_000,
            end_ns: 3_000_400_000,
            status: SpanStatus::Unset,
            judged: Default::default(),
        }
    }

    fn answer(metric: Efficiency, turns: &[Turn], max: Option<f64>) -> Answer {
        let settings = MetricSettings { max, ..MetricSettings::default() };
        let golden = Err(&Unmatched::NoEvalSet);
        let input = MetricInput { turns, golden, threshold: 1.0, settings: &settings };
        match metric.evaluate(&input) {
            Verdict::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn details(answer: &Answer) -> String {
        to_python(&Value::Object(answer.details.clone().unwrap()))
    }

    #[test]
    fn without_a_budget_numbers_are_no_scores() {
        let turns = [turn(1, &[Some((10, 5)), None]), turn(2, &[])];
        let mut shown = Vec::new();
        for metric in Efficiency::ALL {
            let answer = answer(metric, &turns, None);
            assert_eq!((answer.score, answer.status_for(0.0)), (None, Status::NotEvaluated));
            assert!(answer.per_invocation_scores.is_empty());
            let details = answer.details.unwrap();
            assert_eq!(details["reason"].as_str(), Some(NO_BUDGET));
            shown.push(details["measured"].as_str().unwrap().to_owned());
        }
        assert_eq!(
            shown,
            [
                "1.5 per turn (1, 2)",
                "2 per turn (2, N/A)",
                "7.5 per turn (15, N/A)",
                "2 s per turn (2, 2)",
            ]
        );
    }

    #[test]
    fn details_hold_the_parts_of_a_value() {
        let answer = answer(Efficiency::TOKENS, &[turn(0, &[Some((10, 5))])], None);
        let parts = r#"{"token_usage_details": {"candidates_tokens": 5, "input_tokens": 10, "output_tokens": 5, "prompt_tokens": 10, "total_tokens": 15}, "value": 15}"#;
        let row = parts.replacen('{', r#"{"invocation_id": "s0", "#, 1);
        assert_eq!(
            details(&answer),
            format!(
                r#"{{"invocations": [{row}], "measured": "15", "overall": {parts}, "reason": "{NO_BUDGET}", "unit": "tokens"}}"#
            )
        );
    }

    #[test]
    fn a_budget_makes_scores() {
        let turns = [turn(4, &[None]), turn(2, &[]), turn(0, &[])];
        let calls = answer(Efficiency::TOOL_CALLS, &turns, Some(2.0));
        assert_eq!(calls.per_invocation_scores, [Some(0.5), Some(1.0), Some(1.0)]);
        assert_eq!((calls.score, calls.status), (Some(2.5 / 3.0), None));
        assert_eq!(calls.status_for(1.0), Status::Failed);

        // Nothing at all is within a budget of nothing.
        let calls = answer(Efficiency::TOOL_CALLS, &turns, Some(0.0));
        assert_eq!(calls.per_invocation_scores, [Some(0.0), Some(0.0), Some(1.0)]);

        // A turn without a value has no score and takes no part in the mean.
        let calls = answer(Efficiency::INFERENCE_CALLS, &turns, Some(1.0));
        assert_eq!(calls.per_invocation_scores, [Some(1.0), None, None]);
        assert_eq!(calls.score, Some(1.0));
    }

    #[test]
    fn what_was_not_recorded_is_not_within_a_budget() {
        let turns = [turn(1, &[None])];
        let tokens = answer(Efficiency::TOKENS, &turns, Some(100.0));
        assert_eq!((tokens.score, tokens.status), (None, Some(Status::NotEvaluated)));
        assert!(details(&tokens).contains("the recording does not say how many tokens"));
        let none = answer(Efficiency::TOOL_CALLS, &[], Some(1.0));
        assert_eq!((none.score, none.status), (None, Some(Status::NotEvaluated)));
    }
}
