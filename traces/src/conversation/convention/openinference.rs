//! Attributes of `OpenInference`, the convention of Phoenix and its instrumentations.
//!
//! The names are those of its specification (`spec/semantic_conventions.md`, `spec/llm_spans.md` and `spec/tool_calling.md` of
//! `github.com/Arize-ai/openinference`), which requires `openinference.span.kind` of every span; a span without it is ignored.
//! Comments mark what instrumentations write beyond the specification.
//!
//! OpenInference only fills gaps: where the GenAI conventions record a model call, OpenInference attributes of the
//! same trace are not used, so nothing counts twice. Elsewhere the outermost chain is the turn, because frameworks use
//! `AGENT` for every function with that word in its name.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, Kinds, SpanDraft,
    contents::records_messages,
    indexed::{Fields, inner_objects, objects},
    keys::{
        AGENT_NAME, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, CONVERSATION_ID, FINISH_REASONS,
        INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_MODEL, RESPONSE_MODEL, TOOL_ARGUMENTS, TOOL_CALL_ID,
        TOOL_NAME, TOOL_RESULT,
    },
    setup::Setup,
    values::{CutOff, holds_message, said_by_agent, said_by_user, steps_of_agent, unwrap_call},
};
use crate::{
    conversation::attachment::Attachment,
    conversation::message::{Message, Part, have_blank, is_cut_json, parts_of_content, text_of},
    conversation::recorded::parse_json,
    json::{Object, Value, parse_literal},
    trace::{LogRecord, Span, Trace},
};

/// Attributes with one value, and the attributes that they fill; earlier ones have precedence.
const FACTS: [(&str, &str); 9] = [
    ("llm.request.model_name", REQUEST_MODEL),
    ("llm.response.model_name", RESPONSE_MODEL),
    ("llm.token_count.prompt", INPUT_TOKENS),
    ("llm.token_count.completion", OUTPUT_TOKENS),
    ("llm.token_count.prompt_details.cache_read", CACHE_READ_TOKENS),
    // An older name of the same count.
    ("llm.token_count.prompt_details.cache_input", CACHE_READ_TOKENS),
    ("llm.token_count.prompt_details.cache_write", CACHE_WRITE_TOKENS),
    ("agent.name", AGENT_NAME),
    ("session.id", CONVERSATION_ID),
];

/// Attributes of a tool span with one value, and the attributes that they fill; earlier ones have precedence.
const TOOL_FACTS: [(&str, &str); 3] =
    [("tool_call.id", TOOL_CALL_ID), ("tool.id", TOOL_CALL_ID), ("tool.name", TOOL_NAME)];
const PARAMETERS: &str = "tool.parameters";

/// The requested or the responding model; the specification does not define which.
const MODEL: &str = "llm.model_name";
const FINISH_REASON: &str = "llm.finish_reason";
const INPUT_LIST: &str = "llm.input_messages";
const OUTPUT_LIST: &str = "llm.output_messages";
const TOOLS: &str = "llm.tools";
const PROMPTS: &str = "llm.prompts";
const CHOICES: &str = "llm.choices";
const INPUT_VALUE: &str = "input.value";
const INPUT_TYPE: &str = "input.mime_type";
const OUTPUT_VALUE: &str = "output.value";
const OUTPUT_TYPE: &str = "output.mime_type";

/// Placeholder of instrumentations for hidden values.
const WITHHELD: &str = "__REDACTED__";

/// Returns the kind that a span declares; `None` if it does not follow the convention.
fn span_kind(span: &Span) -> Option<&str> {
    span.attributes.get("openinference.span.kind").and_then(Value::as_str)
}

/// The value of an attribute, unless it was withheld.
fn recorded<'a>(span: &'a Span, key: &str) -> Option<&'a Value> {
    span.attributes.get(key).filter(|value| !is_withheld(value))
}

fn is_withheld(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some(WITHHELD)
}

/// How content is switched on.
pub(super) const SWITCH: &str = "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS";

/// The convention `openinference`.
#[derive(Debug)]
pub(super) struct OpenInference;

/// Its name.
const NAME: &str = "openinference";

