//! The calls of a turn: tool calls, from the spans of the tools, from the messages, or from both together, and logical model
//! calls.
//!
//! A framework's span often wraps that of the client library, and both record the same model call. Nested spans of which only
//! one has nothing below it are one call; where a span wraps several calls, it is not a call itself.
//!
//! A framework, a client and a server may each record the same call, one span inside the other. Such spans share the name of
//! the tool or the id of the call, and they are one call.
//!
//! Results of tools stay text until they are read: each model call repeats them, and built-in metrics never read one.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{
    CallSources, JudgedSpan, LlmCall, Recorded, Source, ToolCall, Usage,
    convention::{GENAI, Kind, Side, SpanView, TooLarge, keys},
    message::{
        CallPart, Message, PartId, ResponsePart, have_content, is_said_by_user, json_or_text,
        tool_calls, tool_responses,
    },
    recorded::is_empty,
    tree::Tree,
};
use crate::{
    json::{NonFinite, Value, is_space, python_eq, scalar_text, string_repr, to_string},
    trace::{Event, SpanStatus},
};

const EXCEPTION_MESSAGE: &str = "exception.message";

/// Returns the calls among the spans `members` (in walk order), in order of (start, span id) of their outermost spans.
pub(crate) fn calls_in_spans(
    tree: &Tree<'_>,
    members: &[usize],
    warnings: &mut Vec<String>,
) -> Vec<ToolCall> {
    let mut chain_of: HashMap<usize, usize> = HashMap::new();
    let mut chains: Vec<Vec<&SpanView<'_>>> = Vec::new();
    for &index in members {
        let view = tree.view(index);
        if view.kind != Kind::Tool {
            continue;
        }
        let outer = tree.nodes[index].tool_parent;
        let chain = outer
            .filter(|&outer| is_same_call(tree.view(outer), view))
            .and_then(|outer| chain_of.get(&outer).copied())
            .unwrap_or_else(|| {
                chains.push(Vec::new());
                chains.len() - 1
            });
        chains[chain].push(view);
        chain_of.insert(index, chain);
    }
    chains.sort_by(|a, b| place(a).cmp(&place(b)));
    chains.iter().map(|chain| call(chain, warnings)).collect()
}

/// Returns the sort key of a chain: start and span id of the outermost span.
fn place<'t>(chain: &[&'t SpanView<'_>]) -> Option<(i128, &'t str)> {
    let outermost = chain.first()?.span;
    Some((outermost.start_ns, &outermost.span_id))
}

/// Returns true if two spans, one inside the other, record the same call. Different ids do not prove that the calls differ,
/// because a protocol between client and server numbers its own requests.
fn is_same_call(outer: &SpanView<'_>, inner: &SpanView<'_>) -> bool {
    [keys::TOOL_NAME, keys::TOOL_CALL_ID].into_iter().any(|key| {
        let outer = outer.attributes.text(key);
        outer.is_some() && outer == inner.attributes.text(key)
    })
}

