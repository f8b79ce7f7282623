//! Traces for tests, written as a recorder would write them.

use serde_json::{Value, json};

use crate::trace::{Trace, TraceFormats, load_text};

/// The trace id of every recording.
const TRACE_ID: &str = "0123456789abcdef0123456789abcdef";

/// A recording that is being written.
#[derive(Debug)]
pub(super) struct Recording {
    trace_id: String,
    scope: &'static str,
    resource: Value,
    spans: Vec<Value>,
    logs: Vec<Value>,
}

/// The id of span `number`.
pub(super) fn span_id(number: u64) -> String {
    format!("{number:016x}")
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            trace_id: TRACE_ID.to_owned(),
            scope: "test",
            resource: json!({}),
            spans: Vec::new(),
            logs: Vec::new(),
        }
    }
}

impl Recording {
    pub(super) fn with_trace_id(mut self, number: u64) -> Self {
        self.trace_id = format!("{number:032x}");
        self
    }

    pub(super) fn with_scope(mut self, scope: &'static str) -> Self {
        self.scope = scope;
        self
    }

    pub(super) fn with_resource(mut self, attributes: Value) -> Self {
        self.resource = attributes;
        self
    }

    /// Adds a span with times in milliseconds; parent 0 means a root.
    pub(super) fn span(
        mut self,
        (number, parent): (u64, u64),
        name: &str,
        (start, end): (u64, u64),
        attributes: Value,
    ) -> Self {
        self.spans.push(json!({
            "traceId": self.trace_id,
            "spanId": span_id(number),
            "parentSpanId": if parent == 0 { String::new() } else { span_id(parent) },
            "name": name,
            "startTimeUnixNano": (start * 1_000_000).to_string(),
            "endTimeUnixNano": (end * 1_000_000).to_string(),
            "attributes": entries(&attributes),
            "events": [],
        }));
        self
    }

    /// Adds an event to the last span.
    pub(super) fn event(mut self, name: &str, attributes: Value) -> Self {
        if let Some(events) = self.spans.last_mut().and_then(|span| span["events"].as_array_mut()) {
            events.push(
                json!({"name": name, "timeUnixNano": "1", "attributes": entries(&attributes)}),
            );
        }
        self
    }

    /// Makes the last span one that failed with this description.
    pub(super) fn failed(mut self, description: &str) -> Self {
        if let Some(span) = self.spans.last_mut() {
            span["status"] = json!({"code": "STATUS_CODE_ERROR", "message": description});
        }
        self
    }

    /// Adds a log record at this time; span 0 means no span.
    pub(super) fn log(mut self, span: u64, name: &str, time: u64, body: Value) -> Self {
        self.logs.push(json!({
            "traceId": self.trace_id,
            "spanId": if span == 0 { String::new() } else { span_id(span) },
            "eventName": name,
            "timeUnixNano": time.to_string(),
            "body": any_value(&body),
        }));
        self
    }

    /// A call of a model: input and output messages, in parts.
    pub(super) fn chat(
        self,
        ids: (u64, u64),
        times: (u64, u64),
        input: Value,
        output: Value,
    ) -> Self {
        let mut attributes = json!({"gen_ai.operation.name": "chat"});
        for (key, messages) in
            [("gen_ai.input.messages", input), ("gen_ai.output.messages", output)]
        {
            if !messages.is_null() {
                attributes[key] = Value::String(messages.to_string());
            }
        }
        self.span(ids, "chat", times, attributes)
    }

    pub(super) fn trace(self) -> Trace {
        let document = json!({
            "resourceSpans": [{
                "resource": {"attributes": entries(&self.resource)},
                "scopeSpans": [{"scope": {"name": self.scope}, "spans": self.spans}],
            }],
            "resourceLogs": [{"scopeLogs": [{"logRecords": self.logs}]}],
        });
        let loaded =
            load_text(&document.to_string(), "test.json".as_ref(), &TraceFormats::default());
        let mut traces = loaded.expect("the recording is well-formed").traces;
        traces.pop().expect("the recording has spans")
    }
}

/// Messages with one text each.
pub(super) fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"type": "text", "content": text}]})
}

/// A message that asks for a tool.
pub(super) fn asks(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"role": "assistant", "parts": [
        {"type": "tool_call", "id": id, "name": tool, "arguments": arguments}
    ]})
}

/// A message with the result of a tool.
pub(super) fn answers(id: &str, response: Value) -> Value {
    json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": response}]})
}

fn entries(attributes: &Value) -> Value {
    let attributes = attributes.as_object().expect("attributes are an object");
    attributes.iter().map(|(key, value)| json!({"key": key, "value": any_value(value)})).collect()
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::Number(number) => json!({"doubleValue": number}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(any_value).collect::<Value>()}})
        }
        Value::Object(_) => json!({"kvlistValue": {"values": entries(value)}}),
    }
}
