//! Attributes of Google's Agent Development Kit.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    keys::{
        CACHE_READ_TOKENS, FINISH_REASONS, INPUT_TOKENS, NOT_SPECIFIED, OUTPUT_TOKENS,
        REQUEST_MODEL, RESPONSE_MODEL, TOOL_ARGUMENTS, TOOL_NAME, TOOL_RESULT,
    },
    setup::Setup,
};
use crate::{
    conversation::message::{Message, google_message, is_cut_json, json_or_text, json_text},
    json::{Object, Paths, Step, Value},
    trace::{LogRecord, Span},
};

/// The instrumentation scope of the kit.
pub(super) const SCOPE: &str = "gcp.vertex.agent";
/// The start of its attribute names.
const PREFIX: &str = "gcp.vertex.agent.";

pub(super) const LLM_REQUEST: &str = "gcp.vertex.agent.llm_request";
pub(super) const LLM_RESPONSE: &str = "gcp.vertex.agent.llm_response";
const TOOL_CALL_ARGS: &str = "gcp.vertex.agent.tool_call_args";
const TOOL_RESPONSE: &str = "gcp.vertex.agent.tool_response";

/// Parts of a request that are not read, or only on demand: tool declarations and tool responses.
const REQUEST_UNREAD: Paths = &[
    &[Step::Member("config")],
    &[
        Step::Member("contents"),
        Step::Items,
        Step::Member("parts"),
        Step::Items,
        Step::Member("function_response"),
        Step::Member("response"),
    ],
];
const REQUEST_UNREAD_WITHOUT_INPUT: Paths =
    &[&[Step::Member("config")], &[Step::Member("contents")]];
const CONTENTS_UNREAD: Paths = &[&[Step::Member("contents")]];

/// Counts in the response's usage metadata.
const USAGE: [(&str, &str); 3] = [
    ("prompt_token_count", INPUT_TOKENS),
    ("candidates_token_count", OUTPUT_TOKENS),
    ("cached_content_token_count", CACHE_READ_TOKENS),
];

/// The convention `adk`.
#[derive(Debug)]
pub(super) struct AgentDevelopmentKit;

impl Convention for AgentDevelopmentKit {
    fn name(&self) -> &'static str {
        "adk"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        match span.name.as_str() {
            "call_llm" if is_adk(span) => Some(Kind::Inference),
            "invocation" if is_adk(span) => Some(Kind::Workflow),
            _ => None,
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        if is_adk(draft.span) {
            draft.apply_adk();
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        let Some(request) = span.attributes.get(LLM_REQUEST).filter(|_| is_adk(span)) else {
            return;
        };
        let request = match request {
            Value::String(text) => json_text(text, CONTENTS_UNREAD).unwrap_or_default(),
            other => other.clone(),
        };
        let config = request.get("config").unwrap_or(&Value::Null);
        setup.fill_instructions(config.get("system_instruction"), LLM_REQUEST);
        setup.fill_tools(config.get("tools"), LLM_REQUEST);
    }

    fn content(&self, _span: &Span) -> Content {
        Content { arguments: TOOL_CALL_ARGS, ..Content::default() }
            .in_attributes(LLM_REQUEST, LLM_RESPONSE)
            .switched_by(SWITCH)
    }
}

/// How the kit records content: version 1 has a variable of its own, version 2 follows those of OpenTelemetry.
pub(super) const SWITCH: &str = "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and \
                                 OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY; with ADK 1, set \
                                 ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true";

/// Returns true for a span of the kit.
fn is_adk(span: &Span) -> bool {
    span.scope.name == SCOPE || span.attributes.keys().any(|key| key.starts_with(PREFIX))
}

/// Returns true for the span with which the kit repeats the results of tools called at the same time.
pub(super) fn sums_up_tools(span: &Span) -> bool {
    span.name == "execute_tool (merged)"
        || span.attributes.get(TOOL_NAME).and_then(Value::as_str) == Some("(merged tools)")
}

impl<'a> SpanDraft<'a> {
    /// Fills from the attributes of the kit.
    fn apply_adk(&mut self) {
        let recorded = &self.span.attributes;
        let unread = if self.needs_input() { REQUEST_UNREAD } else { REQUEST_UNREAD_WITHOUT_INPUT };
        if let Some(request) = self.object(LLM_REQUEST, unread) {
            self.apply_request(&request);
        }
        if let Some(response) = self.object(LLM_RESPONSE, &[]) {
            self.apply_response(&response);
        }
        if let Some(arguments) = recorded.get(TOOL_CALL_ARGS)
            && arguments.as_str() != Some("N/A")
        {
            self.fill(TOOL_ARGUMENTS, Cow::Owned(json_or_text(arguments)), TOOL_CALL_ARGS);
        }
        // The kit writes nothing but JSON here.
        if recorded.get(TOOL_RESPONSE).and_then(Value::as_str).is_some_and(is_cut_json) {
            self.fail(TOOL_RESPONSE, "is JSON that was cut off");
        }
        if let Some(result) = recorded.get(TOOL_RESPONSE).map(json_or_text)
            && !is_not_specified(&result)
        {
            self.fill(TOOL_RESULT, Cow::Owned(result), TOOL_RESPONSE);
        }
    }

