//! Metrics that measure what a conversation cost: `tool_call_count_v1`, `inference_call_count_v1`, `token_usage_v1`
//! and `invocation_duration_v1`, as in Google's Agent Development Kit.
//!
//! A count is not a score. Without a budget the numbers are in the details, and the conversation is not evaluated
//! (agentevals always fails it). The setting `max` is a budget of each turn, and makes a score:
//!
//! ```text
//! score of a turn = 1                 if its value <= max
//!                   max / its value   otherwise
//! score           = mean over the turns that have a value
//! ```
//!
//! A conversation that keeps to its budget in every turn scores 1, and one that takes twice as much scores 0.5. With `max`
//! the default threshold is 1.

use std::{ptr, sync::Arc};

use evaluator_document::Fields;
use evaluator_json::{Object, Value};

use super::{Metric, MetricInput, Outcome, Scored, Setting};
use evaluator_traces::conversation::{Turn, Usage};

const NO_BUDGET: &str = "it measures; give it a `max` to score turns against";

/// Measures one quantity of every turn, and scores it if it has a budget.
#[derive(Clone, Copy, Debug)]
pub struct Efficiency {
    quantity: &'static Quantity,
    max: Option<f64>,
}

/// A quantity and how it is measured and shown.
#[derive(Debug)]
struct Quantity {
    name: &'static str,
    description: &'static str,
    unit: &'static str,
    /// Key of the parts of a value in the details.
    parts: Option<&'static str>,
    setting: [Setting; 1],
    measure: fn(&Facts) -> Row,
    /// Combines the values of all turns, or those of a part.
    overall: fn(&[Option<f64>]) -> Option<f64>,
}

const fn max(example: &'static str) -> [Setting; 1] {
    let schema = r#"{"description": "Metrics that count: budget of a turn. A turn within it scores 1.",
                     "type": "number", "minimum": 0}"#;
    [Setting::new("max", schema, example)]
}

static TOOL_CALLS: Quantity = Quantity {
    name: "tool_call_count_v1",
    description: "Number of tool calls of each turn; scored if `max` is set.",
    unit: "tool calls",
    parts: None,
    setting: max("max: 10  # calls per turn; without it nothing is scored\n"),
    measure: |turn| Row::new(vec![("calls", Some(float(turn.tool_calls)))]),
    overall: mean,
};

static MODEL_CALLS: Quantity = Quantity {
    name: "inference_call_count_v1",
    description: "Number of model calls of each turn; scored if `max` is set.",
    unit: "model calls",
    parts: None,
    setting: max("max: 5  # calls per turn; without it nothing is scored\n"),
    measure: |turn| Row::new(vec![("calls", turn.inference_calls.map(float))]),
    overall: mean,
};

static TOKENS: Quantity = Quantity {
    name: "token_usage_v1",
    description: "Number of tokens of each turn; scored if `max` is set.",
    unit: "tokens",
    parts: Some("token_usage_details"),
    setting: max("max: 20000  # tokens per turn; without it nothing is scored\n"),
    measure: token_row,
    // Turns without a value count as turns.
    overall: |values| sum(values).map(|(sum, _)| sum / float(values.len())),
};

static DURATION: Quantity = Quantity {
    name: "invocation_duration_v1",
    description: "Duration of each turn in seconds; scored if `max` is set.",
    unit: "seconds",
    parts: Some("duration_details"),
    setting: max("max: 10  # seconds per turn; without it nothing is scored\n"),
    measure: duration_row,
    overall: |values| mean(values).map(round_to_milli),
};

impl Efficiency {
    /// Returns all of them without a budget.
    ///
    /// - Tool calls: every turn has a value; the overall value is the mean of the turns.
    /// - Model calls, including those that tools made: a turn without a recorded model call has no value, because some
    ///   recorders see none; the overall value is the mean of the turns with a value.
    /// - Tokens that models read and wrote: a turn in which no call reported its usage has no value; the overall value is
    ///   the sum over the number of *all* turns.
    /// - Seconds from the start of a turn to its end, to the millisecond; the overall value is the mean. The details divide
    ///   it into the time in which models ran, the time in which tools ran, and the rest.
    pub fn all() -> impl Iterator<Item = Self> {
        let quantities = [&TOOL_CALLS, &MODEL_CALLS, &TOKENS, &DURATION];
        quantities.into_iter().map(|quantity| Self { quantity, max: None })
    }

    fn is_duration(&self) -> bool {
        ptr::eq(self.quantity, &raw const DURATION)
    }

