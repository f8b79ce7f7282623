//! Turns of one trace.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    ToolCall, Turn,
    llm_calls::{Call, llm_calls},
    message::{Message, have_text, text_of, user_turn},
    tool_calls::{calls_in_parts, calls_in_spans, complete_from_parts},
    tree::Tree,
    view::keys,
};
use crate::trace::{SpanStatus, Trace};

/// A turn with what joining and pairing still need.
#[derive(Clone, Debug)]
pub(super) struct DraftTurn {
    pub(super) trace_id: Arc<str>,
    pub(super) span_id: String,
    pub(super) root_anchored: bool,
    pub(super) agent_name: Option<String>,
    pub(super) user: Speech,
    pub(super) answer: Speech,
    pub(super) calls: Vec<Call>,
    pub(super) tools: Vec<ToolCall>,
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    pub(super) status: SpanStatus,
    pub(super) warnings: Vec<String>,
}

/// What one side of a turn said.
#[derive(Clone, Debug, Default)]
pub(super) struct Speech {
    /// Whether there are messages at all; they may hold no text.
    pub(super) recorded: bool,
    pub(super) text: Option<String>,
}

impl Speech {
    fn of(messages: &[Message]) -> Self {
        Self { recorded: !messages.is_empty(), text: text_of(messages) }
    }
}

impl DraftTurn {
    /// The turn as later stages see it.
    pub(super) fn finish(self, warnings: &mut BTreeSet<String>) -> Turn {
        warnings.extend(self.warnings);
        Turn {
            trace_id: self.trace_id,
            span_id: self.span_id,
            root_anchored: self.root_anchored,
            agent_name: self.agent_name,
            user_text: self.user.text,
            final_text: self.answer.text,
            llm_calls: self.calls.into_iter().map(|call| call.record).collect(),
            tool_calls: self.tools,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            status: self.status,
        }
    }
}

/// The turns of a trace in the order of the walk.
///
/// A turn hangs on an agent or workflow with no other above it, or on the root span of model calls that no agent
/// covers.
pub(super) fn turns_of(trace: &Trace) -> Vec<DraftTurn> {
    let tree = Tree::new(trace);
    tree.anchors.iter().map(|&anchor| turn(&tree, anchor)).collect()
}

fn turn(tree: &Tree<'_>, anchor: usize) -> DraftTurn {
    let members = &tree.members[anchor];
    let view = tree.view(anchor);
    let mut warnings = Vec::new();
    let calls = llm_calls(tree, members, &mut warnings);
    let tools = match calls_in_spans(tree, members, &mut warnings) {
        spans if spans.is_empty() => calls_in_parts(&calls, &mut warnings),
        spans => complete_from_parts(spans, &calls, &mut warnings),
    };
    let spans = || members.iter().map(|&member| tree.view(member).span);
    DraftTurn {
        trace_id: Arc::clone(&view.span.trace_id),
        span_id: view.span.span_id.clone(),
        root_anchored: !view.kind.is_agentic(),
        agent_name: view
            .attributes
            .text(keys::AGENT_NAME)
            .or_else(|| calls.iter().find_map(|call| call.agent_name.clone())),
        user: Speech::of(user_input(&view.input, &calls)),
        answer: Speech::of(final_output(&view.output, &calls)),
        start_ns: spans().map(|span| span.start_ns).min().unwrap_or_default(),
        end_ns: spans().map(|span| span.end_ns).max().unwrap_or_default(),
        status: view.span.status,
        calls,
        tools,
        warnings,
    }
}

/// What the user said: to the anchor, else to the first call that recorded its input.
fn user_input<'a>(anchor: &'a [Message], calls: &'a [Call]) -> &'a [Message] {
    if anchor.is_empty() {
        let first = calls.iter().find(|call| !call.input.is_empty());
        return first.map(|call| user_turn(&call.input)).unwrap_or_default();
    }
    match user_turn(anchor) {
        [] => anchor,
        said => said,
    }
}

/// What the agent answered: the anchor's output, else that of the last call that says something. Calls a tool makes
/// speak to the tool, not to the user, unless there are no others.
fn final_output<'a>(anchor: &'a [Message], calls: &'a [Call]) -> &'a [Message] {
    if !anchor.is_empty() {
        return anchor;
    }
    let all_delegated = calls.iter().all(|call| call.record.delegated);
    calls
        .iter()
        .filter(|call| (all_delegated || !call.record.delegated) && have_text(&call.output))
        // The first of those that end and start at the same time.
        .rev()
        .max_by_key(|call| (call.record.end_ns, call.record.start_ns))
        .map(|call| &*call.output)
        .unwrap_or_default()
}