/// The call of spans that record it, outermost first. Each figure comes from the outermost span that has it.
fn call(chain: &[&SpanView<'_>], warnings: &mut Vec<String>) -> ToolCall {
    let text = |key| chain.iter().find_map(|view| view.attributes.nonempty_text(key));
    let value = |key| chain.iter().find_map(|view| view.attributes.get(key));
    let status = chain.iter().map(|view| view.span.status).find(|set| *set != SpanStatus::Unset);
    let outermost = chain.first().map(|view| view.span);
    let source = |key| {
        let recorded = chain.iter().find(|view| view.attributes.get(key).is_some());
        recorded.map(|view| view.source_of(key))
    };
    let error = chain.iter().find_map(|view| error_of(view));
    let (error, error_source) = error.unzip();
    let span_name = || chain.first().map(|view| view.source("the name of the span"));
    let sources = CallSources {
        name: source(keys::TOOL_NAME).or_else(span_name),
        arguments: source(keys::TOOL_ARGUMENTS),
        result: source(keys::TOOL_RESULT),
        error: error_source,
    };
    ToolCall {
        name: text(keys::TOOL_NAME).unwrap_or_else(|| {
            let (id, name) = outermost.map_or(("", ""), |span| (&span.span_id, &span.name));
            let name = name_in_span_name(name);
            warnings.push(format!(
                "tool span {id} has no gen_ai.tool.name; used span name token {}",
                string_repr(name)
            ));
            name.to_owned()
        }),
        call_id: text(keys::TOOL_CALL_ID),
        arguments: value(keys::TOOL_ARGUMENTS).map(json_or_text).unwrap_or_default(),
        result: value(keys::TOOL_RESULT).map(Recorded::from).unwrap_or_default(),
        is_error: status == Some(SpanStatus::Error) || text(keys::ERROR_TYPE).is_some(),
        error,
        span: outermost.map(|span| (span.start_ns, span.end_ns)),
        sources,
    }
}

/// Returns the error message of a failed span: the message of its last exception, else the description of its status where
/// the convention has no other place for it.
fn error_of(view: &SpanView<'_>) -> Option<(String, Source)> {
    if let Some(text) = exception_message(view) {
        return Some((text, view.source(EXCEPTION_MESSAGE)));
    }
    // The `GenAI` conventions have exceptions for this, and descriptions that repeat `error.type`.
    let description = &view.span.status_message;
    (view.by != GENAI && !description.is_empty())
        .then(|| (description.clone(), view.source("the status of the span")))
}

/// Returns the message of the last exception of a span.
pub(super) fn exception_message(view: &SpanView<'_>) -> Option<String> {
    let message = |event: &Event| {
        let text = event.attributes.get(EXCEPTION_MESSAGE).and_then(Value::as_str)?;
        (event.name == "exception" && !text.is_empty()).then(|| text.to_owned())
    };
    view.span.events.iter().rev().find_map(message)
}

/// Makes the error of a failed call its result, if no other was recorded.
pub(super) fn with_error_as_result(mut call: ToolCall) -> ToolCall {
    if call.is_error
        && call.result.is_empty()
        && let Some(error) = &call.error
    {
        call.result = Recorded::from(Value::String(error.clone()));
        call.sources.result = call.sources.error.clone();
    }
    call
}

/// The tool's name in a span name like `execute_tool NAME`, else the whole span name.
fn name_in_span_name(span_name: &str) -> &str {
    let mut words = span_name.split(is_space).filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some("execute_tool"), Some(name)) => name,
        // Tracers of Python name a tool by the method that calls it.
        _ => span_name.strip_suffix(".__call__").unwrap_or(span_name),
    }
}

/// A tool response, and the first model call with it in its input.
struct KnownResponse<'a> {
    part: &'a ResponsePart,
    call: usize,
    claimed: bool,
}

/// Returns the tool calls in the messages of `calls` (sorted by time), with the responses in later messages.
///
/// A response belongs to the call with its id. Some producers number calls and responses separately, so a response with an
/// unknown id belongs to the next call in order, of the same tool if the response names one. A response that precedes a
/// call belongs to an earlier one.
pub(crate) fn calls_in_parts(calls: &[Call], warnings: &mut Vec<String>) -> Vec<ToolCall> {
    let mut known = responses_of(calls, warnings);
    let requested: Vec<(usize, &CallPart)> = calls
        .iter()
        .enumerate()
        .flat_map(|(index, call)| tool_calls(&call.output).map(move |part| (index, part)))
        .collect();
    let requested_ids: HashSet<&str> =
        requested.iter().filter_map(|(_, part)| part.id.text.as_deref()).collect();
    requested
        .into_iter()
        .map(|(index, part)| {
            if let Some(warning) = odd_id("tool_call", &part.id) {
                warnings.push(warning);
            }
            let result = claim(&mut known, index, part, &requested_ids, warnings);
            let requested_in = calls[index].output.source.clone();
            ToolCall {
                name: part.name.clone(),
                call_id: part.id.text.clone(),
                arguments: part.arguments.clone(),
                sources: CallSources {
                    arguments: requested_in.clone().filter(|_| !part.arguments.is_null()),
                    name: requested_in,
                    result: result.and_then(|(call, _)| calls[call].input.source.clone()),
                    error: None,
                },
                result: result.map(|(_, result)| result.response.clone()).unwrap_or_default(),
                ..ToolCall::default()
            }
        })
        .collect()
}

