//! Tool calls that have spans, completed from what the messages say about them.

use super::calls_in_parts;
use crate::conversation::{ToolCall, llm_calls::Call, recorded::is_empty};

/// Adds to the calls of `spans` what only the messages of `calls` know.
///
/// Spans often carry no arguments or result, because recording content is off there. Each span takes one request of
/// the messages: that with its id, else the first with its tool's name. What a span recorded is never replaced.
/// Requests no span took are tools that ran elsewhere; each goes after the request before it.
pub(crate) fn complete_from_parts(
    mut spans: Vec<ToolCall>,
    calls: &[Call],
    warnings: &mut Vec<String>,
) -> Vec<ToolCall> {
    let parts = calls_in_parts(calls, warnings);
    // The span that took each part.
    let mut taken_by: Vec<Option<usize>> = vec![None; parts.len()];
    for (index, span) in spans.iter_mut().enumerate() {
        let open = || parts.iter().enumerate().filter(|(part, _)| taken_by[*part].is_none());
        let by_id = span.call_id.as_ref().filter(|id| !id.is_empty()).and_then(|id| {
            open().find(|(_, part)| part.call_id.as_ref() == Some(id)).map(|(part, _)| part)
        });
        let by_name = || open().find(|(_, part)| part.name == span.name).map(|(part, _)| part);
        if let Some(part) = by_id.or_else(by_name) {
            taken_by[part] = Some(index);
            let filled = fill(span, &parts[part]);
            if by_id.is_none() && !filled.is_empty() {
                warnings.push(format!(
                    "tool {} {} joined from message parts by name (call ids differ)",
                    span.name,
                    filled.join(" and ")
                ));
            }
        }
    }
    insert_open(spans, parts, &taken_by, warnings)
}

/// Fills what the span did not record; names what was filled.
fn fill(span: &mut ToolCall, part: &ToolCall) -> Vec<&'static str> {
    let mut filled = Vec::new();
    if is_empty(&span.arguments) && !is_empty(&part.arguments) {
        span.arguments = part.arguments.clone();
        filled.push("arguments");
    }
    if span.result.is_empty() && !part.result.is_empty() {
        span.result = part.result.clone();
        filled.push("result");
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
