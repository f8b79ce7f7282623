//! Recordings of conversations, as OTLP JSON.

use serde_json::{Value, json};

/// Builds the recording of conversations that have one turn each.
pub fn recording<'a>(turns: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let turns = turns.into_iter().zip(1..);
    let spans: Vec<Value> =
        turns.map(|((user, agent), number)| span(number, user, agent)).collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

/// The span of one turn: a trace of its own with this number.
fn span(number: u64, user: &str, agent: &str) -> Value {
    let messages = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    json!({
        "traceId": format!("{number:032x}"),
        "spanId": format!("{number:016x}"),
        "name": "invoke_agent a",
        "startTimeUnixNano": (number * 1000).to_string(),
        "endTimeUnixNano": (number * 1000 + 500).to_string(),
        "attributes": [
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.input.messages", &messages("user", user)),
            attribute("gen_ai.output.messages", &messages("assistant", agent)),
        ],
    })
}

/// Builds the recording that the program `faulty` of the tests judges: the conversation at `victim` triggers its fault,
/// with the agent's text `answer`; every other one has the score (60 + position) / 100.
pub fn with_victim(count: usize, victim: usize, answer: &str) -> String {
    let questions = (0..count).map(|position| {
        let mark = if position == victim { " the victim" } else { "" };
        format!("Judge{mark} as {}", position + 60)
    });
    let questions: Vec<String> = questions.collect();
    let answers = (0..count).map(|position| if position == victim { answer } else { "Yes." });
    recording(questions.iter().map(|question| &**question).zip(answers))
}