    fn details(&self, turns: &[Turn], measured: &Measured) -> Object {
        let rows = turns.iter().zip(&measured.rows).map(|(turn, row)| {
            let id = ("invocation_id".to_owned(), turn.span_id.as_str().into());
            Value::Object([id].into_iter().chain(self.row(row)).collect())
        });
        Object::from_iter([
            ("unit".to_owned(), self.quantity.unit.into()),
            ("overall".to_owned(), Value::Object(self.row(&measured.overall).collect())),
            ("invocations".to_owned(), Value::Array(rows.collect())),
            ("measured".to_owned(), self.sentence(measured).into()),
        ])
    }

    fn row(&self, row: &Row) -> impl Iterator<Item = (String, Value)> {
        let parts = self.quantity.parts.map(|key| {
            let known = row.parts.iter().filter(|(_, value)| value.is_some());
            let parts = known.map(|(name, value)| ((*name).to_owned(), self.number(*value)));
            (key.to_owned(), Value::Object(parts.collect()))
        });
        [("value".to_owned(), self.number(row.value))].into_iter().chain(parts)
    }

    /// Converts a value. Whole counts are integers; means of counts, and seconds, are not.
    fn number(&self, value: Option<f64>) -> Value {
        match value {
            None => Value::Null,
            #[expect(clippy::cast_possible_truncation, reason = "a count is far below 2^127")]
            Some(value) if !self.is_duration() && value.fract() == 0.0 => {
                Value::from(value as i128)
            }
            Some(value) => Value::Float(value),
        }
    }

    /// Formats the values for people: `1.5 per turn (1, 2)`.
    fn sentence(&self, measured: &Measured) -> String {
        let Some(overall) = measured.overall.value else { return "not recorded".to_owned() };
        let unit = if self.is_duration() { " s" } else { "" };
        let mut text = format!("{}{unit}", short(overall));
        if measured.rows.len() > 1 {
            let values = measured.rows.iter().map(|row| row.value);
            let values = values.map(|value| value.map_or_else(|| "N/A".to_owned(), short));
            text += &format!(" per turn ({})", values.collect::<Vec<_>>().join(", "));
        }
        text
    }
}