/// Completes the calls in the messages of model calls from the messages of the whole run, which may be all there is.
pub(super) fn complete_from_steps(
    mut requested: Vec<ToolCall>,
    steps: &Side,
    warnings: &mut Vec<String>,
) -> Vec<ToolCall> {
    let is_complete = |call: &ToolCall| !call.result.is_empty();
    if steps.is_empty() || (!requested.is_empty() && requested.iter().all(is_complete)) {
        return requested;
    }
    let found = calls_in_steps(steps, warnings);
    if requested.is_empty() {
        return found;
    }
    for (part, index) in matched(&requested, &found).taken_by.into_iter().enumerate() {
        let Some(call) = index.map(|index| &mut requested[index]) else { continue };
        if call.result.is_empty() && !found[part].result.is_empty() {
            call.result = found[part].result.clone();
            call.sources.result = found[part].sources.result.clone();
        }
        call.call_id = call.call_id.take().or_else(|| found[part].call_id.clone());
    }
    requested
}

/// Returns the tool calls in the messages of a run.
fn calls_in_steps(steps: &Side, warnings: &mut Vec<String>) -> Vec<ToolCall> {
    let side =
        |messages: &[Message]| Side { messages: Rc::from(messages), source: steps.source.clone() };
    // Each message with tool calls is the answer of a model to what precedes it.
    let mut calls = Vec::new();
    let mut start = 0;
    for (index, message) in steps.iter().enumerate() {
        if tool_calls(std::slice::from_ref(message)).next().is_some() {
            let (input, output) = (side(&steps[start..index]), side(&steps[index..=index]));
            calls.push(Call { input, output, ..Call::default() });
            start = index + 1;
        }
    }
    calls.push(Call { input: side(&steps[start..]), ..Call::default() });
    calls_in_parts(&calls, warnings)
}

/// The distinct results in the inputs of all calls. The history is repeated in every input.
fn responses_of<'a>(calls: &'a [Call], warnings: &mut Vec<String>) -> Vec<KnownResponse<'a>> {
    let mut seen_ids = HashSet::new();
    let mut seen_results = HashSet::new();
    let mut known = Vec::new();
    for (call, turn, part) in calls.iter().enumerate().flat_map(|(index, call)| {
        // Some producers use an id again in the next turn of the user.
        let mut turn = 0;
        let in_message = move |message| {
            turn += usize::from(is_said_by_user(message));
            tool_responses(std::slice::from_ref(message)).map(move |part| (index, turn, part))
        };
        call.input.iter().flat_map(in_message)
    }) {
        let is_new = match &part.id.text {
            Some(id) => seen_ids.insert((id.as_str(), turn)),
            None => seen_results.insert((
                part.name.as_deref(),
                to_string(part.response.value(), NonFinite::Literal),
            )),
        };
        if is_new {
            // Numbers are common here and mean what they say.
            if matches!(part.id.odd_kind, Some("an object" | "an array")) {
                warnings.extend(odd_id("tool_call_response", &part.id));
            }
            known.push(KnownResponse { part, call, claimed: false });
        }
    }
    known
}

/// Takes the response to a call from the inputs of later model calls. Returns it with the number of the call.
fn claim<'a>(
    known: &mut [KnownResponse<'a>],
    index: usize,
    call: &CallPart,
    requested_ids: &HashSet<&str>,
    warnings: &mut Vec<String>,
) -> Option<(usize, &'a ResponsePart)> {
    let is_open = |known: &KnownResponse<'_>| !known.claimed && known.call > index;
    let by_id = call.id.text.as_ref().and_then(|id| {
        known.iter().position(|known| is_open(known) && known.part.id.text.as_ref() == Some(id))
    });
    let found = by_id.or_else(|| {
        let position = known.iter().position(|known| {
            is_open(known)
                && known.part.id.text.as_deref().is_none_or(|id| !requested_ids.contains(id))
                && known.part.name.as_ref().is_none_or(|name| *name == call.name)
        })?;
        if let Some(id) = &known[position].part.id.text {
            warnings.push(format!(
                "tool {} result joined by order (response id {} matches no call)",
                call.name,
                string_repr(id)
            ));
        }
        Some(position)
    })?;
    known[found].claimed = true;
    Some((known[found].call, known[found].part))
}

