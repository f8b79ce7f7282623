//! Tool calls that the messages speak of.

use std::collections::HashSet;

use crate::{
    conversation::{
        ToolCall,
        llm_calls::Call,
        message::{CallPart, PartId, ResponsePart, tool_calls, tool_responses},
    },
    json::string_repr,
    json::{NonFinite, to_string},
};

/// A result, and the first call of the model that was told about it.
struct Told<'a> {
    part: &'a ResponsePart,
    call: usize,
    claimed: bool,
}

/// The tools the model asked for in `calls` (sorted by time), with the results it was told later.
///
/// A result belongs to the call with its id. Some producers number requests and results separately, so a result whose
/// id nobody asked for goes to the next call in order, of the same tool if it names one. A result that was already
/// there when the model asked answers an earlier request.
pub(crate) fn calls_in_parts(calls: &[Call], warnings: &mut Vec<String>) -> Vec<ToolCall> {
    let mut told = results_told(calls, warnings);
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
            let result = claim(&mut told, index, part, &requested_ids, warnings);
            ToolCall {
                name: part.name.clone(),
                call_id: part.id.text.clone(),
                arguments: part.arguments.clone(),
                result: result.map(|result| result.response.clone()).unwrap_or_default(),
                is_error: false,
                span: None,
            }
        })
        .collect()
}

/// The distinct results in the inputs of all calls. The history is repeated in every input.
fn results_told<'a>(calls: &'a [Call], warnings: &mut Vec<String>) -> Vec<Told<'a>> {
    let mut seen_ids = HashSet::new();
    let mut seen_results = HashSet::new();
    let mut told = Vec::new();
    for (call, part) in calls
        .iter()
        .enumerate()
        .flat_map(|(index, call)| tool_responses(&call.input).map(move |part| (index, part)))
    {
        let is_new = match &part.id.text {
            Some(id) => seen_ids.insert(id.as_str()),
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
            told.push(Told { part, call, claimed: false });
        }
    }
    told
}

/// Takes the result of a call, if the model was told about it after `index`.
fn claim<'a>(
    told: &mut [Told<'a>],
    index: usize,
    call: &CallPart,
    requested_ids: &HashSet<&str>,
    warnings: &mut Vec<String>,
) -> Option<&'a ResponsePart> {
    let is_open = |told: &Told<'_>| !told.claimed && told.call > index;
    let by_id = call.id.text.as_ref().and_then(|id| {
        told.iter().position(|told| is_open(told) && told.part.id.text.as_ref() == Some(id))
    });
    let found = by_id.or_else(|| {
        let position = told.iter().position(|told| {
            is_open(told)
                && told.part.id.text.as_deref().is_none_or(|id| !requested_ids.contains(id))
                && told.part.name.as_ref().is_none_or(|name| *name == call.name)
        })?;
        if let Some(id) = &told[position].part.id.text {
            warnings.push(format!(
                "tool {} result joined by order (response id {} matches no call)",
                call.name,
                string_repr(id)
            ));
        }
        Some(position)
    })?;
    told[found].claimed = true;
    Some(told[found].part)
}

/// What to say about an id that is not a string.
fn odd_id(part: &str, id: &PartId) -> Option<String> {
    let (kind, text) = (id.odd_kind?, id.text.as_deref()?);
    Some(format!("a {part} part has {kind} as its id; read as {}", string_repr(text)))
}