/// Formats a number with at most three decimals, without trailing zeros.
fn short(value: f64) -> String {
    if value.fract() == 0.0 {
        return value.to_string();
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Metric for Efficiency {
    fn name(&self) -> &str {
        self.quantity.name
    }

    fn description(&self) -> &str {
        self.quantity.description
    }

    fn settings(&self) -> &'static [Setting] {
        &self.quantity.setting
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        let max = fields.take("max").and_then(|field| field.non_negative());
        Some(Arc::new(Self { max, ..*self }))
    }

    fn default_threshold(&self) -> f64 {
        if self.max.is_some() { 1.0 } else { 0.5 }
    }

    fn compares_golden_turns(&self) -> bool {
        false
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        if input.turns.is_empty() {
            return Outcome::not_evaluated("no turns to measure");
        }
        let facts: Vec<Facts> = input.turns.iter().map(Facts::new).collect();
        let measured = self.quantity.measured(&facts);
        let mut details = self.details(input.turns, &measured);
        let (Some(max), Some(_)) = (self.max, measured.overall.value) else {
            let unknown = format!("the recording does not say how many {}", self.quantity.unit);
            let reason = measured.overall.value.map_or(unknown, |_| NO_BUDGET.to_owned());
            details.shift_insert(0, "reason".to_owned(), reason.into());
            return Outcome::NotEvaluated { details };
        };
        details.insert("max".to_owned(), self.number(Some(max)));
        let within = |value: f64| if value <= max { 1.0 } else { max / value };
        let per_turn: Vec<_> = measured.rows.iter().map(|row| row.value.map(within)).collect();
        let score = mean(&per_turn).unwrap_or_default();
        Outcome::Scored(Scored { per_turn, details: Some(details), ..Scored::new(score) })
    }
}

/// Facts of one turn; `None` if they were not recorded.
#[derive(Clone, Debug, Default)]
struct Facts {
    tool_calls: usize,
    inference_calls: Option<usize>,
    /// Token counts of each call that has any.
    usage: Vec<TokenCounts>,
    /// Seconds from the start of the turn to its end.
    seconds: Option<f64>,
    /// Seconds in which a model ran.
    model_seconds: Option<f64>,
    /// Seconds in which a tool ran.
    tool_seconds: Option<f64>,
}

/// Token counts of one model call.
#[derive(Clone, Copy, Debug, Default)]
struct TokenCounts {
    prompt: Option<i64>,
    /// Tokens of tool results in the prompt.
    tool_use: Option<i64>,
    candidates: Option<i64>,
    reasoning: Option<i64>,
    /// Tokens of the prompt that came from a cache.
    cached: Option<i64>,
}

impl Facts {
    /// Extracts the facts of a recorded turn. Spans do not report tokens of reasoning and of tool results separately.
    fn new(turn: &Turn) -> Self {
        let calls = &turn.llm_calls;
        // A model call that a tool makes counts as time of the tool.
        let own = calls.iter().filter(|call| !call.delegated);
        let own: Vec<_> = own.map(|call| (call.start_ns, call.end_ns)).collect();
        let tools: Option<Vec<_>> = turn.tool_calls.iter().map(|call| call.span).collect();
        Self {
            tool_calls: turn.tool_calls.len(),
            inference_calls: Some(calls.len()).filter(|calls| *calls > 0),
            usage: calls.iter().filter_map(|call| call.usage.map(TokenCounts::new)).collect(),
            seconds: Some(seconds(turn.end_ns.saturating_sub(turn.start_ns)))
                .filter(|seconds| *seconds >= 0.0),
            model_seconds: (!own.is_empty()).then(|| seconds(covered(own))),
            tool_seconds: tools.map(|tools| seconds(covered(tools))),
        }
    }
}

impl TokenCounts {
    fn new(usage: Usage) -> Self {
        Self {
            prompt: Some(usage.input_tokens),
            candidates: Some(usage.output_tokens),
            // Recorders that do not count cached tokens write 0.
            cached: Some(usage.cache_read_tokens).filter(|tokens| *tokens > 0),
            ..Self::default()
        }
    }
}

/// Returns the length of the union of the intervals.
fn covered(mut intervals: Vec<(i128, i128)>) -> i128 {
    intervals.sort_unstable();
    let mut total: i128 = 0;
    let mut until = i128::MIN;
    for (start, end) in intervals {
        let start = start.max(until);
        if end > start {
            total = total.saturating_add(end.saturating_sub(start));
            until = end;
        }
    }
    total
}

/// Converts nanoseconds to seconds, rounded to the millisecond.
fn seconds(nanoseconds: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounded to the millisecond anyway")]
    round_to_milli(nanoseconds as f64 / 1e9)
}

/// Measured values.
#[derive(Clone, Debug)]
struct Measured {
    overall: Row,
    /// A row for each turn.
    rows: Vec<Row>,
}

/// A value and its parts; `None` if unknown.
#[derive(Clone, Debug)]
struct Row {
    value: Option<f64>,
    parts: Vec<(&'static str, Option<f64>)>,
}

impl Row {
    /// Creates a row whose first part is the value.
    fn new(parts: Vec<(&'static str, Option<f64>)>) -> Self {
        Self { value: parts.first().and_then(|(_, value)| *value), parts }
    }
}

impl Quantity {
    fn measured(&self, facts: &[Facts]) -> Measured {
        let rows: Vec<Row> = facts.iter().map(self.measure).collect();
        let parts = rows.first().map(|row| row.parts.as_slice()).unwrap_or_default();
        let parts = parts.iter().enumerate().map(|(index, (name, _))| {
            let values: Vec<_> = rows.iter().map(|row| row.parts[index].1).collect();
            (*name, (self.overall)(&values))
        });
        Measured { overall: Row::new(parts.collect()), rows }
    }
}

/// Returns the mean of the known values; `None` without any.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    sum(values).map(|(sum, known)| sum / float(known))
}

/// Returns the sum and the number of the known values; `None` without any.
fn sum(values: &[Option<f64>]) -> Option<(f64, usize)> {
    let known = values.iter().flatten().count();
    (known > 0).then(|| (values.iter().flatten().sum(), known))
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}

/// Rounds to three decimals, ties to even.
fn round_to_milli(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    // Formatting rounds the exact value; multiplying and dividing would round twice.
    format!("{value:.3}").parse().unwrap_or(value)
}

fn token_row(turn: &Facts) -> Row {
    let total = |count: fn(&TokenCounts) -> Option<i64>| {
        turn.usage.iter().map(|usage| count(usage).map(i128::from)).fold(None, plus)
    };
    let [prompt, tool_use] = [total(|it| it.prompt), total(|it| it.tool_use)];
    let [candidates, reasoning] = [total(|it| it.candidates), total(|it| it.reasoning)];
    let input = plus(prompt, tool_use);
    let output = plus(candidates, reasoning);
    let parts = [
        ("total_tokens", plus(input, output)),
        ("input_tokens", input),
        ("prompt_tokens", prompt),
        ("tool_use_tokens", tool_use),
        ("cached_tokens", total(|it| it.cached)),
        ("output_tokens", output),
        ("candidates_tokens", candidates),
        ("reasoning_tokens", reasoning),
    ];
    #[expect(clippy::cast_precision_loss, reason = "token counts are below 2^53")]
    Row::new(parts.map(|(name, count)| (name, count.map(|count| count as f64))).to_vec())
}

/// Adds two numbers; an unknown number counts as 0, unless both are unknown.
fn plus(left: Option<i128>, right: Option<i128>) -> Option<i128> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        (known, None) | (None, known) => known,
    }
}