    /// Returns the object of an attribute, or of its JSON text, in which the values at `unread` stay text.
    fn object(&mut self, key: &str, unread: Paths) -> Option<Cow<'a, Object>> {
        match self.span.attributes.get(key)? {
            Value::Object(object) => Some(Cow::Borrowed(object)),
            // The kit writes other text in place of what it cannot write as JSON.
            Value::String(text) if text.trim_start().starts_with('{') => {
                match json_text(text, unread) {
                    Ok(Value::Object(object)) => Some(Cow::Owned(object)),
                    Ok(_) => None,
                    Err(problem) => {
                        self.fail(key, &problem);
                        None
                    }
                }
            }
            _ => None,
        }
    }

    fn apply_request(&mut self, request: &Object) {
        if let Some(contents) = request.get("contents").and_then(Value::as_array)
            && self.needs_input()
        {
            let messages: Vec<_> = contents
                .iter()
                .filter_map(|content| google_message(content, "user"))
                .filter(|message| !message.parts.is_empty())
                .collect();
            self.set_input(messages, LLM_REQUEST);
        }
        self.fill_text(REQUEST_MODEL, request.get("model"), LLM_REQUEST);
    }

    fn apply_response(&mut self, response: &Object) {
        let message =
            response.get("content").and_then(|content| google_message(content, "assistant"));
        // A model that answered nothing has a reason for it only.
        let finished = response.contains_key("finish_reason");
        let message = message.or_else(|| finished.then(|| Message::new("assistant", Vec::new())));
        self.set_output(message.into_iter().collect(), LLM_RESPONSE);
        if let Some(reason) = response.get("finish_reason").and_then(Value::as_str) {
            let reasons = Value::Array(vec![Value::String(reason.to_lowercase())]);
            self.fill(FINISH_REASONS, Cow::Owned(reasons), LLM_RESPONSE);
        }
        self.fill_text(RESPONSE_MODEL, response.get("model_version"), LLM_RESPONSE);
        for (count, key) in USAGE {
            let count = response.get("usage_metadata").and_then(|usage| usage.get(count));
            if let Some(count @ (Value::Int(_) | Value::BigInt(_))) = count {
                self.fill(key, Cow::Owned(count.clone()), LLM_RESPONSE);
            }
        }
    }

    fn fill_text(&mut self, key: &'static str, value: Option<&Value>, source: &'static str) {
        if let Some(text @ Value::String(_)) = value {
            self.fill(key, Cow::Owned(text.clone()), source);
        }
    }
}

/// Returns true for the kit's marker of a tool without a result, alone or as the only member `result`.
fn is_not_specified(result: &Value) -> bool {
    let said = match result {
        Value::Object(object) if object.len() == 1 => object.get("result"),
        other => Some(other),
    };
    said.and_then(Value::as_str) == Some(NOT_SPECIFIED)
}