/// Returns the warning about an id that is not a string.
fn odd_id(part: &str, id: &PartId) -> Option<String> {
    let (kind, text) = (id.odd_kind?, id.text.as_deref()?);
    Some(format!("a {part} part has {kind} as its id; read as {}", string_repr(text)))
}

/// Completes the calls of `spans` from the messages of `calls`.
///
/// The messages hold what the model requested, and frameworks wrap it in various ways before a span records it; the span
/// holds what the tool returned. So name, arguments and id come from the messages, and a result that the span recorded is
/// never replaced. Calls without a span are tools that ran elsewhere; each is placed after the call before it.
pub(crate) fn complete_from_parts(
    mut spans: Vec<ToolCall>,
    calls: &[Call],
    warnings: &mut Vec<String>,
) -> Vec<ToolCall> {
    let parts = calls_in_parts(calls, warnings);
    let Matched { taken_by, by_id } = matched(&spans, &parts);
    for (part, index) in taken_by.iter().enumerate() {
        let Some(index) = *index else { continue };
        let has_id = |call: &ToolCall| call.call_id.as_ref().is_some_and(|id| !id.is_empty());
        let ids = [&spans[index], &parts[part]].map(has_id);
        let filled = fill(&mut spans[index], &parts[part]);
        if !by_id[part] && !filled.is_empty() {
            let reason = match ids {
                [true, true] => "call ids differ",
                [true, false] => "the message has no call id",
                [false, true] => "the span has no call id",
                [false, false] => "neither has a call id",
            };
            let (name, filled) = (&spans[index].name, filled.join(" and "));
            warnings
                .push(format!("tool {name} {filled} joined from message parts by name ({reason})"));
        }
    }
    insert_open(spans, parts, &taken_by, warnings)
}

/// The spans of the tool calls in messages.
struct Matched {
    /// The span of each call.
    taken_by: Vec<Option<usize>>,
    /// Whether it has the id of the call.
    by_id: Vec<bool>,
}

/// Matches each span with a call in the messages: that with its id, else one of the same tool with the same arguments, else
/// the first of the same tool.
fn matched(spans: &[ToolCall], parts: &[ToolCall]) -> Matched {
    let mut taken_by: Vec<Option<usize>> = vec![None; parts.len()];
    let mut is_open = vec![true; spans.len()];
    let has_id = |span: &ToolCall, part: &ToolCall| {
        span.call_id.as_ref().is_some_and(|id| !id.is_empty() && part.call_id.as_ref() == Some(id))
    };
    let is_same = |span: &ToolCall, part: &ToolCall| {
        span.name == part.name && python_eq(&span.arguments, &part.arguments)
    };
    let has_name = |span: &ToolCall, part: &ToolCall| span.name == part.name;
    let rules: [fn(&ToolCall, &ToolCall) -> bool; 3] = [has_id, is_same, has_name];
    let mut by_id = vec![false; parts.len()];
    for (number, rule) in rules.into_iter().enumerate() {
        for (index, span) in spans.iter().enumerate().filter(|(_, span)| !span.name.is_empty()) {
            if !is_open[index] {
                continue;
            }
            let found = (0..parts.len())
                .find(|part| taken_by[*part].is_none() && rule(span, &parts[*part]));
            if let Some(part) = found {
                taken_by[part] = Some(index);
                by_id[part] = number == 0;
                is_open[index] = false;
            }
        }
    }
    Matched { taken_by, by_id }
}

