//! Conversations of one turn, such that evaluators are given some 5 KB of each.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use serde_json::{Value, json};

/// Writes OTLP JSON with a number of traces: one document on one line, as exporters write it.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_offers(path: &Path, traces: usize) {
    write(path, traces, |_| "a quiet room near the old town");
}

/// Writes the same conversations, a document on each line.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_offer_lines(path: &Path, traces: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for number in 0..traces {
        let resource = trace(number, "a quiet room near the old town");
        serde_json::to_writer(&mut file, &json!({"resourceSpans": [resource]})).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.into_inner().unwrap();
}

/// Writes the same conversations with answers of other lengths, as another version of the agent gives them.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_other_offers(path: &Path, traces: usize) {
    let offers =
        ["a room", "a quiet room by the river", "a large room with a view of the old town"];
    write(path, traces, |number| offers[number * 7 % 11 % 3]);
}

fn write(path: &Path, traces: usize, offer: impl Fn(usize) -> &'static str) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(b"{\"resourceSpans\":[").unwrap();
    for number in 0..traces {
        if number > 0 {
            file.write_all(b",").unwrap();
        }
        serde_json::to_writer(&mut file, &trace(number, offer(number))).unwrap();
    }
    file.write_all(b"]}\n").unwrap();
    file.into_inner().unwrap();
}

fn trace(number: usize, offer: &str) -> Value {
    let offer = format!("Offer {number} of \"La Fête\": {offer}.\n");
    let answer = offer.repeat(20);
    let result = json!({"rooms": 3, "text": offer.repeat(16)}).to_string();
    let message = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let spans = [
        span(number, 1, "invoke_agent desk", &[("gen_ai.operation.name", "invoke_agent")]),
        span(
            number,
            2,
            "chat m",
            &[
                ("gen_ai.operation.name", "chat"),
                ("gen_ai.request.model", "m"),
                ("gen_ai.input.messages", &message("user", "Find me a hotel, as JSON.")),
                ("gen_ai.output.messages", &message("assistant", &answer)),
            ],
        ),
        span(
            number,
            3,
            "execute_tool search",
            &[
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", "search"),
                ("gen_ai.tool.call.id", "call-1"),
                ("gen_ai.tool.call.arguments", r#"{"city":"Lyon","nights":2}"#),
                ("gen_ai.tool.call.result", &result),
            ],
        ),
    ];
    let scope = json!({"name": "opentelemetry.instrumentation.desk"});
    json!({
        "resource": {"attributes": [attribute("service.name", "desk")]},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    })
}

fn span(trace: usize, number: usize, name: &str, attributes: &[(&str, &str)]) -> Value {
    let id = |number: usize| format!("{:016x}", trace * 4 + number);
    let start = 1_760_000_000_000_000_000_u64 + number as u64 * 1_000_000;
    json!({
        "traceId": format!("{:032x}", trace + 1),
        "spanId": id(number),
        "parentSpanId": if number == 1 { String::new() } else { id(1) },
        "name": name,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + 900_000).to_string(),
        "attributes": attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Value>(),
    })
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
