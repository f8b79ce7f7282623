//! Messages and figures recorded as events of a span, or as log records that belong to it.

use std::borrow::Cow;

use super::{
    Draft,
    keys::{
        CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, FINISH_REASONS, INPUT_MESSAGES, INPUT_TOKENS,
        OUTPUT_MESSAGES, OUTPUT_TOKENS, REQUEST_MODEL, RESPONSE_ID, RESPONSE_MODEL,
    },
};
use crate::{
    conversation::message::{
        Message, Part, google_message, google_parts, have_content, is_cut_json, json_or_text,
        openai_tool_calls, parse_json, parts_of_content,
    },
    json::{Object, Value},
    trace::LogRecord,
};

/// Carries everything about one call of a model.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// Attributes of the details event that fill those of the span.
const DETAIL_KEYS: [&str; 8] = [
    REQUEST_MODEL,
    RESPONSE_MODEL,
    RESPONSE_ID,
    FINISH_REASONS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
];

/// The deprecated event of one message. Those of system messages say nothing a turn is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageEvent {
    System,
    User,
    Assistant,
    Tool,
    Choice,
}

impl MessageEvent {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "gen_ai.system.message" => Self::System,
            "gen_ai.user.message" => Self::User,
            "gen_ai.assistant.message" => Self::Assistant,
            "gen_ai.tool.message" => Self::Tool,
            "gen_ai.choice" => Self::Choice,
            _ => return None,
        })
    }
}

impl<'a> Draft<'a> {
    /// Fills from the details events, those of the span before those of its log records.
    pub(super) fn apply_details(&mut self, logs: &[&'a LogRecord]) {
        let events = self.span.events.iter().map(|event| (event.name.as_str(), &event.attributes));
        let logs = logs.iter().map(|log| (log.event_name.as_str(), &log.attributes));
        for (_, details) in events.chain(logs).filter(|(name, _)| *name == DETAILS) {
            self.fill_input_from(details.get(INPUT_MESSAGES));
            self.fill_output_from(details.get(OUTPUT_MESSAGES));
            for key in DETAIL_KEYS {
                if let Some(value) = details.get(key) {
                    self.attributes.fill(key, Cow::Borrowed(value));
                }
            }
        }
    }

    /// Fills from the deprecated events, one per message.
    pub(super) fn apply_message_events(&mut self, logs: &[&'a LogRecord]) {
        if !self.with_messages {
            return;
        }
        let mut read = EventMessages::default();
        for event in &self.span.events {
            if let Some(kind) = MessageEvent::named(&event.name) {
                read.found = true;
                read.add(kind, &event.attributes);
            }
        }
        if !read.found {
            let mut records: Vec<_> = logs
                .iter()
                .filter_map(|log| Some((MessageEvent::named(&log.event_name)?, *log)))
                .collect();
            records.sort_by_key(|(_, log)| time_of(log));
            for (kind, log) in records {
                if log.body.as_str().is_some_and(is_cut_json) {
                    self.fail(
                        &format!("the body of a {} record", log.event_name),
                        "is JSON that was cut off",
                    );
                }
                read.add(kind, &body_of(log));
            }
        }
        if !read.finish_reasons.is_empty() {
            self.attributes.fill(FINISH_REASONS, Cow::Owned(Value::Array(read.finish_reasons)));
        }
        if self.input.is_empty() && have_content(&read.input) {
            self.input = read.input;
        }
        if self.output.is_empty() && have_content(&read.output) {
            self.output = read.output;
        }
    }
}

/// When a record was made or, failing that, seen. Zero is what exporters write for "unknown".
fn time_of(log: &LogRecord) -> i128 {
    [log.time_ns, log.observed_time_ns].into_iter().flatten().find(|time| *time != 0).unwrap_or(0)
}

/// The body of a record as an object: as it is, from JSON text, or with the text as content.
fn body_of(log: &LogRecord) -> Cow<'_, Object> {
    match &log.body {
        Value::Object(body) => Cow::Borrowed(body),
        Value::String(text) => Cow::Owned(match parse_json(text) {
            Some(Value::Object(body)) => body,
            _ => Object::from_iter([("content".to_owned(), log.body.clone())]),
        }),
        _ => Cow::Owned(Object::default()),
    }
}

#[derive(Default)]
struct EventMessages {
    found: bool,
    input: Vec<Message>,
    output: Vec<Message>,
    finish_reasons: Vec<Value>,
}

impl EventMessages {
    fn add(&mut self, kind: MessageEvent, body: &Object) {
        let content = body.get("content").unwrap_or(&Value::Null);
        match kind {
            MessageEvent::System => {}
            MessageEvent::User => {
                let google = content.get("parts").and_then(|_| google_message(content, "user"));
                let message =
                    google.unwrap_or_else(|| Message::new("user", parts_of_content(content)));
                self.add_input(message);
            }
            MessageEvent::Assistant => {
                let mut parts = parts_of_content(content);
                parts.extend(openai_tool_calls(body.get("tool_calls")));
                self.add_input(Message::new("assistant", parts));
            }
            MessageEvent::Tool => {
                let response = json_or_text(content);
                let part = Part::tool_response(body.get("id"), None, Some(&response));
                self.add_input(Message::new("tool", vec![part]));
            }
            MessageEvent::Choice => self.add_choice(body, content),
        }
    }

    fn add_choice(&mut self, body: &Object, content: &Value) {
        let parts = match (body.get("message"), content.get("parts")) {
            (Some(Value::Object(message)), _) => {
                let mut parts = message.get("content").map(parts_of_content).unwrap_or_default();
                parts.extend(openai_tool_calls(message.get("tool_calls")));
                parts
            }
            (_, Some(parts)) => google_parts(parts.as_array().unwrap_or_default()),
            _ => parts_of_content(content),
        };
        if parts.is_empty() {
            return;
        }
        self.output.push(Message::new("assistant", parts));
        if let Some(reason) = body.get("finish_reason").and_then(Value::as_str) {
            self.finish_reasons.push(Value::String(reason.to_lowercase()));
        }
    }

    fn add_input(&mut self, message: Message) {
        if !message.parts.is_empty() {
            self.input.push(message);
        }
    }
}
