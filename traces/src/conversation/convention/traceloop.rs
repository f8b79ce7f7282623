//! `OpenLLMetry` of Traceloop: messages in indexed attributes (`gen_ai.prompt.0.content`), and the callbacks of tools.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    indexed::{Fields, inner_objects, objects},
    keys::{
        INPUT_MESSAGES, OUTPUT_MESSAGES, PROVIDER, REQUEST_MODEL, SYSTEM, TOOL_ARGUMENTS,
        TOOL_CALL_ID, TOOL_NAME, TOOL_RESULT,
    },
    setup::Setup,
    values::{history_of, said_by_agent, said_by_user, steps_of_agent, unwrap_call},
};
use crate::{
    conversation::message::{Message, Part, json_or_text, parts_of_text, plain_blocks},
    json::{Object, Value, parse_literal},
    trace::{LogRecord, Span},
};

/// Starts of the names of indexed messages.
pub(super) const PROMPT: &str = "gen_ai.prompt.";
pub(super) const COMPLETION: &str = "gen_ai.completion.";
/// Input and output of the function or method that a span records.
const INPUT: &str = "traceloop.entity.input";
const OUTPUT: &str = "traceloop.entity.output";

/// Declarations of tools.
const FUNCTIONS: &str = "llm.request.functions";

/// How content is switched on.
pub(super) const SWITCH: &str = "set TRACELOOP_TRACE_CONTENT=true";

/// The convention `traceloop`.
#[derive(Debug)]
pub(super) struct Traceloop;

