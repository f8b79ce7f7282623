//! Vercel's AI SDK, releases 3 to 6 and the integration `LegacyOpenTelemetry` of release 7: attributes of its own.
//!
//! A call of the SDK is a span (`ai.generateText`) with a span below it for each model call (`ai.generateText.doGenerate`)
//! and each run of a tool (`ai.toolCall`). The integration `OpenTelemetry` of release 7 follows the `GenAI` conventions.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    keys::{
        self, AGENT_NAME, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, ERROR_TYPE, INPUT_MESSAGES,
        TOOL_ARGUMENTS, TOOL_CALL_ID, TOOL_NAME, TOOL_RESULT,
    },
    setup::Setup,
};
use crate::{
    conversation::message::{
        Message, Part, end_with_tool_response, json_or_text, json_text, plain_blocks, read_messages,
    },
    json::{Object, Value},
    trace::{LogRecord, Span},
};

/// The instrumentation scope of the integration that follows the `GenAI` conventions.
pub(super) const SCOPE_7: &str = "gen_ai";

const OPERATION: &str = "ai.operationId";
/// What a call of the SDK was given: system instructions, and a prompt or messages.
const PROMPT: &str = "ai.prompt";
/// What a model call was given.
pub(super) const MESSAGES: &str = "ai.prompt.messages";
const TOOLS: &str = "ai.prompt.tools";
pub(super) const TEXT: &str = "ai.response.text";
pub(super) const TOOL_CALLS: &str = "ai.response.toolCalls";
pub(super) const OBJECT: &str = "ai.response.object";
const FINISH_REASON: &str = "ai.response.finishReason";
const ARGUMENTS: &str = "ai.toolCall.args";

/// How releases 3 to 6 record content.
const SWITCH: &str = "set experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true} in the call of the AI SDK";
/// The same for release 7.
pub(super) const SWITCH_7: &str =
    "set telemetry: {recordInputs: true, recordOutputs: true} in the call of the AI SDK";

/// Attributes, and the canonical attribute that each stands for.
const FACTS: [(&str, &str); 7] = [
    ("ai.telemetry.functionId", AGENT_NAME),
    ("ai.toolCall.name", TOOL_NAME),
    ("ai.toolCall.id", TOOL_CALL_ID),
    (ARGUMENTS, TOOL_ARGUMENTS),
    ("ai.toolCall.result", TOOL_RESULT),
    ("ai.usage.cachedInputTokens", CACHE_READ_TOKENS),
    ("ai.usage.inputTokenDetails.cacheWriteTokens", CACHE_WRITE_TOKENS),
];

/// The convention `vercel-ai`.
#[derive(Debug)]
pub(super) struct VercelAi;

impl Convention for VercelAi {
    fn name(&self) -> &'static str {
        "vercel-ai"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        if span.scope.name == SCOPE_7 {
            // A round is no agent; everything else is as in the `GenAI` conventions.
            return is_round(span, INPUT_MESSAGES).then_some(Kind::Plain);
        }
        Some(match operation(span)? {
            "ai.toolCall" => Kind::Tool,
            call if call.ends_with(".doGenerate") || call.ends_with(".doStream") => Kind::Inference,
            "ai.generateText"
            | "ai.streamText"
            | "ai.generateObject"
            | "ai.streamObject"
            | "ai.workflowAgent.stream"
                if !is_round(span, PROMPT) =>
            {
                Kind::Agent
            }
            _ => Kind::Plain,
        })
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        if operation(draft.span).is_none() {
            return;
        }
        let recorded = &draft.span.attributes;
        for (name, key) in FACTS {
            if let Some(value) = recorded.get(name) {
                draft.fill(key, Cow::Borrowed(value), name);
            }
        }
        if let Some(reason @ Value::String(text)) = recorded.get(FINISH_REASON)
            && text == "error"
        {
            // A stream that broke off; the span itself is not marked as failed.
            draft.fill(ERROR_TYPE, Cow::Borrowed(reason), FINISH_REASON);
        }
        read_input(draft);
        read_output(draft);
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        if operation(span).is_none() {
            return;
        }
        let recorded = |name| span.attributes.get(name);
        setup.fill_tools(recorded(TOOLS), TOOLS);
        let prompt = recorded(PROMPT).map(json_or_text);
        setup.fill_instructions(prompt.as_ref().and_then(|prompt| prompt.get("system")), PROMPT);
    }

    fn content(&self, _span: &Span) -> Content {
        Content { arguments: ARGUMENTS, ..Content::default() }
            .in_attributes(MESSAGES, TEXT)
            .switched_by(SWITCH)
    }
}

/// Returns the operation that the SDK records with a span; `None` if another library wrote the span.
fn operation(span: &Span) -> Option<&str> {
    span.attributes.get(OPERATION)?.as_str().filter(|operation| operation.starts_with("ai."))
}