/// Takes what was requested from the message, and the result if the span did not record one. Returns the names of the parts
/// that the span did not record.
fn fill(span: &mut ToolCall, part: &ToolCall) -> Vec<&'static str> {
    let mut filled = Vec::new();
    if !is_empty(&part.arguments) {
        if is_empty(&span.arguments) {
            filled.push("arguments");
        }
        span.arguments = part.arguments.clone();
        span.sources.arguments = part.sources.arguments.clone();
    }
    if span.result.is_empty() && !part.result.is_empty() {
        span.result = part.result.clone();
        span.sources.result = part.sources.result.clone();
        filled.push("result");
    }
    if span.name != part.name {
        span.name.clone_from(&part.name);
        span.sources.name = part.sources.name.clone();
    }
    if part.call_id.is_some() {
        span.call_id.clone_from(&part.call_id);
    }
    filled
}

/// The spans in their order with each part no span took after the request before it, or first.
fn insert_open(
    spans: Vec<ToolCall>,
    parts: Vec<ToolCall>,
    taken_by: &[Option<usize>],
    warnings: &mut Vec<String>,
) -> Vec<ToolCall> {
    let mut first = Vec::new();
    let mut after: Vec<Vec<ToolCall>> = vec![Vec::new(); spans.len()];
    let mut previous = None;
    for (part, taken_by) in parts.into_iter().zip(taken_by) {
        if taken_by.is_some() {
            previous = *taken_by;
            continue;
        }
        warnings
            .push(format!("tool {} appears only in message parts, without a tool span", part.name));
        match previous {
            Some(span) => after[span].push(part),
            None => first.push(part),
        }
    }
    first
        .into_iter()
        .chain(
            spans
                .into_iter()
                .zip(after)
                .flat_map(|(span, after)| std::iter::once(span).chain(after)),
        )
        .collect()
}

/// A call with what later stages do not see.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) record: LlmCall,
    pub(super) agent_name: Option<String>,
    pub(super) finish_reasons: Vec<String>,
    pub(super) input: Side,
    pub(super) output: Side,
    /// The innermost span.
    pub(super) span: JudgedSpan,
    /// The outermost span, if it is another.
    pub(super) wrapper: Option<String>,
}

impl Call {
    /// Returns true if this span records the call.
    pub(super) fn is_recorded_by(&self, trace_id: &str, span_id: &str) -> bool {
        *self.span.trace_id == *trace_id
            && (self.span.span_id == span_id || self.wrapper.as_deref() == Some(span_id))
    }
}

/// Returns the calls among the spans `members` (in walk order), sorted by (start, end).
pub(super) fn llm_calls(
    tree: &Tree<'_>,
    members: &[usize],
    warnings: &mut Vec<String>,
) -> Vec<Call> {
    let inference: Vec<usize> =
        members.iter().copied().filter(|&index| tree.view(index).kind == Kind::Inference).collect();
    let parent = |index: usize| tree.nodes[index].inference_parent;
    // For each span: how many spans at or below it have no call below them, and the last call directly below it.
    let mut leaves: HashMap<usize, usize> = HashMap::new();
    let mut child: HashMap<usize, usize> = HashMap::new();
    for &index in inference.iter().rev() {
        let own = *leaves.entry(index).or_insert(1);
        if let Some(parent) = parent(index) {
            *leaves.entry(parent).or_insert(0) += own;
            child.insert(parent, index);
        }
    }
    let wrappers = inference.iter().copied().filter(|index| leaves.get(index) > Some(&1));
    let is_recorded_twice = recorded_twice(tree, wrappers, &inference);
    let is_one_call =
        |index: &usize| leaves.get(index) == Some(&1) || is_recorded_twice.contains(index);
    let mut calls: Vec<Call> = inference
        .into_iter()
        .filter(|index| {
            is_one_call(index)
                && !std::iter::successors(parent(*index), |above| parent(*above))
                    .any(|above| is_one_call(&above))
        })
        .map(|outermost| {
            let mut chain: Vec<usize> =
                std::iter::successors(Some(outermost), |index| child.get(index).copied()).collect();
            chain.reverse();
            logical_call(tree, &chain, warnings)
        })
        .collect();
    sort(&mut calls);
    calls
}

