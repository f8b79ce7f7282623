//! The documents that evaluators are tried on.

use evaluator_protocol::ProtocolVersion;
use serde_json::{Value, json};

/// The threshold they all state.
pub(super) const THRESHOLD: f64 = 0.5;

/// A document to try an evaluator on.
pub(super) struct Input {
    /// What messages call it.
    pub(super) name: &'static str,
    /// How many turns it has.
    pub(super) turns: usize,
    /// The document.
    pub(super) text: String,
}

/// Documents of every kind that a host may send.
pub(super) fn all(evaluator: &str) -> [Input; 5] {
    let input = |name, turns: Value, expected: Value| {
        let count = turns.as_array().map_or(0, Vec::len);
        let document = json!({
            "protocol_version": ProtocolVersion::CURRENT.to_string(),
            "metric_name": evaluator,
            "threshold": THRESHOLD,
            "config": {},
            "invocations": turns,
            "expected_invocations": expected,
        });
        Input { name, turns: count, text: document.to_string() }
    };
    [
        input("one turn with tool calls", json!([weather()]), Value::Null),
        input("several turns and nulls", json!([weather(), unanswered(), thanks()]), Value::Null),
        input("no turns", json!([]), Value::Null),
        input("golden turns", json!([weather(), thanks()]), json!([golden_weather(), thanks()])),
        input("unknown fields", json!([with_unknown_fields()]), Value::Null),
    ]
}

/// A turn as a host writes it when everything was recorded.
fn weather() -> Value {
    json!({
        "invocation_id": "turn-1",
        "user_content": "Will it rain in Zürich tomorrow? ☔",
        "final_response": "Yes, from noon on: about 4 mm.",
        "intermediate_steps": {
            "tool_calls": [
                {"name": "find_city", "args": {"name": "Zürich", "exact": true}, "id": "call-1"},
                {"name": "forecast", "args": {"city": 2657896, "days": 1, "units": ["mm"]}, "id": null},
            ],
            "tool_responses": [
                {"name": "find_city", "output": "{\"id\": 2657896}", "status": null, "id": "call-1", "response": {"id": 2657896}},
                {"name": "forecast", "output": "timed out", "status": "error", "id": null, "response": null},
            ],
        },
        "performance_metrics": {
            "latency": {
                "overall": {"min": 820.5, "median": 820.5, "max": 820.5, "count": 1, "p50": 820.5, "p95": 820.5, "p99": 820.5},
            },
            "tokens": {"total_prompt": 412, "total_output": 38, "total": 450},
            "counts": {"llm_calls": 2, "tool_calls": 2, "invocations": 1},
        },
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "span_id": "00f067aa0ba902b7",
    })
}

/// A turn that was cut short.
fn unanswered() -> Value {
    json!({
        "invocation_id": "turn-2",
        "user_content": "",
        "final_response": null,
        "intermediate_steps": {"tool_calls": [{"name": "forecast", "args": {}, "id": null}], "tool_responses": []},
        "performance_metrics": null,
        "trace_id": null,
        "span_id": null,
    })
}

/// A turn without tools.
fn thanks() -> Value {
    json!({
        "invocation_id": "turn-3",
        "user_content": "Thanks!",
        "final_response": "You are welcome.\nTake an umbrella.",
        "intermediate_steps": {"tool_calls": [], "tool_responses": []},
        "performance_metrics": null,
        "trace_id": null,
        "span_id": null,
    })
}

/// What was expected of the first turn.
fn golden_weather() -> Value {
    json!({
        "invocation_id": "golden-1",
        "user_content": "Will it rain in Zürich tomorrow? ☔",
        "final_response": "Yes, in the afternoon.",
        "intermediate_steps": {
            "tool_calls": [{"name": "forecast", "args": {"city": 2657896}, "id": null}],
            "tool_responses": [],
        },
        "performance_metrics": null,
        "trace_id": null,
        "span_id": null,
    })
}

/// The first turn as a later version of the protocol might write it.
fn with_unknown_fields() -> Value {
    let mut turn = weather();
    turn["not_known_yet"] = json!({"nested": [1, null, "text"]});
    turn["intermediate_steps"]["not_known_yet"] = json!(true);
    turn["intermediate_steps"]["tool_calls"][0]["not_known_yet"] = json!(0.25);
    turn["performance_metrics"]["not_known_yet"] = json!([]);
    turn
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::EvalInput;

    use super::*;

    #[test]
    fn they_are_documents_of_the_contract() {
        for input in all("polite") {
            let read = EvalInput::from_json(input.text.as_bytes()).unwrap();
            assert_eq!(read.invocations.len(), input.turns, "{}", input.name);
            assert_eq!(read.metric_name, "polite");
        }
    }
}