/// Returns true for a call that goes on after tools which the application ran itself: it is a round of the turn that
/// requested them, and its model calls show which. `name` is the attribute with its messages.
fn is_round(span: &Span, name: &str) -> bool {
    let recorded = &span.attributes;
    if name == INPUT_MESSAGES
        && recorded.get(keys::OPERATION).and_then(Value::as_str) != Some("invoke_agent")
    {
        return false;
    }
    // Parsing all prompts would be slow.
    let given = recorded.get(name).and_then(Value::as_str).filter(|text| text.contains("\"tool\""));
    let messages = given.and_then(|text| match name {
        PROMPT => json_text(text, &[]).ok().map(|prompt| messages_of_call(&prompt)),
        _ => read_messages(&Value::String(text.to_owned())).ok(),
    });
    messages.is_some_and(|messages| end_with_tool_response(&messages))
}

fn read_input(draft: &mut SpanDraft<'_>) {
    let recorded = &draft.span.attributes;
    if !draft.needs_input() {
        return;
    }
    if let Some(history) = structure(draft, MESSAGES) {
        draft.set_input(messages(&history), MESSAGES);
    } else if !recorded.contains_key(MESSAGES)
        && let Some(prompt) = structure(draft, PROMPT)
    {
        draft.set_input(messages_of_call(&prompt), PROMPT);
    }
}

/// Fills the answer: text and tool calls are one message. The object that a model generates is its text.
fn read_output(draft: &mut SpanDraft<'_>) {
    let recorded = &draft.span.attributes;
    if !draft.needs_output() {
        return;
    }
    let said = [TEXT, OBJECT].into_iter().find_map(|key| Some((key, recorded.get(key)?)));
    let mut parts: Vec<Part> = said.map(|(_, text)| Part::text(Some(text))).into_iter().collect();
    let mut source = said.map_or(TOOL_CALLS, |(key, _)| key);
    // The span of a whole call may repeat the tool calls of all its model calls next to the answer, which may be empty.
    let requests = recorded.get(FINISH_REASON).and_then(Value::as_str) == Some("tool-calls");
    if (draft.kind == Kind::Inference || said.is_none() || requests)
        && let Some(Value::Array(calls)) = structure(draft, TOOL_CALLS)
        && !calls.is_empty()
    {
        // An empty text next to tool calls is not an answer.
        parts.retain(|part| matches!(part, Part::Text(_)));
        parts.extend(calls.iter().filter_map(Value::as_object).map(tool_call));
        source = TOOL_CALLS;
    }
    if !parts.is_empty() {
        draft.set_output(vec![Message::new("assistant", parts)], source);
    }
}

/// Returns the value of an attribute with JSON text. Notes text that cannot be read.
fn structure(draft: &mut SpanDraft<'_>, name: &'static str) -> Option<Value> {
    match draft.span.attributes.get(name)? {
        Value::String(text) => json_text(text, &[])
            .map_err(|problem| draft.fail(name, &problem))
            .ok()
            .filter(|value| !value.is_null()),
        other => Some(other.clone()).filter(|value| !value.is_null()),
    }
}

/// Returns the messages of a call of the SDK: a prompt, which may be a list of messages, and messages.
fn messages_of_call(call: &Value) -> Vec<Message> {
    let mut said = Vec::new();
    for given in [call.get("prompt"), call.get("messages")].into_iter().flatten() {
        match given {
            Value::String(text) => said.push(Message::text("user", text)),
            other => said.extend(messages(other)),
        }
    }
    said
}

/// Reads a list of messages whose content is text or a list of parts.
fn messages(history: &Value) -> Vec<Message> {
    let items = history.as_array().unwrap_or_default().iter();
    let read = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str)?;
        let parts = match message.get("content") {
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(Value::as_object).map(part).collect()
            }
            content => vec![Part::text(content)],
        };
        Some(Message::new(role, parts))
    };
    items.filter_map(read).collect()
}

fn part(part: &Object) -> Part {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => Part::text(part.get("text")),
        Some("tool-call") => tool_call(part),
        Some("tool-result") => {
            let output = part.get("output").or_else(|| part.get("result")).map(response);
            Part::tool_response(part.get("toolCallId"), part.get("toolName"), output.as_ref())
        }
        _ => Part::other(part),
    }
}

/// Reads a call; releases before 5 have its arguments in `args`.
fn tool_call(call: &Object) -> Part {
    let arguments = call.get("input").or_else(|| call.get("args"));
    Part::tool_call(call.get("toolCallId"), call.get("toolName"), arguments)
}

/// Takes the response out of the output of a tool, which names the kind of its value.
fn response(output: &Value) -> Value {
    match (output.get("type").and_then(Value::as_str), output.get("value")) {
        (Some("text" | "json" | "error-text" | "error-json"), Some(value)) => value.clone(),
        (Some("content"), Some(blocks)) => plain_blocks(blocks),
        _ => output.clone(),
    }
}

#[cfg(test)]
mod tests;