fn duration_row(turn: &Facts) -> Row {
    let known = |part: Option<f64>| turn.seconds.and(part);
    let (model, tool) = (known(turn.model_seconds), known(turn.tool_seconds));
    let rest = match (turn.seconds, model, tool) {
        (Some(total), Some(model), Some(tool)) => {
            Some(round_to_milli((total - model - tool).max(0.0)))
        }
        _ => None,
    };
    Row::new(vec![
        ("total_seconds", turn.seconds),
        ("model_seconds", model),
        ("tool_seconds", tool),
        ("framework_seconds", rest),
    ])
}

#[cfg(test)]
mod tests {
    use evaluator_json::{parse_python, to_python};

    use super::*;
    use crate::testing::{self, not_evaluated, scored};
    use evaluator_traces::{
        conversation::{LlmCall, ToolCall},
        eval_set::Unmatched,
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
            span_id: format!("s{tools}"),
            llm_calls: usage.iter().map(call).collect(),
            ..testing::turn(vec![ToolCall::default(); tools])
        }
    }

    fn outcome(quantity: &'static Quantity, turns: &[Turn], max: Option<f64>) -> Outcome {
        let input = MetricInput::new(turns, Err(&Unmatched::NoEvalSet), 1.0);
        Efficiency { quantity, max }.evaluate(&input)
    }

    #[test]
    fn without_a_budget_numbers_are_no_scores() {
        let turns = [turn(1, &[Some((10, 5)), None]), turn(2, &[])];
        let mut shown = Vec::new();
        for metric in Efficiency::all() {
            let details = not_evaluated(outcome(metric.quantity, &turns, None));
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
        let details = not_evaluated(outcome(&TOKENS, &[turn(0, &[Some((10, 5))])], None));
        let parts = r#"{"token_usage_details": {"candidates_tokens": 5, "input_tokens": 10, "output_tokens": 5, "prompt_tokens": 10, "total_tokens": 15}, "value": 15}"#;
        let row = parts.replacen('{', r#"{"invocation_id": "s0", "#, 1);
        assert_eq!(
            to_python(&Value::Object(details)),
            format!(
                r#"{{"invocations": [{row}], "measured": "15", "overall": {parts}, "reason": "{NO_BUDGET}", "unit": "tokens"}}"#
            )
        );
    }

    #[test]
    fn a_budget_makes_scores() {
        let turns = [turn(4, &[None]), turn(2, &[]), turn(0, &[])];
        let calls = scored(outcome(&TOOL_CALLS, &turns, Some(2.0)));
        assert_eq!(calls.per_turn, [Some(0.5), Some(1.0), Some(1.0)]);
        assert_eq!((calls.score, calls.passed), (2.5 / 3.0, None));

        // Nothing at all is within a budget of nothing.
        let calls = scored(outcome(&TOOL_CALLS, &turns, Some(0.0)));
        assert_eq!(calls.per_turn, [Some(0.0), Some(0.0), Some(1.0)]);

        // A turn without a value has no score and takes no part in the mean.
        let calls = scored(outcome(&MODEL_CALLS, &turns, Some(1.0)));
        assert_eq!(calls.per_turn, [Some(1.0), None, None]);
        assert_eq!(calls.score, 1.0);
    }

    #[test]
    fn what_was_not_recorded_is_not_within_a_budget() {
        let turns = [turn(1, &[None])];
        let tokens = not_evaluated(outcome(&TOKENS, &turns, Some(100.0)));
        let reason = tokens["reason"].as_str().unwrap();
        assert!(reason.contains("the recording does not say how many tokens"));
        assert_eq!(not_evaluated(outcome(&TOOL_CALLS, &[], Some(1.0))).len(), 1);
    }

    #[test]
    fn what_runs_at_the_same_time_is_counted_once() {
        assert_eq!(covered(vec![]), 0);
        assert_eq!(covered(vec![(5, 9), (0, 2)]), 6);
        assert_eq!(covered(vec![(0, 10), (2, 4), (8, 12), (12, 13)]), 13);
        assert_eq!(covered(vec![(3, 1), (1, 2)]), 1);
        assert_eq!(covered(vec![(i128::MIN, i128::MAX)]), i128::MAX);
    }

    fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
        value.get(key).and_then(Value::as_array).unwrap_or_default()
    }

    fn number(value: Option<&Value>) -> Option<f64> {
        match value? {
            Value::Int(int) => Some(*int as f64),
            Value::Float(float) => Some(*float),
            Value::Null => None,
            other => panic!("{other:?}"),
        }
    }

    /// The facts of a turn as the kit itself records it.
    fn facts(invocation: &Value) -> Facts {
        let data = invocation.get("intermediate_data");
        let events = data.and_then(|data| data.get("invocation_events")?.as_array());
        let calls_of = |event: &&Value| {
            let content = event.get("content");
            let parts = content.map(|content| items(content, "parts")).unwrap_or_default();
            parts.iter().filter(|part| part.get("function_call").is_some()).count()
        };
        let is_inference = |event: &&Value| {
            ["usage_metadata", "model_version"].iter().any(|key| event.get(key).is_some())
        };
        let usage = |event: &Value| {
            let usage = event.get("usage_metadata")?.clone();
            let count = |key| match usage.get(key) {
                Some(Value::Int(int)) => Some(*int),
                None => None,
                other => panic!("{other:?}"),
            };
            Some(TokenCounts {
                prompt: count("prompt_token_count"),
                tool_use: count("tool_use_prompt_token_count"),
                candidates: count("candidates_token_count"),
                reasoning: count("thoughts_token_count"),
                cached: count("cached_content_token_count"),
            })
        };
        let in_events: usize =
            events.unwrap_or_default().iter().map(|event| calls_of(&event)).sum();
        Facts {
            tool_calls: in_events + data.map_or(0, |data| items(data, "tool_uses").len()),
            inference_calls: events.map(|events| events.iter().filter(is_inference).count()),
            usage: events.unwrap_or_default().iter().filter_map(usage).collect(),
            seconds: number(invocation.get("duration")),
            model_seconds: number(invocation.get("model_duration")),
            tool_seconds: number(invocation.get("tool_duration")),
        }
    }

    fn close(ours: Option<f64>, theirs: Option<f64>) -> bool {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0),
            (None, None) => true,
            _ => false,
        }
    }

    fn assert_parts(ours: &Row, theirs: Option<&Value>, context: &str) {
        let Some(theirs) = theirs.and_then(Value::as_object) else { return };
        for (name, value) in &ours.parts {
            assert!(close(*value, number(theirs.get(*name))), "{name}: {ours:?}: {context}");
        }
        for name in theirs.keys() {
            assert!(
                ours.parts.is_empty() || ours.parts.iter().any(|(known, _)| known == name),
                "{name}: {context}"
            );
        }
    }

    #[test]
    fn agrees_with_the_reference_implementation() {
        let vectors = include_str!("../tests/data/efficiency/efficiency.jsonl");
        let mut parts = 0;
        for line in vectors.lines() {
            let vector = parse_python(line).unwrap();
            let facts: Vec<Facts> =
                items(&vector, "actual_invocations").iter().map(facts).collect();
            for metric in Efficiency::all() {
                let name = metric.name();
                let theirs = vector.get("results").and_then(|results| results.get(name)).unwrap();
                let ours = metric.quantity.measured(&facts);
                let context = format!("{name}: {line}");
                assert!(
                    close(ours.overall.value, number(theirs.get("overall"))),
                    "{:?}: {context}",
                    ours.overall
                );
                let rows = items(theirs, "rows");
                assert_eq!(ours.rows.len(), rows.len(), "{context}");
                for (ours, theirs) in ours.rows.iter().zip(rows) {
                    assert!(close(ours.value, number(Some(theirs))), "{ours:?}: {context}");
                }
                assert_parts(&ours.overall, theirs.get("overall_details"), &context);
                for (ours, theirs) in ours.rows.iter().zip(items(theirs, "row_details")) {
                    assert_parts(ours, Some(theirs), &context);
                    parts += theirs.as_object().map_or(0, |parts| parts.len());
                }
            }
        }
        assert!(parts > 500, "only {parts} parts were compared");
    }

    #[test]
    fn seconds_are_rounded_as_decimals() {
        for (value, rounded) in [(0.0625, 0.062), (0.1875, 0.188), (2.675, 2.675), (1.0005, 1.0)] {
            assert_eq!(round_to_milli(value), rounded);
        }
        assert!(round_to_milli(f64::NAN).is_nan());
    }
}
