//! Whether a span records messages.

use super::{
    adk::{LLM_REQUEST, LLM_RESPONSE},
    events::{ASSISTANT_MESSAGE, CHOICE, TOOL_MESSAGE, USER_MESSAGE},
    keys::{DETAILS, INPUT_MESSAGES, OUTPUT_MESSAGES},
    pydantic_ai::{EVENTS, REQUEST_DATA},
    traceloop::{COMPLETION, PROMPT},
    vercel_ai,
};
use crate::{conversation::message::is_placeholder, json::Value, trace::Trace};

/// Returns true if a span records messages, in whatever convention; what they hold is not parsed.
pub(super) fn records_messages(trace: &Trace, index: usize) -> bool {
    const KEYS: [&str; 10] = [
        INPUT_MESSAGES,
        OUTPUT_MESSAGES,
        LLM_REQUEST,
        LLM_RESPONSE,
        EVENTS,
        REQUEST_DATA,
        vercel_ai::MESSAGES,
        vercel_ai::TEXT,
        vercel_ai::TOOL_CALLS,
        vercel_ai::OBJECT,
    ];
    const EVENT_NAMES: [&str; 5] = [DETAILS, USER_MESSAGE, ASSISTANT_MESSAGE, TOOL_MESSAGE, CHOICE];
    let is_something = |value: &Value| match value {
        Value::String(text) => !is_placeholder(text) && text != "[]",
        other => !other.is_empty_like(),
    };
    let span = &trace.spans[index];
    let mut attributes = span.attributes.iter();
    attributes.any(|(key, value)| {
        (KEYS.contains(&key.as_str()) || key.starts_with(PROMPT) || key.starts_with(COMPLETION))
            && is_something(value)
    }) || {
        let names = span.events.iter().map(|event| &event.name);
        let mut names = names.chain(trace.logs[index].iter().map(|log| &log.event_name));
        names.any(|name| EVENT_NAMES.contains(&name.as_str()))
    }
}
