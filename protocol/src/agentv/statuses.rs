//! Which tool calls failed: only the events of a trace know.

use std::collections::HashSet;

use super::{CodeJudgeInput, ToolCall};

/// The tool calls that failed.
#[derive(Default)]
pub(super) struct Statuses<'a> {
    ids: HashSet<&'a str>,
    /// By message of the transcript, and by place in it.
    places: HashSet<(usize, usize)>,
}

impl<'a> Statuses<'a> {
    pub(super) fn of(document: &'a CodeJudgeInput) -> Self {
        let mut statuses = Self::default();
        let Some(trace) = document.trace() else { return statuses };
        // Events count the messages of the trace, which may have the input before those of the transcript.
        let of_trace = trace.messages.as_ref().map_or(0, Vec::len);
        let before = of_trace.saturating_sub(document.messages().map_or(0, <[_]>::len));
        for event in trace.events.iter().flatten() {
            let Some(tool) = &event.tool else { continue };
            if !tool.status.as_ref().is_some_and(|status| status.is_failure()) {
                continue;
            }
            let message = event.index("message_index", "messageIndex");
            let call = event.index("tool_index", "toolIndex");
            if let Some(id) = &tool.call_id {
                statuses.ids.insert(id);
            } else if let (Some(message), Some(call)) = (message, call) {
                statuses.places.extend(message.checked_sub(before).map(|message| (message, call)));
            }
        }
        statuses
    }

    /// Whether the call failed that stands at this place of that message.
    pub(super) fn failed(&self, message: usize, call: &ToolCall, at: usize) -> bool {
        let id = call.id.as_deref();
        id.is_some_and(|id| self.ids.contains(id)) || self.places.contains(&(message, at))
    }
}
