//! Messages as events of a span or as log records that belong to it, from older versions of the `GenAI` semantic conventions.

use std::borrow::Cow;

use super::{
    Convention, Kind, SpanDraft,
    keys::{FINISH_REASONS, PROVIDER, SYSTEM, TOOL_ARGUMENTS, TOOL_RESULT},
    setup::Setup,
};
use crate::{
    conversation::message::{
        Message, Part, block_parts, google_message, google_parts, is_cut_json, json_list,
        json_or_text, openai_tool_calls, parts_of_content, parts_of_text, plain_blocks,
    },
    conversation::recorded::parse_json,
    json::{Object, Value},
    trace::{LogRecord, Span},
};

const EVENT_NAME: &str = "event.name";
pub(super) const SYSTEM_MESSAGE: &str = "gen_ai.system.message";
pub(super) const USER_MESSAGE: &str = "gen_ai.user.message";
pub(super) const ASSISTANT_MESSAGE: &str = "gen_ai.assistant.message";
pub(super) const TOOL_MESSAGE: &str = "gen_ai.tool.message";
pub(super) const CHOICE: &str = "gen_ai.choice";

/// The deprecated event of one message. System messages are not part of a turn.
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
            SYSTEM_MESSAGE => Self::System,
            USER_MESSAGE => Self::User,
            ASSISTANT_MESSAGE => Self::Assistant,
            TOOL_MESSAGE => Self::Tool,
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

    fn read_setup(&self, span: &Span, logs: &[&LogRecord], setup: &mut Setup) {
        for event in span.events.iter().filter(|event| event.name == SYSTEM_MESSAGE) {
            setup.fill_instructions(event.attributes.get("content"), SYSTEM_MESSAGE);
        }
        for log in logs.iter().filter(|log| log.event_name == SYSTEM_MESSAGE) {
            setup.fill_instructions(body_of(log).get("content"), SYSTEM_MESSAGE);
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let is_strands = is_strands(draft.span);
        if draft.kind == Kind::Tool && is_strands {
            read_tool(draft);
        }
        if !draft.with_messages {
            return;
        }
        let mut read = EventMessages { has_blocks: is_strands, ..EventMessages::default() };
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
        draft.set_input(read.input, USER_MESSAGE);
        draft.set_output(read.output, CHOICE);
    }
}

/// Returns the content of the system message in a list of events, as Pydantic AI and Logfire write it into an attribute.
pub(super) fn system_message(list: &Value) -> Option<&Value> {
    let is_system =
        |event: &&Value| event.get(EVENT_NAME).and_then(Value::as_str) == Some(SYSTEM_MESSAGE);
    list.as_array()?.iter().find(is_system)?.get("content")
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

/// Returns true for a span of Strands, which writes lists of blocks as JSON text, and a tool call as events of its span.
fn is_strands(span: &Span) -> bool {
    span.scope.name == "strands.telemetry.tracer"
        || [SYSTEM, PROVIDER]
            .iter()
            .any(|key| span.attributes.get(*key).and_then(Value::as_str) == Some("strands-agents"))
}

/// Fills arguments and result of a tool call from the events of its span, as Strands records them.
fn read_tool(draft: &mut SpanDraft<'_>) {
    let span = draft.span;
    let value = |name: &str, key: &str| {
        let event = span.events.iter().rev().find(|event| event.name == name)?;
        event.attributes.get(key)
    };
    if let Some(arguments) = value(TOOL_MESSAGE, "content") {
        draft.fill(TOOL_ARGUMENTS, Cow::Owned(json_or_text(arguments)), TOOL_MESSAGE);
    }
    if let Some(result) = value(CHOICE, "message") {
        let blocks = json_list(result).filter(|blocks| block_parts(blocks).is_some());
        let result = blocks.map_or_else(|| json_or_text(result), |blocks| plain_blocks(&blocks));
        draft.fill(TOOL_RESULT, Cow::Owned(result), CHOICE);
    }
}

/// Messages of a span, collected from one event each.
#[derive(Default)]
pub(super) struct EventMessages {
    /// Whether text is JSON of a list of blocks.
    has_blocks: bool,
    found: bool,
    pub(super) input: Vec<Message>,
    pub(super) output: Vec<Message>,
    finish_reasons: Vec<Value>,
}

impl EventMessages {
    /// Reads a list of events, each with its name in `event.name`, as Pydantic AI and Logfire write it into an attribute.
    ///
    /// Without a choice, the messages of the assistant at the end are the answer.
    pub(super) fn of_list(list: &Value) -> Self {
        let mut read = Self::default();
        for event in list.as_array().unwrap_or_default() {
            if let Some(event) = event.as_object()
                && let Some(kind) =
                    event.get(EVENT_NAME).and_then(Value::as_str).and_then(MessageEvent::named)
            {
                read.add(kind, event);
            }
        }
        if read.output.is_empty() {
            let is_answer = |message: &Message| message.role == "assistant";
            let asked = read.input.iter().rposition(|message| !is_answer(message));
            read.output = read.input.split_off(asked.map_or(0, |last| last + 1));
        }
        read
    }

    fn parts(&self, content: &Value) -> Vec<Part> {
        if self.has_blocks { parts_of_text(content) } else { parts_of_content(content) }
    }

    /// Returns the parts of what the model said, which may be an empty list of blocks.
    fn answer_parts(&self, content: &Value) -> Vec<Part> {
        let is_nothing = self.has_blocks && content.as_str() == Some("[]");
        if is_nothing { Vec::new() } else { self.parts(content) }
    }

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
                let message = google.unwrap_or_else(|| Message::new("user", self.parts(content)));
                self.add_input(message);
            }
            MessageEvent::Assistant => {
                let mut parts = self.answer_parts(content);
                parts.extend(openai_tool_calls(body.get("tool_calls")));
                self.add_input(Message::new("assistant", parts));
            }
            MessageEvent::Tool => {
                let mut parts = self.parts(content);
                if !parts.iter().any(|part| matches!(part, Part::ToolResponse(_))) {
                    let response = json_or_text(content);
                    let name = body.get("name");
                    parts = vec![Part::tool_response(body.get("id"), name, Some(&response))];
                }
                self.add_input(Message::new("tool", parts));
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
            (Some(message @ Value::String(_)), _) if self.has_blocks => self.answer_parts(message),
            (_, Some(parts)) => google_parts(parts.as_array().unwrap_or_default()),
            _ => self.parts(content),
        };
        self.output.push(Message::new("assistant", parts));
        if let Some(reason) = body.get("finish_reason").and_then(Value::as_str) {
            self.finish_reasons.push(Value::String(reason.to_lowercase()));
        }
    }

    fn add_input(&mut self, message: Message) {
        // An empty answer counts: in a list of events, it may be the last one.
        if !message.parts.is_empty() || message.role == "assistant" {
            self.input.push(message);
        }
    }
}
