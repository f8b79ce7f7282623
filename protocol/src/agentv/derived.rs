//! What no key of a document has as it is wanted.

use serde_json::Value;

use super::{
    Message, Role, Trace, TraceSummary, settings,
    wire::{Output, Wire},
};
use crate::JsonObject;

/// What no key has as it is wanted. A function of [`Wire`], made when a document is read or changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Derived {
    pub(super) question: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) summary: Option<TraceSummary>,
    pub(super) config: Option<JsonObject>,
}

impl Derived {
    pub(super) fn of(wire: &Wire) -> Self {
        let config = wire.config.as_ref().and_then(|config| settings::unified(wire, config));
        Self {
            question: texts_of_users(wire.input()),
            answer: answer(wire),
            reference: reference(wire, config.as_ref().or(wire.config.as_ref())),
            summary: summary(wire),
            config,
        }
    }
}

/// The texts of the user, joined by blanks.
pub(super) fn texts_of_users(messages: &[Message]) -> Option<String> {
    let texts: Vec<String> = messages
        .iter()
        .filter(|message| message.role == Role::User)
        .map(|message| message.text().trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// What the agent said last.
fn answer(wire: &Wire) -> Option<String> {
    let places = [
        wire.output.as_ref().and_then(Output::messages),
        wire.messages.as_deref().map(|messages| &messages[wire.input_in_transcript()..]),
        wire.output_messages.as_deref(),
    ];
    places.into_iter().flatten().find_map(|messages| {
        let spoken = messages.iter().filter(|message| message.role == Role::Assistant);
        // Models that call tools often say an empty text along with it.
        let answers = |message: &&Message| {
            message.content.is_some()
                && (message.tool_calls.is_empty() || !message.text().is_empty())
        };
        spoken.rev().find(answers).map(|message| message.text().into_owned())
    })
}

/// What the last expected message says, or does where it says nothing; else what version 5 is configured to send.
fn reference(wire: &Wire, config: Option<&JsonObject>) -> Option<String> {
    let last = wire.expected().last().and_then(|message| match &message.content {
        Some(content) => Some(content.text().into_owned()),
        None if message.tool_calls.is_empty() => None,
        None => serde_json::to_string_pretty(&message.tool_calls).ok(),
    });
    last.filter(|text| !text.is_empty()).or_else(|| configured_reference(config?))
}

/// What the config says under `expected`.
pub(super) fn configured_reference(config: &JsonObject) -> Option<String> {
    match config.get("expected")? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(format!("{other:#}")),
    }
}

fn summary(wire: &Wire) -> Option<TraceSummary> {
    let places = [&wire.trace_summary, &wire.trace];
    if places.iter().all(|place| place.is_none()) {
        return None;
    }
    let mut summary = TraceSummary::default();
    for place in places.into_iter().flatten() {
        place.complete(&mut summary);
    }
    let above = Trace {
        token_usage: wire.token_usage.clone(),
        cost_usd: wire.cost_usd,
        duration_ms: wire.duration_ms,
        ..Trace::default()
    };
    above.complete(&mut summary);
    Some(summary)
}