/// Returns the spans of calls that another instrumentation records again below them, without content and in several
/// spans, such as those of attempts.
fn recorded_twice(
    tree: &Tree<'_>,
    wrappers: impl Iterator<Item = usize>,
    inference: &[usize],
) -> HashSet<usize> {
    let mut found = HashSet::new();
    let has_content = |index: usize| {
        let view = tree.view(index);
        !(view.input.is_empty() && view.output.is_empty())
    };
    let scope = |index: usize| &tree.view(index).span.scope;
    for index in wrappers.filter(|index| has_content(*index)) {
        let mut below = inference.iter().copied().filter(|&other| {
            std::iter::successors(tree.nodes[other].inference_parent, |above| {
                tree.nodes[*above].inference_parent
            })
            .any(|above| above == index)
        });
        let repeats = |other: usize| !has_content(other) && scope(other) != scope(index);
        if below.clone().next().is_some() && below.all(repeats) {
            found.insert(index);
        }
    }
    found
}

/// Sorts calls by (start, end); calls made at the same time keep their order.
pub(super) fn sort(calls: &mut [Call]) {
    calls.sort_by_key(|call| (call.record.start_ns, call.record.end_ns));
}

/// The call of a chain of spans, innermost first. Each figure comes from the innermost span that has it.
fn logical_call(tree: &Tree<'_>, chain: &[usize], warnings: &mut Vec<String>) -> Call {
    let views: Vec<&SpanView<'_>> = chain.iter().map(|&index| tree.view(index)).collect();
    let innermost = &tree.nodes[chain[0]];
    let text = |key| views.iter().find_map(|view| view.attributes.nonempty_text(key));
    Call {
        record: LlmCall {
            span_id: innermost.view.span.span_id.clone(),
            request_model: text(keys::REQUEST_MODEL),
            response_model: text(keys::RESPONSE_MODEL),
            response_id: text(keys::RESPONSE_ID),
            usage: views.iter().find_map(|view| usage(view, warnings)),
            delegated: innermost.under_tool,
            start_ns: views.iter().map(|view| view.span.start_ns).min().unwrap_or_default(),
            end_ns: views.iter().map(|view| view.span.end_ns).max().unwrap_or_default(),
        },
        agent_name: innermost.agent_name.clone().or_else(|| text(keys::AGENT_NAME)),
        finish_reasons: views
            .iter()
            .map(|view| finish_reasons(view))
            .find(|reasons| !reasons.is_empty())
            .unwrap_or_default(),
        input: first_recorded(views.iter().map(|view| &view.input)),
        output: first_recorded(views.iter().map(|view| &view.output)),
        span: innermost.view.as_judged(),
        wrapper: views.last().filter(|_| views.len() > 1).map(|view| view.span.span_id.clone()),
    }
}

/// Returns the first side with content, else the first one with messages, which may be an empty answer.
fn first_recorded<'a>(sides: impl Iterator<Item = &'a Side> + Clone) -> Side {
    let with_content = sides.clone().find(|side| have_content(side));
    with_content
        .or_else(|| sides.clone().find(|side| !side.is_empty()))
        .cloned()
        .unwrap_or_default()
}

fn usage(view: &SpanView<'_>, warnings: &mut Vec<String>) -> Option<Usage> {
    let mut count = |key| {
        view.attributes.int(key).unwrap_or_else(|TooLarge { key }| {
            let id = &view.span.span_id;
            warnings.push(format!("span {id}: {key} is too large for a count; ignored"));
            None
        })
    };
    let (input, output) = (count(keys::INPUT_TOKENS), count(keys::OUTPUT_TOKENS));
    if input.is_none() && output.is_none() {
        return None;
    }
    // Some producers write -1 for "unknown".
    let at_least_zero = |count: Option<i64>| count.unwrap_or(0).max(0);
    Some(Usage {
        input_tokens: at_least_zero(input),
        output_tokens: at_least_zero(output),
        cache_creation_tokens: at_least_zero(count(keys::CACHE_WRITE_TOKENS)),
        cache_read_tokens: at_least_zero(count(keys::CACHE_READ_TOKENS)),
    })
}

fn finish_reasons(view: &SpanView<'_>) -> Vec<String> {
    match view.attributes.get(keys::FINISH_REASONS) {
        Some(Value::Array(reasons)) => reasons.iter().filter_map(scalar_text).collect(),
        _ => Vec::new(),
    }
}
