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
    Classified, Draft, Kind, attributes,
    indexed::{Fields, inner_objects, objects},
    keys::{
        AGENT_NAME, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, CONVERSATION_ID, FINISH_REASONS,
        INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_MODEL, RESPONSE_MODEL, TOOL_ARGUMENTS, TOOL_CALL_ID,
        TOOL_NAME, TOOL_RESULT,
    },
    values::{CutOff, said_by_agent, said_by_user},
};
use crate::{
    conversation::message::{
        Message, Part, have_content, have_text, is_cut_json, parse_json, parts_of_content, text_of,
    },
    json::{Object, Value, parse_literal},
    trace::{Span, Trace},
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

/// The model, asked for or answering: the specification leaves it open.
const MODEL: &str = "llm.model_name";
const FINISH_REASON: &str = "llm.finish_reason";

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

impl Draft<'_> {
    /// Fills from what the convention records, if the span follows it.
    ///
    /// `decided` says that the span's kind comes from this convention. An agent that another convention describes
    /// keeps what that says of its input and output, even if it is nothing.
    pub(super) fn apply_openinference(&mut self, kind: Kind, decided: bool) {
        let span = self.span;
        if span_kind(span).is_none() {
            return;
        }
        for (name, key) in FACTS {
            if let Some(value) = recorded(span, name) {
                self.attributes.fill(key, Cow::Borrowed(value));
            }
        }
        if let Some(model) = recorded(span, MODEL)
            && self.attributes.is_missing(RESPONSE_MODEL)
        {
            self.attributes.fill(REQUEST_MODEL, Cow::Borrowed(model));
        }
        if let Some(reason @ Value::String(_)) = recorded(span, FINISH_REASON) {
            let reasons = Value::Array(vec![reason.clone()]);
            self.attributes.fill(FINISH_REASONS, Cow::Owned(reasons));
        }
        match kind {
            Kind::Inference => {
                self.fill_messages(
                    &[messages_in, texts_in, value_in],
                    &[messages_out, texts_out, value_out],
                );
            }
            // Instrumentations copy the first message of a history into the indexed attributes of agents and chains, so
            // the whole value comes first.
            Kind::Agent | Kind::Workflow if decided => {
                self.fill_messages(&[value_in, messages_in], &[value_out, messages_out]);
            }
            Kind::Tool => self.apply_openinference_tool(),
            Kind::Agent | Kind::Workflow | Kind::Plain => {}
        }
    }

    fn fill_messages(&mut self, input: &[Source], output: &[Source]) {
        if self.needs_input() {
            self.input = self.first_of(input);
        }
        if self.needs_output() {
            self.output = self.first_of(output);
        }
    }

    /// The messages of the first source that has some or cannot be read.
    fn first_of(&mut self, sources: &[Source]) -> Vec<Message> {
        for source in sources {
            match source(self.span) {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return messages,
                Err(name) => {
                    self.fail(name, "is JSON that was cut off");
                    return Vec::new();
                }
            }
        }
        Vec::new()
    }
}

/// A source of messages. The error is the name of an attribute that was cut off.
type Source = fn(&Span) -> Result<Vec<Message>, &'static str>;

fn messages_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    read_messages(&span.attributes, Side::Input)
}

fn messages_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    read_messages(&span.attributes, Side::Output)
}

fn texts_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    read_texts(&span.attributes, Side::Input)
}

fn texts_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    read_texts(&span.attributes, Side::Output)
}

fn value_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    let said = said_by_user(recorded(span, "input.value"), recorded(span, "input.mime_type"));
    let said = said.map_err(|CutOff| "input.value")?;
    Ok(if have_text(&said) { said } else { Vec::new() })
}

fn value_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    let said = said_by_agent(recorded(span, "output.value"), recorded(span, "output.mime_type"));
    let said = said.map_err(|CutOff| "output.value")?;
    Ok(if have_text(&said) { said } else { Vec::new() })
}

/// The kinds of all spans of a trace.
///
/// The `GenAI` conventions come first: in a trace in which they record a model call, this one adds no calls, agents
/// or tools, since it would record the same ones again. Where they record agents only, it adds calls and tools.
pub(in crate::conversation) fn kinds_of(trace: &Trace) -> Vec<Classified> {
    let declared: Vec<Option<Kind>> = trace.spans.iter().map(attributes::kind_of).collect();
    let mut kinds: Vec<Classified> = declared
        .iter()
        .map(|kind| Classified { kind: kind.unwrap_or(Kind::Plain), by_openinference: false })
        .collect();
    let any = |is: fn(Kind) -> bool| declared.iter().flatten().any(|kind| is(*kind));
    if any(|kind| kind == Kind::Inference) {
        return kinds;
    }
    let has_agents = any(Kind::is_agentic);
    let runs = if has_agents { Vec::new() } else { runs(trace) };
    for (index, span) in trace.spans.iter().enumerate() {
        // An operation that the other conventions name, whichever it is, is not looked at again.
        let (None, Some(named)) = (declared[index], span_kind(span)) else { continue };
        let kind = if named.eq_ignore_ascii_case("LLM") {
            Kind::Inference
        } else if named.eq_ignore_ascii_case("TOOL") && !is_handoff(span) {
            Kind::Tool
        } else if named.eq_ignore_ascii_case("AGENT") && !has_agents {
            Kind::Agent
        } else if named.eq_ignore_ascii_case("CHAIN") && runs.get(index) == Some(&true) {
            Kind::Workflow
        } else {
            continue;
        };
        kinds[index] = Classified { kind, by_openinference: true };
    }
    kinds
}

