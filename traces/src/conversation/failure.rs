//! Turns that failed: what the spans of a turn say about an agent that ended without an answer.

use super::{
    TurnFailure,
    convention::{Kind, SpanView, keys},
    tool_calls::exception_message,
    tree::Tree,
};

/// Maximum number of characters of a message.
const MESSAGE_CHARS: usize = 300;

/// Instrumentations of LangChain append the traceback to the message.
const TRACEBACK: &str = "Traceback (most recent call last)";

/// Returns the failure of the turn of `anchor`: that of the anchor, or of an agent or a model call after which no model call
/// succeeded. The spans of a tool are not the turn's own.
pub(super) fn failure_of(tree: &Tree<'_>, anchor: usize, members: &[usize]) -> Option<TurnFailure> {
    let steps = || {
        let own = members.iter().filter(|&&member| !tree.nodes[member].under_tool);
        own.map(|&member| tree.view(member))
            .filter(|view| view.kind == Kind::Inference || view.kind.is_agentic())
    };
    let is_final = |failed: &&SpanView<'_>| {
        !steps().any(|later| {
            later.kind == Kind::Inference
                && !later.has_failed()
                && later.span.start_ns >= failed.span.end_ns
        })
    };
    let anchor = Some(tree.view(anchor)).filter(|view| view.has_failed());
    let failed =
        || anchor.into_iter().chain(steps().filter(|view| view.has_failed()).filter(is_final));
    // A span above may only repeat that something below it failed.
    let (view, message) = failed()
        .find_map(|view| message_of(view).map(|message| (view, message)))
        .or_else(|| failed().next().map(|view| (view, "no message was recorded".to_owned())))?;
    let name = if view.span.name.is_empty() { &view.span.span_id } else { &view.span.name };
    Some(TurnFailure { message, span: name.clone() })
}

/// Returns the message of the last exception, else the description of the status, else the type of the error.
fn message_of(view: &SpanView<'_>) -> Option<String> {
    let description = || Some(view.span.status_message.clone());
    let texts = [exception_message(view), description(), view.attributes.text(keys::ERROR_TYPE)];
    texts.into_iter().flatten().find_map(|text| {
        let message = match text.split_once(TRACEBACK) {
            Some((message, _)) if !message.trim().is_empty() => message,
            _ => &text,
        };
        let message: String = message.trim().chars().take(MESSAGE_CHARS).collect();
        (!message.is_empty()).then_some(message)
    })
}
