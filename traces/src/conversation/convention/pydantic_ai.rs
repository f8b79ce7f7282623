//! Pydantic AI, format versions 1 to 5, and Logfire's spans of the `OpenAI` Agents SDK, which share the form of messages.
//!
//! Versions differ in names only: version 1 has messages as a list of events, later ones as the `GenAI` conventions have
//! them; versions 1 and 2 have names of their own for arguments and results, and spans without an operation name.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, Kinds, SpanDraft,
    events::{EventMessages, system_message},
    keys::{AGENT_NAME, CONVERSATION_ID, TOOL_ARGUMENTS, TOOL_NAME, TOOL_RESULT},
    setup::Setup,
    values::history_of,
};
use crate::{
    conversation::message::{Message, after_user, json_or_text, read_messages, user_turn},
    conversation::recorded::parse_json,
    json::{Object, Value},
    trace::{LogRecord, Span, Trace},
};

/// The instrumentation scope of Pydantic AI.
const PYDANTIC_AI: &str = "pydantic-ai";
/// The instrumentation scope of Logfire for the Agents SDK.
const AGENTS_SDK: &str = "logfire.openai_agents";

/// Messages of a model call, format version 1.
pub(super) const EVENTS: &str = "events";
/// The request of a chat completion.
pub(super) const REQUEST_DATA: &str = "request_data";
const TEMPLATE: &str = "logfire.msg_template";

/// How content is switched on.
pub(super) const SWITCH: &str = "pass InstrumentationSettings(include_content=True)";

/// The convention `pydantic-ai`.
#[derive(Debug)]
pub(super) struct PydanticAi;

impl Convention for PydanticAi {
    fn name(&self) -> &'static str {
        "pydantic-ai"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        if span.scope.name != PYDANTIC_AI {
            return None;
        }
        let starts = |start: &str| span.name.starts_with(start);
        let has = |key| span.attributes.contains_key(key);
        if (starts("agent run") || starts("invoke_agent")) && has("agent_name") {
            Some(Kind::Agent)
        } else if (starts("running tool") || starts("execute_tool")) && has(TOOL_NAME) {
            Some(Kind::Tool)
        } else {
            None
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        if draft.span.scope.name != PYDANTIC_AI {
            return;
        }
        let recorded = &draft.span.attributes;
        for (name, key) in [
            ("agent_name", AGENT_NAME),
            ("tool_arguments", TOOL_ARGUMENTS),
            ("tool_response", TOOL_RESULT),
        ] {
            if let Some(value) = recorded.get(name) {
                draft.fill(key, Cow::Borrowed(value), name);
            }
        }
        match draft.kind {
            Kind::Inference => read_events(draft),
            Kind::Agent => read_agent(draft),
            _ => {}
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        const PARAMETERS: &str = "model_request_parameters";
        if span.scope.name != PYDANTIC_AI {
            return;
        }
        read_system_message(span, setup);
        let parameters = span.attributes.get(PARAMETERS).map(json_or_text);
        let tools = parameters.as_ref().and_then(|parameters| parameters.get("function_tools"));
        setup.fill_tools(tools, PARAMETERS);
    }

    fn content(&self, _span: &Span) -> Content {
        Content::default().switched_by(SWITCH)
    }
}

/// Fills the instructions from the list of events of a model call.
fn read_system_message(span: &Span, setup: &mut Setup) {
    let list = list_in(&span.attributes, EVENTS);
    setup.fill_instructions(list.as_deref().and_then(system_message), EVENTS);
}

/// Fills the messages of a model call from a list of events.
fn read_events(draft: &mut SpanDraft<'_>) {
    if !(draft.needs_input() || draft.needs_output()) {
        return;
    }
    if let Some(list) = list_in(&draft.span.attributes, EVENTS) {
        let read = EventMessages::of_list(&list);
        draft.set_input(read.input, EVENTS);
        draft.set_output(read.output, EVENTS);
    }
}

/// Fills the result of a run. Its messages repeat those of the model calls.
fn read_agent(draft: &mut SpanDraft<'_>) {
    const RESULT: &str = "final_result";
    const MESSAGES: &str = "pydantic_ai.all_messages";
    const MESSAGE_EVENTS: &str = "all_messages_events";
    let recorded = &draft.span.attributes;
    if draft.needs_output()
        && let Some(Value::String(result)) = recorded.get(RESULT)
    {
        draft.set_output(vec![Message::text("assistant", result)], RESULT);
    }
    if !draft.needs_steps() {
        return;
    }
    let (messages, source) = match list_in(recorded, MESSAGE_EVENTS) {
        Some(list) => {
            let EventMessages { input, output, .. } = EventMessages::of_list(&list);
            ([input, output].concat(), MESSAGE_EVENTS)
        }
        None => match recorded.get(MESSAGES).map(read_messages) {
            Some(Ok(messages)) => (messages, MESSAGES),
            _ => return,
        },
    };
    draft.set_steps(after_user(&messages).to_vec(), source);
    draft.set_input(user_turn(&messages).to_vec(), source);
}

/// Returns the list under an attribute, or in its JSON text.
fn list_in<'a>(attributes: &'a Object, key: &str) -> Option<Cow<'a, Value>> {
    let list = match attributes.get(key)? {
        Value::String(text) => Cow::Owned(parse_json(text)?),
        value => Cow::Borrowed(value),
    };
    list.as_array().is_some().then_some(list)
}

