//! `OpenLLMetry` of Traceloop: messages in indexed attributes (`gen_ai.prompt.0.content`).

use super::{
    Convention, Kind, SpanDraft,
    indexed::{Fields, inner_objects, objects},
    keys::{INPUT_MESSAGES, OUTPUT_MESSAGES, PROVIDER, REQUEST_MODEL, SYSTEM},
};
use crate::{
    conversation::message::{Message, Part, have_content, json_or_text, parts_of_content},
    json::{Object, Value},
    trace::Span,
};

/// Starts of the names of indexed messages.
const PROMPT: &str = "gen_ai.prompt.";
const COMPLETION: &str = "gen_ai.completion.";

/// The convention `traceloop`.
#[derive(Debug)]
pub(super) struct Traceloop;

impl Convention for Traceloop {
    fn name(&self) -> &'static str {
        "traceloop"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        records_a_call(&span.attributes).then_some(Kind::Inference)
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if draft.needs_input() {
            draft.set_input(messages(recorded, PROMPT), PROMPT);
        }
        if draft.needs_output() {
            draft.set_output(messages(recorded, COMPLETION), COMPLETION);
        }
    }
}

/// Older producers name no operation. A span that names a model and a provider may just as well wrap the call, so it
/// must also carry something only the call knows.
fn records_a_call(attributes: &Object) -> bool {
    let says = |key| attributes.get(key).is_some_and(Value::is_truthy);
    says(REQUEST_MODEL)
        && (says(SYSTEM) || says(PROVIDER))
        && attributes.keys().any(|key| {
            ["gen_ai.usage.", PROMPT, COMPLETION].iter().any(|prefix| key.starts_with(prefix))
                || key == INPUT_MESSAGES
                || key == OUTPUT_MESSAGES
        })
}

fn messages(attributes: &Object, prefix: &str) -> Vec<Message> {
    let messages: Vec<_> =
        objects(attributes, prefix.trim_end_matches('.'), None).values().map(message).collect();
    if have_content(&messages) { messages } else { Vec::new() }
}

fn message(fields: &Fields<'_>) -> Message {
    let get = |field: &str| fields.get(field).copied();
    let role = get("role").and_then(Value::as_str).unwrap_or("user");
    if role == "tool" {
        let response = get("content").map(json_or_text);
        let part = Part::tool_response(get("tool_call_id"), None, response.as_ref());
        return Message::new(role, vec![part]);
    }
    let mut parts = get("content").map(parts_of_content).unwrap_or_default();
    for call in inner_objects(fields, "tool_calls").values() {
        let get = |field: &str| call.get(field).copied();
        if get("name").and_then(Value::as_str).is_some() {
            let arguments = get("arguments").map(json_or_text);
            parts.push(Part::tool_call(get("id"), get("name"), arguments.as_ref()));
        }
    }
    Message::new(role, parts)
}
