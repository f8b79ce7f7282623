//! Messages as events of a span or as log records that belong to it, from older versions of the `GenAI` semantic conventions.

use std::borrow::Cow;

use super::{Convention, Kind, SpanDraft, keys::FINISH_REASONS};
use crate::{
    conversation::message::{
        Message, Part, google_message, google_parts, have_content, is_cut_json, json_or_text,
        openai_tool_calls, parse_json, parts_of_content,
    },
    json::{Object, Value},
    trace::{LogRecord, Span},
};

const USER_MESSAGE: &str = "gen_ai.user.message";
const CHOICE: &str = "gen_ai.choice";

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
            USER_MESSAGE => Self::User,
            "gen_ai.assistant.message" => Self::Assistant,
            "gen_ai.tool.message" => Self::Tool,
            CHOICE => Self::Choice,
            _ => return None,
        })
    }
}

/// The convention `genai-events`: one event or log record per message.
#[derive(Debug)]
pub(super) struct MessageEvents;

impl Convention for MessageEvents {
    fn name(&self) -> &'static str {
        "genai-events"
    }

    fn kind(&self, _span: &Span) -> Option<Kind> {
        None
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        if !draft.with_messages {
            return;
        }
        let mut read = EventMessages::default();
        for event in &draft.span.events {
            if let Some(kind) = MessageEvent::named(&event.name) {
                read.found = true;
                read.add(kind, &event.attributes);
            }
        }
        if !read.found {
            read.add_records(draft);
        }
        if !read.finish_reasons.is_empty() {
            draft.fill(FINISH_REASONS, Cow::Owned(Value::Array(read.finish_reasons)), CHOICE);
        }
        if have_content(&read.input) {
            draft.set_input(read.input, USER_MESSAGE);
        }
        if have_content(&read.output) {
            draft.set_output(read.output, CHOICE);
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
    /// Adds the log records of a span in order of time.
    fn add_records(&mut self, draft: &mut SpanDraft<'_>) {
        let mut records: Vec<_> = draft
            .logs
            .iter()
            .filter_map(|log| Some((MessageEvent::named(&log.event_name)?, *log)))
            .collect();
        records.sort_by_key(|(_, log)| time_of(log));
        for (kind, log) in records {
            if log.body.as_str().is_some_and(is_cut_json) {
                let name = format!("the body of a {} record", log.event_name);
                draft.fail(&name, "is JSON that was cut off");
            }
            self.add(kind, &body_of(log));
        }
    }

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