/// Returns for each span whether it is the outermost one of the convention with a model call or an agent below it.
///
/// The specification (`spec/README.md`) has the root span stand for the run of an agent or pipeline. A chain further in is glue: frameworks
/// make one of every function, and name an "agent" whatever has that word in its name, once per round.
fn runs(trace: &Trace) -> Vec<bool> {
    let mut outermost: Vec<Option<usize>> = vec![None; trace.spans.len()];
    let mut runs = vec![false; trace.spans.len()];
    for index in trace.walk() {
        let Some(kind) = span_kind(&trace.spans[index]) else {
            outermost[index] = trace.parent[index].and_then(|parent| outermost[parent]);
            continue;
        };
        let top = trace.parent[index].and_then(|parent| outermost[parent]).unwrap_or(index);
        outermost[index] = Some(top);
        if ["LLM", "AGENT"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            runs[top] = true;
        }
    }
    runs
}

/// Returns true if the span records that one agent handed over to another. The tool call that requested it is in the model's
/// messages, under a name that this span does not know.
fn is_handoff(span: &Span) -> bool {
    span.name.starts_with("handoff to ")
        && span.attributes.get("tool.name").is_none_or(Value::is_empty_like)
}

/// Input or output of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
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

/// The messages under `llm.input_messages` or `llm.output_messages`; none when they say nothing.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
fn read_messages(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let name = match side {
        Side::Input => "llm.input_messages",
        Side::Output => "llm.output_messages",
    };
    let whole = whole_list(attributes, name)?;
    let messages: Vec<Message> = objects(attributes, name, whole.as_deref())
        .values()
        .map(|fields| message(fields, side))
        .collect();
    Ok(if have_content(&messages) { messages } else { Vec::new() })
}

/// Returns the texts of calls without messages: `llm.prompts` and `llm.choices`.
///
/// # Errors
///
/// The list is JSON text that was cut off; the error is the name of the attribute.
pub(super) fn read_texts(attributes: &Object, side: Side) -> Result<Vec<Message>, &'static str> {
    let (name, field) = match side {
        Side::Input => ("llm.prompts", "prompt.text"),
        Side::Output => ("llm.choices", "completion.text"),
    };
    let whole = whole_list(attributes, name)?;
    let as_texts = whole.as_deref().and_then(Value::as_array).unwrap_or_default();
    let flattened = objects(attributes, name, whole.as_deref());
    let texts = flattened.values().filter_map(|fields| fields.get(field).copied());
    let messages: Vec<Message> = as_texts
        .iter()
        .filter(|item| item.as_str().is_some())
        .chain(texts)
        .filter(|text| !is_withheld(text))
        .map(|text| Message::new(side.role(), vec![Part::text(Some(text))]))
        .collect();
    Ok(if have_content(&messages) { messages } else { Vec::new() })
}

fn message(fields: &Fields<'_>, side: Side) -> Message {
    let get = |name: &str| fields.get(name).copied().filter(|value| !is_withheld(value));
    let role = get("message.role").and_then(Value::as_str).unwrap_or(side.role());
    let mut parts = get("message.content").map(parts_of_content).unwrap_or_default();
    // A message has either; of one that has both, they say the same.
    if !parts.iter().any(|part| matches!(part, Part::Text(_))) {
        parts.extend(inner_objects(fields, "message.contents").values().map(content));
    }
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
        Some(_) => Part::Other,
    }
}

impl Draft<'_> {
    /// Fills what is known of a tool's call.
    pub(super) fn apply_openinference_tool(&mut self) {
        let span = self.span;
        let input = recorded(span, "input.value").map(structure).map(unwrap_arguments);
        let output = recorded(span, "output.value").map(structure).map(unwrap_result);
        for name in ["tool_call.id", "tool.id"] {
            if let Some(id) = recorded(span, name) {
                self.attributes.fill(TOOL_CALL_ID, Cow::Borrowed(id));
            }
        }
        if let Some(name) = recorded(span, "tool.name") {
            self.attributes.fill(TOOL_NAME, Cow::Borrowed(name));
        }
        let mut ids = Vec::new();
        if let Some((arguments, id)) = input {
            self.attributes.fill(TOOL_ARGUMENTS, Cow::Owned(arguments));
            ids.extend(id);
        } else if let Some(parameters) = recorded(span, "tool.parameters").map(structure)
            && !is_schema(&parameters)
        {
            self.attributes.fill(TOOL_ARGUMENTS, Cow::Owned(parameters));
        }
        if let Some((result, id)) = output {
            self.attributes.fill(TOOL_RESULT, Cow::Owned(result));
            ids.extend(id);
        }
        for id in ids {
            self.attributes.fill(TOOL_CALL_ID, Cow::Owned(id));
        }
    }
}

/// Parses JSON text, or Python notation, in which some frameworks pass arguments. Other text stays text.
pub(super) fn structure(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            parse_json(text).or_else(|| parse_literal(text)).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// Returns true for the schema of a tool's parameters, which the specification asks for; some record the arguments.
fn is_schema(parameters: &Value) -> bool {
    parameters.get("type").and_then(Value::as_str) == Some("object")
        && parameters.get("properties").is_some_and(|properties| properties.as_object().is_some())
}

/// Takes the arguments out of the request that `LangChain` passes to tools, with its id.
fn unwrap_arguments(input: Value) -> (Value, Option<Value>) {
    match input {
        Value::Object(mut call)
            if says(&call, "type", "tool_call") && call.contains_key("args") =>
        {
            (take(&mut call, "args"), Some(take(&mut call, "id")))
        }
        other => (other, None),
    }
}

/// Takes the result out of the message that `LangChain` makes of it, or Google's function response, with its id.
fn unwrap_result(output: Value) -> (Value, Option<Value>) {
    match output {
        Value::Object(mut message)
            if says(&message, "type", "tool") && message.contains_key("content") =>
        {
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