impl Convention for OpenInference {
    fn name(&self) -> &'static str {
        NAME
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        let named = span_kind(span)?;
        let is = |kind: &str| named.eq_ignore_ascii_case(kind);
        if is("LLM") {
            Some(Kind::Inference)
        } else if is("TOOL") && !is_handoff(span) {
            Some(Kind::Tool)
        } else if is("AGENT") {
            Some(Kind::Agent)
        } else {
            None
        }
    }

    /// The `GenAI` conventions come first: in a trace in which they record the content of a model call, this one adds no
    /// calls, agents or tools, since it would record the same ones again. Where they record agents or calls without
    /// content only, it adds calls and tools.
    fn classify(&self, trace: &Trace, kinds: &mut Kinds) {
        let of_others: Vec<usize> = (0..trace.spans.len())
            .filter(|&index| kinds.get(index) == Some(Kind::Inference))
            .collect();
        let is_own = |index: usize| span_kind(&trace.spans[index]).is_some();
        if of_others.iter().any(|&index| is_own(index) || records_messages(trace, index)) {
            return;
        }
        let has_agents = kinds.any(Kind::is_agentic);
        let runs = if has_agents { Vec::new() } else { runs(trace) };
        for (index, span) in trace.spans.iter().enumerate() {
            // An operation that the other conventions name, whichever it is, is not looked at again.
            if kinds.get(index).is_some() {
                continue;
            }
            match self.kind(span) {
                Some(Kind::Agent) if has_agents => {}
                Some(kind) => kinds.set(index, kind),
                None if runs.get(index) == Some(&true) && is_chain(span) => {
                    kinds.set(index, Kind::Workflow);
                }
                None => {}
            }
        }
        for index in of_others {
            if is_repeated(trace, index) {
                kinds.set(index, Kind::Plain);
            }
        }
    }

    /// If another convention describes an agent, input and output are those of that convention, even if it recorded none.
    fn read(&self, draft: &mut SpanDraft<'_>) {
        let span = draft.span;
        if span_kind(span).is_none() {
            return;
        }
        for (name, key) in FACTS {
            if let Some(value) = recorded(span, name) {
                draft.fill(key, Cow::Borrowed(value), name);
            }
        }
        if let Some(model) = recorded(span, MODEL)
            && draft.attributes.is_missing(RESPONSE_MODEL)
        {
            draft.fill(REQUEST_MODEL, Cow::Borrowed(model), MODEL);
        }
        if let Some(reason @ Value::String(_)) = recorded(span, FINISH_REASON) {
            let reasons = Value::Array(vec![reason.clone()]);
            draft.fill(FINISH_REASONS, Cow::Owned(reasons), FINISH_REASON);
        }
        match draft.kind {
            Kind::Inference => {
                fill_input(draft, &[messages_in, texts_in, value_in]);
                fill_output(draft, &[messages_out, texts_out, value_out]);
            }
            // Instrumentations copy the first message of a history into the indexed attributes of agents and chains, so
            // the whole value comes first.
            Kind::Agent | Kind::Workflow if draft.by == NAME => {
                fill_input(draft, &[value_in, messages_in]);
                fill_output(draft, &[value_out, messages_out]);
                if draft.needs_steps() {
                    let value = recorded(span, OUTPUT_VALUE);
                    let steps = steps_of_agent(value, recorded(span, OUTPUT_TYPE));
                    draft.set_steps(steps, OUTPUT_VALUE);
                }
            }
            Kind::Tool => read_tool(draft),
            Kind::Agent | Kind::Workflow | Kind::Plain => {}
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        const PARAMETERS: &str = "llm.invocation_parameters";
        if span_kind(span).is_none() {
            return;
        }
        let whole = whole_list(&span.attributes, TOOLS).ok().flatten();
        let schema = |fields: &Fields<'_>| fields.get("tool.json_schema").copied().cloned();
        let tools = objects(&span.attributes, TOOLS, whole.as_deref());
        let tools: Vec<Value> = tools.values().filter_map(schema).collect();
        setup.fill_tools(Some(&Value::Array(tools)), TOOLS);
        // What instrumentations write beyond the specification.
        if let Some(parameters) = recorded(span, PARAMETERS).map(structure) {
            for key in ["instructions", "system_instruction", "system"] {
                setup.fill_instructions(parameters.get(key), PARAMETERS);
            }
            setup.fill_tools(parameters.get("tools"), PARAMETERS);
        }
        if let Some(input) = recorded(span, INPUT_VALUE).filter(|_| setup.tools.is_none()) {
            setup.fill_tools(structure(input).get("tools"), INPUT_VALUE);
        }
    }

    fn content(&self, _span: &Span) -> Content {
        Content { arguments: INPUT_VALUE, ..Content::default() }
            .in_attributes(INPUT_LIST, OUTPUT_LIST)
            .switched_by(SWITCH)
    }
}

fn fill_input(draft: &mut SpanDraft<'_>, sources: &[Source]) {
    fill_first(draft, sources, SpanDraft::needs_input, SpanDraft::set_input);
}