/// The convention `logfire-openai-agents`.
#[derive(Debug)]
pub(super) struct LogfireAgents;

impl Convention for LogfireAgents {
    fn name(&self) -> &'static str {
        "logfire-openai-agents"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        if span.scope.name != AGENTS_SDK {
            return None;
        }
        let template = span.attributes.get(TEMPLATE).and_then(Value::as_str).unwrap_or(&span.name);
        if template.starts_with("Function") {
            Some(Kind::Tool)
        } else if template.starts_with("Agent run") {
            Some(Kind::Agent)
        } else if template.starts_with("OpenAI Agents trace") || is_task(span) {
            Some(Kind::Workflow)
        } else {
            None
        }
    }

    /// A run is a task. Older versions record no tasks, and the trace stands for the run.
    fn classify(&self, trace: &Trace, kinds: &mut Kinds) {
        let is_own = |span: &&Span| span.scope.name == AGENTS_SDK;
        let has_tasks = trace.spans.iter().filter(is_own).any(is_task);
        for (index, span) in trace.spans.iter().enumerate() {
            if kinds.get(index).is_none()
                && let Some(kind) = self.kind(span)
                && !(has_tasks && kind == Kind::Workflow && !is_task(span))
            {
                kinds.set(index, kind);
            }
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        if span.scope.name != AGENTS_SDK {
            return;
        }
        read_system_message(span, setup);
        // The request of a chat completion, or the response of the other API, which repeats the request.
        for key in [REQUEST_DATA, "response"] {
            let data = span.attributes.get(key).map(json_or_text);
            let member = |name| data.as_ref().and_then(|data| data.get(name));
            setup.fill_instructions(member("instructions"), key);
            setup.fill_tools(member("tools"), key);
        }
        setup.fill_tools(span.attributes.get("tools"), "tools");
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let span = draft.span;
        if span.scope.name != AGENTS_SDK {
            return;
        }
        let facts: &[(&str, &'static str, &'static str)] = match draft.kind {
            Kind::Inference => {
                read_events(draft);
                read_request(draft);
                return;
            }
            Kind::Tool => &[
                ("name", TOOL_NAME, "name"),
                ("input", TOOL_ARGUMENTS, "input"),
                ("output", TOOL_RESULT, "output"),
            ],
            Kind::Agent => &[("name", AGENT_NAME, "name")],
            Kind::Workflow => &[("group_id", CONVERSATION_ID, "group_id")],
            Kind::Plain => &[],
        };
        for (name, key, source) in facts {
            // Absent values are recorded as the JSON text of `null`.
            if let Some(value) = span.attributes.get(*name)
                && value.as_str() != Some("null")
            {
                draft.fill(key, Cow::Borrowed(value), source);
            }
        }
    }
}

/// Fills the messages of a model call from the request and the response of chat completions.
fn read_request(draft: &mut SpanDraft<'_>) {
    const RESPONSE: &str = "response_data";
    let recorded = &draft.span.attributes;
    let messages = |key: &str, member: &str| {
        let data = match recorded.get(key)? {
            Value::String(text) => Cow::Owned(parse_json(text)?),
            value => Cow::Borrowed(value),
        };
        history_of(Some(data.get(member)?), "").ok()
    };
    if draft.needs_input()
        && let Some(messages) = messages(REQUEST_DATA, "messages")
    {
        draft.set_input(messages, REQUEST_DATA);
    }
    if draft.needs_output()
        && let Some(messages) = messages(RESPONSE, "message")
    {
        draft.set_output(messages, RESPONSE);
    }
}

fn is_task(span: &Span) -> bool {
    span.attributes.get("sdk_span_type").and_then(Value::as_str) == Some("task")
}
