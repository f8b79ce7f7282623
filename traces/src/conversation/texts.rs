//! What an agent says before its answer, such as the text before a tool call.

use super::{
    IntermediateText, Source, ToolCall,
    convention::Side,
    message::{Message, have_content, text_of, tool_calls, tool_responses},
    tool_calls::Call,
};

/// Splits the messages of a run into those up to its last tool call or tool response, and the answer behind them. All are the
/// answer if nothing follows.
pub(super) fn split_answer(messages: &[Message]) -> (&[Message], &[Message]) {
    let is_step = |message: &Message| {
        let message = std::slice::from_ref(message);
        tool_calls(message).next().is_some() || tool_responses(message).next().is_some()
    };
    match messages.iter().rposition(is_step) {
        Some(last) if last + 1 < messages.len() => messages.split_at(last + 1),
        _ => (&[], messages),
    }
}

/// Returns the texts that accompany the tool calls of a turn.
///
/// They are in the outputs of the model calls or, if those have no content, in the messages of the whole run. The output at
/// `answer` is the answer itself. Calls that a tool makes answer the tool.
pub(super) fn intermediate_texts(
    calls: &[Call],
    run: &Side,
    tools: &[ToolCall],
    answer: (Option<&Source>, Option<&str>),
) -> Vec<IntermediateText> {
    let mut found = Found { tools, texts: Vec::new(), requested: 0, from: 0 };
    let all_delegated = calls.iter().all(|call| call.record.delegated);
    let own = || calls.iter().filter(|call| all_delegated || !call.record.delegated);
    if own().any(|call| have_content(&call.output)) {
        for call in own() {
            let is_answer = call.output.source.is_some() && call.output.source.as_ref() == answer.0;
            if !is_answer {
                found.add(&call.output, call.output.source.as_ref(), Some(call.record.start_ns));
            }
        }
    } else {
        for message in run.iter() {
            found.add(std::slice::from_ref(message), run.source.as_ref(), None);
        }
    }
    let mut texts = found.texts;
    // Of a run that ends with a tool call, the last text is the answer.
    if texts.last().is_some_and(|last| Some(last.text.as_str()) == answer.1) {
        texts.pop();
    }
    texts
}

struct Found<'a> {
    tools: &'a [ToolCall],
    texts: Vec<IntermediateText>,
    /// Number of tool calls in the messages so far.
    requested: usize,
    /// The tool calls before this one are behind.
    from: usize,
}

impl Found<'_> {
    /// Adds the text of an output with tool calls, of a model call that started at this time.
    fn add(&mut self, output: &[Message], source: Option<&Source>, start_ns: Option<i128>) {
        let requested = tool_calls(output).count();
        if requested == 0 {
            return;
        }
        if let Some(text) = text_of(output.iter().filter(|message| message.role != "user")) {
            let after_calls = self.position(output, start_ns);
            self.from = after_calls;
            self.texts.push(IntermediateText { text, after_calls, source: source.cloned() });
        }
        self.requested += requested;
    }

    /// Returns the number of tool calls before those of an output: by their ids, else by time, else by their order.
    fn position(&self, output: &[Message], start_ns: Option<i128>) -> usize {
        let has_id = |tool: &ToolCall| {
            tool.call_id.is_some() && tool_calls(output).any(|call| call.id.text == tool.call_id)
        };
        if let Some(found) = self.tools[self.from..].iter().position(has_id) {
            return self.from + found;
        }
        let starts: Option<Vec<i128>> =
            self.tools.iter().map(|tool| tool.span.map(|(start, _)| start)).collect();
        let by_time = starts
            .zip(start_ns)
            .map(|(starts, start_ns)| starts.iter().filter(|start| **start < start_ns).count());
        by_time.unwrap_or(self.requested).clamp(self.from, self.tools.len())
    }
}
