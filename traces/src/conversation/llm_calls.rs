//! Logical model calls.
//!
//! A framework's span often wraps that of the client library, and both record the same call. Nested spans of which
//! only one has nothing below it are one call; where a span wraps several calls, it is not a call itself.

use std::{collections::HashMap, rc::Rc};

use super::{
    JudgedSpan, LlmCall, Usage,
    message::Messages,
    tree::Tree,
    view::{Kind, SpanView, TooLarge, keys},
};
use crate::{json::Value, json::scalar_text};

/// A call with what later stages do not see.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) record: LlmCall,
    pub(super) agent_name: Option<String>,
    pub(super) finish_reasons: Vec<String>,
    pub(super) input: Messages,
    pub(super) output: Messages,
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
    let is_one_call = |index: &usize| leaves.get(index) == Some(&1);
    let mut calls: Vec<Call> = inference
        .into_iter()
        .filter(|index| {
            is_one_call(index) && !parent(*index).is_some_and(|parent| is_one_call(&parent))
        })
        .map(|outermost| {
            let mut chain: Vec<usize> =
                std::iter::successors(Some(outermost), |index| child.get(index).copied()).collect();
            chain.reverse();
            call(tree, &chain, warnings)
        })
        .collect();
    sort(&mut calls);
    calls
}

/// Sorts calls by (start, end); calls made at the same time keep their order.
pub(super) fn sort(calls: &mut [Call]) {
    calls.sort_by_key(|call| (call.record.start_ns, call.record.end_ns));
}

/// The call of a chain of spans, innermost first. Each figure comes from the innermost span that has it.
fn call(tree: &Tree<'_>, chain: &[usize], warnings: &mut Vec<String>) -> Call {
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

fn first_recorded<'a>(mut messages: impl Iterator<Item = &'a Messages>) -> Messages {
    messages.find(|messages| !messages.is_empty()).map_or_else(|| Rc::from([]), Rc::clone)
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