impl Convention for Traceloop {
    fn name(&self) -> &'static str {
        "traceloop"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        match span_kind(span) {
            Some("tool") => Some(Kind::Tool),
            Some("agent") => Some(Kind::Agent),
            _ => records_a_call(&span.attributes).then_some(Kind::Inference),
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if draft.kind == Kind::Tool && span_kind(draft.span).is_some() {
            read_tool(draft);
        }
        if draft.needs_input() {
            draft.set_input(messages(recorded, PROMPT), PROMPT);
        }
        if draft.needs_output() {
            draft.set_output(messages(recorded, COMPLETION), COMPLETION);
        }
        match (span_kind(draft.span), draft.kind) {
            (Some(_), Kind::Inference) => read_model(draft),
            (Some("agent" | "workflow"), _) => read_run(draft),
            _ => {}
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        let functions = objects(&span.attributes, FUNCTIONS, None);
        let functions = functions.values().map(|fields| {
            let members = fields.iter().map(|(name, value)| (name.to_string(), (*value).clone()));
            Value::Object(members.collect())
        });
        setup.fill_tools(Some(&Value::Array(functions.collect())), FUNCTIONS);
        if let Some(input) = span.attributes.get(INPUT).filter(|_| setup.tools.is_none()) {
            let input = json_or_text(input);
            setup.fill_tools(input.get("kwargs").and_then(|named| named.get("tools")), INPUT);
        }
    }

    fn content(&self, _span: &Span) -> Content {
        Content::default().in_attributes(PROMPT, COMPLETION).switched_by(SWITCH)
    }
}

/// Returns what Traceloop calls the kind of a span: `workflow`, `task`, `agent` or `tool`.
fn span_kind(span: &Span) -> Option<&str> {
    span.attributes.get("traceloop.span.kind").and_then(Value::as_str)
}

/// Fills the answer of a model from the output of the method that the span records, if it has no messages: tool calls of
/// `LlamaIndex` are recorded nowhere else.
fn read_model(draft: &mut SpanDraft<'_>) {
    if !draft.needs_output() {
        return;
    }
    let output = draft.span.attributes.get(OUTPUT).map(json_or_text);
    if let Some(message) = output.as_ref().and_then(|output| output.get("message"))
        && let Ok(messages) = history_of(Some(message), "assistant")
    {
        draft.set_output(messages, OUTPUT);
    }
}

/// Fills what was said to an agent or workflow, and its answer. Values that cannot be read are left to the model calls.
fn read_run(draft: &mut SpanDraft<'_>) {
    let recorded = &draft.span.attributes;
    if draft.needs_input() {
        draft.set_input(said_by_user(recorded.get(INPUT), None).unwrap_or_default(), INPUT);
    }
    if draft.needs_output() {
        draft.set_output(said_by_agent(recorded.get(OUTPUT), None).unwrap_or_default(), OUTPUT);
    }
    if draft.needs_steps() {
        draft.set_steps(steps_of_agent(recorded.get(OUTPUT), None), OUTPUT);
    }
}

/// Takes arguments and result out of what `LangChain` passes to the callbacks of a tool.
fn read_tool(draft: &mut SpanDraft<'_>) {
    const NAME: &str = "traceloop.entity.name";
    let recorded = &draft.span.attributes;
    if let Some(name) = recorded.get(NAME) {
        draft.fill(TOOL_NAME, Cow::Borrowed(name), NAME);
    }
    let parsed = |key: &str, other: &str| {
        recorded.get(key).or_else(|| recorded.get(other)).map(json_or_text)
    };
    if let Some(input) = parsed(TOOL_ARGUMENTS, INPUT) {
        let source = if recorded.contains_key(TOOL_ARGUMENTS) { TOOL_ARGUMENTS } else { INPUT };
        draft.attributes.replace(TOOL_ARGUMENTS, callback_arguments(input), source);
    }
    if let Some(output) = parsed(TOOL_RESULT, OUTPUT) {
        let source = if recorded.contains_key(TOOL_RESULT) { TOOL_RESULT } else { OUTPUT };
        let (result, id) = callback_result(output);
        draft.attributes.replace(TOOL_RESULT, result, source);
        if let Some(id) = id {
            draft.fill(TOOL_CALL_ID, Cow::Owned(id), source);
        }
    }
}

/// The arguments of a callback: `inputs`, or `input_str` in Python's notation.
fn callback_arguments(input: Value) -> Value {
    let Some(text) = input.get("input_str").and_then(Value::as_str) else {
        return unwrap_call(input);
    };
    match input.get("inputs") {
        Some(inputs @ Value::Object(_)) => inputs.clone(),
        _ => parse_literal(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

/// The result of a callback: the content of a message of `LangChain`, or any other value, and the id of the call.
fn callback_result(output: Value) -> (Value, Option<Value>) {
    let Some(result) = output.get("output") else { return (output, None) };
    let message = result.get("kwargs").filter(|_| result.get("lc").is_some());
    match message.and_then(|message| Some((message.get("content")?, message.get("tool_call_id")))) {
        Some((content, id)) => (json_or_text(&plain_blocks(content)), id.cloned()),
        None => (result.clone(), None),
    }
}

/// Older producers do not record the operation. A span with a model and a provider may also be a wrapper of the call, so
/// the span must have another attribute that only the call itself has.
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
    objects(attributes, prefix.trim_end_matches('.'), None).values().map(message).collect()
}

fn message(fields: &Fields<'_>) -> Message {
    let get = |field: &str| fields.get(field).copied();
    let role = get("role").and_then(Value::as_str).unwrap_or("user");
    if role == "tool" {
        let response = get("content").map(json_or_text);
        let part = Part::tool_response(get("tool_call_id"), None, response.as_ref());
        return Message::new(role, vec![part]);
    }
    let mut parts = match get("content") {
        // How some releases write an empty text.
        Some(Value::String(text)) if text == "\"\"" => vec![Part::Blank],
        content => content.map(parts_of_text).unwrap_or_default(),
    };
    for call in inner_objects(fields, "tool_calls").values() {
        let get = |field: &str| call.get(field).copied();
        if get("name").and_then(Value::as_str).is_some() {
            let arguments = get("arguments").map(json_or_text);
            parts.push(Part::tool_call(get("id"), get("name"), arguments.as_ref()));
        }
    }
    // The only call of a message in an older form, which LiteLLM writes for each call.
    if get("function_call.name").and_then(Value::as_str).is_some() {
        let arguments = get("function_call.arguments").map(json_or_text);
        parts.push(Part::tool_call(None, get("function_call.name"), arguments.as_ref()));
    }
    Message::new(role, parts)
}
