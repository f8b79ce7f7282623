//! The formulae.

use super::facts::{Facts, TokenCounts};

/// What a metric measured.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) overall: Row,
    /// One per turn.
    pub(super) rows: Vec<Row>,
}

/// A value with the parts it is made of; what is `None` is not known.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) value: Option<f64>,
    pub(super) parts: Vec<(&'static str, Option<f64>)>,
}

impl Row {
    /// A value without parts.
    fn plain(value: Option<f64>) -> Self {
        Self { value, parts: Vec::new() }
    }

    /// The first part is the value.
    fn of_parts(parts: Vec<(&'static str, Option<f64>)>) -> Self {
        Self { value: parts.first().and_then(|(_, value)| *value), parts }
    }
}

/// The mean of the values there are; `None` without any.
pub(super) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = sum(values);
    (count > 0).then(|| sum / float(count))
}

fn sum(values: impl IntoIterator<Item = Option<f64>>) -> (f64, usize) {
    let values = values.into_iter().flatten();
    values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1))
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}

/// To three decimals, correctly rounded, ties to even.
pub(super) fn round_to_milli(value: f64) -> f64 {
    // Formatting rounds the exact value, which multiplying and dividing would not.
    format!("{value:.3}").parse().unwrap_or(value)
}

pub(super) fn tool_calls(facts: &[Facts]) -> Measured {
    counts(facts.iter().map(|turn| Some(turn.tool_calls)))
}

pub(super) fn inference_calls(facts: &[Facts]) -> Measured {
    counts(facts.iter().map(|turn| turn.inference_calls))
}

fn counts(counts: impl Iterator<Item = Option<usize>>) -> Measured {
    let rows: Vec<Row> = counts.map(|count| Row::plain(count.map(float))).collect();
    Measured { overall: Row::plain(mean(rows.iter().map(|row| row.value))), rows }
}

pub(super) fn tokens(facts: &[Facts]) -> Measured {
    let rows: Vec<Row> = facts.iter().map(|turn| token_row(&turn.usage)).collect();
    // Turns that reported nothing count among the turns all the same.
    let turns = float(rows.len());
    let overall = fold(&rows, |values| {
        let (sum, count) = sum(values);
        (count > 0).then(|| sum / turns)
    });
    Measured { overall, rows }
}

fn token_row(usage: &[TokenCounts]) -> Row {
    let total = |count: fn(&TokenCounts) -> Option<i64>| {
        usage.iter().map(|usage| count(usage).map(i128::from)).fold(None, plus)
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
    #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
    Row::of_parts(parts.map(|(name, count)| (name, count.map(|count| count as f64))).to_vec())
}

/// The sum, in which an unknown number is nothing, unless both are unknown.
fn plus(left: Option<i128>, right: Option<i128>) -> Option<i128> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        (known, None) | (None, known) => known,
    }
}

pub(super) fn duration(facts: &[Facts]) -> Measured {
    let rows: Vec<Row> = facts.iter().map(duration_row).collect();
    let overall = fold(&rows, |values| mean(values).map(round_to_milli));
    Measured { overall, rows }
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
    Row::of_parts(vec![
        ("total_seconds", turn.seconds),
        ("model_seconds", model),
        ("tool_seconds", tool),
        ("framework_seconds", rest),
    ])
}

/// A row made part by part from the same part of all rows, which must have the same parts.
fn fold(rows: &[Row], part: impl Fn(&mut dyn Iterator<Item = Option<f64>>) -> Option<f64>) -> Row {
    let names = rows.first().map(|row| row.parts.as_slice()).unwrap_or_default();
    let parts = names
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (*name, part(&mut rows.iter().map(|row| row.parts[index].1))));
    Row::of_parts(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Value, parse_python};

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
        let vectors = include_str!("../../../tests/data/efficiency/efficiency.jsonl");
        type Measure = fn(&[Facts]) -> Measured;
        let metrics: [(&str, Measure); 4] = [
            ("tool_call_count_v1", tool_calls),
            ("inference_call_count_v1", inference_calls),
            ("token_usage_v1", tokens),
            ("invocation_duration_v1", duration),
        ];
        let mut parts = 0;
        for line in vectors.lines() {
            let vector = parse_python(line).unwrap();
            let facts: Vec<Facts> =
                items(&vector, "actual_invocations").iter().map(facts).collect();
            for (name, measure) in metrics {
                let theirs = vector.get("results").and_then(|results| results.get(name)).unwrap();
                let ours = measure(&facts);
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