fn fill_output(draft: &mut SpanDraft<'_>, sources: &[Source]) {
    fill_first(draft, sources, SpanDraft::needs_output, SpanDraft::set_output);
}

/// Fills one side from the first source that has content or an empty text, or cannot be read.
fn fill_first<'a>(
    draft: &mut SpanDraft<'a>,
    sources: &[Source],
    needs: fn(&SpanDraft<'a>) -> bool,
    set: fn(&mut SpanDraft<'a>, Vec<Message>, &'static str),
) {
    for source in sources {
        if !needs(draft) {
            return;
        }
        match source(draft.span) {
            Ok((messages, name)) if have_blank(&messages) => return set(draft, messages, name),
            Ok((messages, name)) => set(draft, messages, name),
            Err(name) => return draft.fail(name, "is JSON that was cut off"),
        }
    }
}

/// A source of messages: the messages and the name of the attribute. The error is the name of an attribute that was cut
/// off.
type Source = fn(&Span) -> Result<(Vec<Message>, &'static str), &'static str>;

fn messages_in(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    Ok((read_messages(&span.attributes, Side::Input)?, INPUT_LIST))
}

fn messages_out(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    Ok((read_messages(&span.attributes, Side::Output)?, OUTPUT_LIST))
}

fn texts_in(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    Ok((read_texts(&span.attributes, Side::Input)?, PROMPTS))
}

fn texts_out(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    Ok((read_texts(&span.attributes, Side::Output)?, CHOICES))
}

fn value_in(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    let said = said_by_user(recorded(span, INPUT_VALUE), recorded(span, INPUT_TYPE));
    let said = said.map_err(|CutOff| INPUT_VALUE)?;
    Ok((said, INPUT_VALUE))
}

fn value_out(span: &Span) -> Result<(Vec<Message>, &'static str), &'static str> {
    let said = said_by_agent(recorded(span, OUTPUT_VALUE), recorded(span, OUTPUT_TYPE));
    let said = said.map_err(|CutOff| OUTPUT_VALUE)?;
    Ok((said, OUTPUT_VALUE))
}

/// Returns for each span whether it is the outermost one of the convention with a model call or an agent below it.
///
/// In the specification (`spec/README.md`), the root span represents the run of an agent or pipeline. Inner chains are not
/// runs: frameworks record a chain for every function, and an "agent" for every function with that word in its name, once
/// per round.
fn runs(trace: &Trace) -> Vec<bool> {
    let mut outermost: Vec<Option<usize>> = vec![None; trace.spans.len()];
    let mut runs = vec![false; trace.spans.len()];
    let order: Vec<usize> = trace.walk().collect();
    for &index in &order {
        let Some(kind) = span_kind(&trace.spans[index]) else {
            outermost[index] = trace.parent[index].and_then(|parent| outermost[parent]);
            continue;
        };
        let top = trace.parent[index].and_then(|parent| outermost[parent]).unwrap_or(index);
        outermost[index] = Some(top);
        if ["LLM", "AGENT", "TOOL"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            runs[top] = true;
        }
    }
    if !runs.contains(&true) {
        add_dialogues(trace, &order, &mut runs);
    }
    runs
}

/// Adds the outermost chains that hold messages of a user and of an assistant, in a trace that records chains only.
fn add_dialogues(trace: &Trace, order: &[usize], runs: &mut [bool]) {
    let mut is_covered = vec![false; trace.spans.len()];
    for &index in order {
        let span = &trace.spans[index];
        let is_inside = trace.parent[index].is_some_and(|parent| is_covered[parent]);
        runs[index] = !is_inside && is_chain(span) && is_dialogue(span);
        is_covered[index] = is_inside || runs[index];
    }
}

/// Returns true if the input of a span holds a message of the user, and its output one of the assistant.
fn is_dialogue(span: &Span) -> bool {
    let holds =
        |value, kind, role| holds_message(recorded(span, value), recorded(span, kind), role);
    holds(INPUT_VALUE, INPUT_TYPE, "user") && holds(OUTPUT_VALUE, OUTPUT_TYPE, "assistant")
}

/// Returns true if the call without content is recorded again by a span of this convention, which is elsewhere in the tree
/// at the same time. A span inside the other is part of the same call.
fn is_repeated(trace: &Trace, call: usize) -> bool {
    let is_call = |index: usize| {
        span_kind(&trace.spans[index]).is_some_and(|kind| kind.eq_ignore_ascii_case("LLM"))
    };
    let above = |index: usize| std::iter::successors(trace.parent[index], |up| trace.parent[*up]);
    let contains = |outer: &Span, inner: &Span| {
        outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
    };
    let span = &trace.spans[call];
    let others: Vec<usize> = (0..trace.spans.len())
        .filter(|&other| is_call(other) && other != call)
        .filter(|&other| {
            let other = &trace.spans[other];
            contains(other, span) || contains(span, other)
        })
        .collect();
    let is_nested =
        |&other: &usize| above(call).any(|up| up == other) || above(other).any(|up| up == call);
    !others.is_empty() && !others.iter().any(is_nested)
}

fn is_chain(span: &Span) -> bool {
    span_kind(span).is_some_and(|kind| kind.eq_ignore_ascii_case("CHAIN"))
}

/// Returns true if the span records that one agent handed over to another. The tool call that requested it is in the
/// model's messages, under a name that this span does not contain.
fn is_handoff(span: &Span) -> bool {
    span.name.starts_with("handoff to ")
        && span.attributes.get("tool.name").is_none_or(Value::is_empty_like)
}

/// Input or output of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

impl Side {
    fn role(self) -> &'static str {
        match self {
            Self::Input => "user",
            Self::Output => "assistant",
        }
    }
}

/// The messages under `llm.input_messages` or `llm.output_messages`.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
fn read_messages(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let name = match side {
        Side::Input => INPUT_LIST,
        Side::Output => OUTPUT_LIST,
    };
    let whole = whole_list(attributes, name)?;
    let flattened = objects(attributes, name, whole.as_deref());
    Ok(flattened.values().map(|fields| message(fields, side)).collect())
}

/// Returns the texts of calls without messages: `llm.prompts` and `llm.choices`.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
fn read_texts(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let (name, field) = match side {
        Side::Input => (PROMPTS, "prompt.text"),
        Side::Output => (CHOICES, "completion.text"),
    };
    let whole = whole_list(attributes, name)?;
    let as_texts = whole.as_deref().and_then(Value::as_array).unwrap_or_default();
    let flattened = objects(attributes, name, whole.as_deref());
    let texts = flattened.values().filter_map(|fields| fields.get(field).copied());
    let messages = as_texts
        .iter()
        .filter(|item| item.as_str().is_some())
        .chain(texts)
        .filter(|text| !is_withheld(text))
        .map(|text| Message::new(side.role(), vec![Part::text(Some(text))]));
    Ok(messages.collect())
}

fn message(fields: &Fields<'_>, side: Side) -> Message {
    let get = |name: &str| fields.get(name).copied().filter(|value| !is_withheld(value));
    let role = get("message.role").and_then(Value::as_str).unwrap_or(side.role());
    let mut parts = get("message.content").map(parts_of_content).unwrap_or_default();
    if fields.values().any(|value| value.as_str() == Some(WITHHELD)) {
        parts.push(Part::Withheld);
    }
    // A message has either; of one that has both, they say the same, but only one of them has attachments.
    let has_text = parts.iter().any(|part| matches!(part, Part::Text(_)));
    let contents = inner_objects(fields, "message.contents");
    let contents = contents.values().map(content);
    parts.extend(contents.filter(|part| !has_text || matches!(part, Part::Attachment(_))));
    if matches!(role, "tool" | "function") {
        let texts = [Message::new(role, parts)];
        let content = get("message.content").cloned();
        let content = content.or_else(|| text_of(&texts).map(Value::String));
        let part =
            Part::tool_response(get("message.tool_call_id"), get("message.name"), content.as_ref());
        return Message::new("tool", vec![part]);
    }
    for call in inner_objects(fields, "message.tool_calls").values() {
        let get = |name: &str| call.get(name).copied();
        parts.extend(request(
            get("tool_call.id"),
            get("tool_call.function.name"),
            get("tool_call.function.arguments"),
        ));
    }
    // How a call was recorded before there could be several.
    parts.extend(request(
        None,
        get("message.function_call_name"),
        get("message.function_call_arguments_json"),
    ));
    Message::new(role, parts)
}

fn request(id: Option<&Value>, name: Option<&Value>, arguments: Option<&Value>) -> Option<Part> {
    let name = name.filter(|name| name.as_str().is_some_and(|name| !name.is_empty()))?;
    let arguments = arguments.filter(|arguments| !is_withheld(arguments)).map(structure);
    Some(Part::tool_call(id, Some(name), arguments.as_ref()))
}

/// Reads one of `message.contents`. Reasoning has text as well, but is not part of the message.
fn content(fields: &Fields<'_>) -> Part {
    let text = fields.get("message_content.text").copied().filter(|text| !is_withheld(text));
    match fields.get("message_content.type").and_then(|kind| kind.as_str()) {
        None | Some("text") => Part::text(text),
        Some(kind) => {
            let recorded = fields.iter().filter(|(_, value)| !is_withheld(value));
            let attachment = Attachment::of_paths(kind, recorded.map(|(path, it)| (&**path, *it)));
            attachment.map_or(Part::Other, |it| Part::Attachment(Box::new(it)))
        }
    }
}

/// Fills what is known of a tool call.
fn read_tool(draft: &mut SpanDraft<'_>) {
    let span = draft.span;
    let input = recorded(span, INPUT_VALUE).map(structure).map(unwrap_arguments);
    let output = recorded(span, OUTPUT_VALUE).map(structure).map(unwrap_result);
    for (name, key) in TOOL_FACTS {
        if let Some(value) = recorded(span, name) {
            draft.fill(key, Cow::Borrowed(value), name);
        }
    }
    let mut ids = Vec::new();
    if let Some((arguments, id)) = input {
        draft.fill(TOOL_ARGUMENTS, Cow::Owned(arguments), INPUT_VALUE);
        ids.extend(id.map(|id| (id, INPUT_VALUE)));
    } else if let Some(parameters) = recorded(span, PARAMETERS).map(structure)
        && !is_schema(&parameters)
    {
        draft.fill(TOOL_ARGUMENTS, Cow::Owned(parameters), PARAMETERS);
    }
    if let Some((result, id)) = output {
        draft.fill(TOOL_RESULT, Cow::Owned(result), OUTPUT_VALUE);
        ids.extend(id.map(|id| (id, OUTPUT_VALUE)));
    }
    for (id, source) in ids {
        draft.fill(TOOL_CALL_ID, Cow::Owned(id), source);
    }
}

/// Parses JSON text, or Python notation, in which some frameworks pass arguments. Other text stays text.
fn structure(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            parse_json(text).or_else(|| parse_literal(text)).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// Returns true for the schema of a tool's parameters, which the specification requires; some instrumentations record the
/// arguments instead.
fn is_schema(parameters: &Value) -> bool {
    parameters.get("type").and_then(Value::as_str) == Some("object")
        && parameters.get("properties").is_some_and(|properties| properties.as_object().is_some())
}

/// Takes the arguments out of the request that `LangChain` passes to tools, with its id.
pub(super) fn unwrap_arguments(input: Value) -> (Value, Option<Value>) {
    match input {
        Value::Object(mut call)
            if says(&call, "type", "tool_call") && call.contains_key("args") =>
        {
            (take(&mut call, "args"), Some(take(&mut call, "id")))
        }
        other => (unwrap_call(other), None),
    }
}

/// Takes the result out of the message that `LangChain` makes of it, or Google's function response, with its id.
pub(super) fn unwrap_result(output: Value) -> (Value, Option<Value>) {
    let output = match output {
        // LangChain's `message_to_dict` puts a message into `data`.
        Value::Object(mut dumped)
            if says(&dumped, "type", "tool")
                && dumped.get("data").and_then(Value::as_object).is_some_and(is_tool_message) =>
        {
            take(&mut dumped, "data")
        }
        other => other,
    };
    match output {
        Value::Object(mut message) if is_tool_message(&message) => {
            (structure(&take(&mut message, "content")), Some(take(&mut message, "tool_call_id")))
        }
        Value::Object(mut response)
            if response.contains_key("response")
                && response.contains_key("name")
                && response
                    .keys()
                    .all(|key| matches!(key.as_str(), "id" | "name" | "response")) =>
        {
            (take(&mut response, "response"), Some(take(&mut response, "id")))
        }
        other => (other, None),
    }
}

/// Returns true for a message of `LangChain` with the result of a tool.
fn is_tool_message(object: &Object) -> bool {
    says(object, "type", "tool") && object.contains_key("content")
}

fn says(object: &Object, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

fn take(object: &mut Object, key: &str) -> Value {
    object.get_mut(key).map(std::mem::take).unwrap_or_default()
}

/// The list under an attribute that was not flattened, or as JSON text.
///
/// # Errors
///
/// The text is JSON that was cut off; the error is the name of the attribute.
fn whole_list<'a>(
    attributes: &'a Object,
    name: &'static str,
) -> Result<Option<Cow<'a, Value>>, &'static str> {
    match attributes.get(name) {
        Some(list @ Value::Array(_)) => Ok(Some(Cow::Borrowed(list))),
        Some(Value::String(text)) if is_cut_json(text) => Err(name),
        Some(Value::String(text)) => {
            Ok(parse_json(text).filter(|value| value.as_array().is_some()).map(Cow::Owned))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
