//! Tool calls that have spans.
//!
//! A framework, a client and a server may each record the same call, one span inside the other. Such spans share the
//! tool's name or the id of the call, and they are one call.

use std::collections::HashMap;

use crate::{
    conversation::{
        Recorded, ToolCall,
        message::json_or_text,
        tree::Tree,
        view::{Kind, SpanView, keys},
    },
    json::{is_space, string_repr},
    trace::SpanStatus,
};

/// The calls among the spans `members` (in walk order), in order of (start, span id) of their outermost spans.
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

/// What chains are sorted by: start and span id of the outermost span.
fn place<'t>(chain: &[&'t SpanView<'_>]) -> Option<(i128, &'t str)> {
    let outermost = chain.first()?.span;
    Some((outermost.start_ns, &outermost.span_id))
}

/// Whether two spans, one inside the other, record the same call. Ids that differ prove nothing: a protocol between
/// client and server counts its own requests.
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
        span: outermost.map(|span| (span.start_ns, span.end_ns)),
    }
}

/// The tool's name in a span name like `execute_tool NAME`, else the whole span name.
fn name_in_span_name(span_name: &str) -> &str {
    let mut words = span_name.split(is_space).filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some("execute_tool"), Some(name)) => name,
        _ => span_name,
    }
}
