//! The values of a document of AgentV that the default contract has no field for.

use super::{
    Block, CodeJudgeInput, Content, Message, Role, ToolCall, Trace, TraceSummary, wire::Wire,
};
use crate::JsonObject;

/// Keys under which messages of tools name the call they respond to.
pub(super) const CALL_IDS: [&str; 2] = ["tool_call_id", "toolCallId"];

/// Collects the paths of dropped values.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) dropped: Vec<String>,
}

impl Notes {
    /// Notes the values of a message besides its role, its texts and its tool calls.
    pub(super) fn extras(&mut self, path: &str, message: &Message) {
        let is_of_tool = message.role == Role::Tool;
        // All blocks of a tool's response are kept.
        if let (Some(Content::Blocks(blocks)), false) = (&message.content, is_of_tool) {
            for (index, block) in blocks.iter().enumerate() {
                self.block(&format!("{path}.content[{index}]"), block);
            }
        }
        let is_read = |key: &str| match key {
            "role" | "content" => true,
            "tool_calls" => message.role == Role::Assistant,
            "name" => is_of_tool,
            key => is_of_tool && call_id(message, key).is_some(),
        };
        self.unread(path, message.present(), is_read);
    }

    /// Notes a block without text, or its values besides the text.
    fn block(&mut self, path: &str, block: &Block) {
        let Some(text) = block.as_text() else { return self.dropped.push(path.to_owned()) };
        let repeats_text = block.value.as_deref() == Some(text);
        let is_read = |key: &str| matches!(key, "type" | "text") || key == "value" && repeats_text;
        self.unread(path, block.present(), is_read);
    }

    /// Notes the values of a tool call besides those that are converted.
    pub(super) fn call(&mut self, path: &str, call: &ToolCall) {
        let is_read = |key: &str| matches!(key, "tool" | "input" | "output" | "id");
        self.unread(path, call.present(), is_read);
    }

    fn unread(&mut self, path: &str, present: Vec<&str>, is_read: impl Fn(&str) -> bool) {
        let unread = present.into_iter().filter(|key| !is_read(key));
        self.dropped.extend(unread.map(|key| format!("{path}.{key}")));
    }
}

/// Returns the id of the call that a message of a tool responds to, if it is under this key.
pub(super) fn call_id<'a>(message: &'a Message, key: &str) -> Option<&'a str> {
    message.other.get(key).filter(|_| CALL_IDS.contains(&key))?.as_str()
}

/// Notes the paths of all dropped values outside of messages. `user` is the user's content, if a turn has it, and `golden` the
/// answer of the last golden turn.
pub(super) fn note(
    document: &CodeJudgeInput,
    user: Option<&str>,
    golden: Option<&str>,
    dropped: &mut Vec<String>,
) {
    let Wire { trace, trace_summary, metadata, other, .. } = &document.wire;
    texts(document, user, golden, dropped);
    let key = if document.wire.input.is_some() { "input" } else { "input_messages" };
    note_if(user.is_none() && !document.input_messages().is_empty(), key, dropped);
    files(&document.wire, dropped);
    repeated_messages(document, dropped);
    for (key, trace) in [("trace", trace), ("trace_summary", trace_summary)] {
        if let Some(trace) = trace {
            self::trace(key, trace, document, dropped);
        }
    }
    note_if(metadata.as_ref().is_some_and(|object| !object.is_empty()), "metadata", dropped);
    note_keys(None, other, dropped);
}

/// Notes the values that the performance metrics of turns would have, for documents without turns.
pub(super) fn note_numbers(document: &CodeJudgeInput, dropped: &mut Vec<String>) {
    let wire = &document.wire;
    for (key, is_there) in [
        ("trace", wire.trace.is_some()),
        ("trace_summary", wire.trace_summary.is_some()),
        ("token_usage", wire.token_usage.is_some()),
        ("cost_usd", wire.cost_usd.is_some()),
        ("duration_ms", wire.duration_ms.is_some()),
        ("start_time", wire.start_time.is_some()),
        ("end_time", wire.end_time.is_some()),
    ] {
        note_if(is_there, key, dropped);
    }
}

/// Notes texts that did not become part of a turn.
fn texts(
    document: &CodeJudgeInput,
    user: Option<&str>,
    golden: Option<&str>,
    dropped: &mut Vec<String>,
) {
    let wire = &document.wire;
    let says_more = |text: &Option<String>, used: Option<&str>| {
        text.as_deref().is_some_and(|text| !text.is_empty() && Some(text) != used)
    };
    let answer = document.candidate_answer();
    // If a golden turn only calls tools, the reference repeats the calls.
    let reference = |text: &Option<String>| {
        text.clone().filter(|text| golden.is_some() || !is_tool_calls(text))
    };
    for (key, text, used) in [
        ("question", &wire.question, user),
        ("input_text", &wire.input_text, user),
        ("criteria", &wire.criteria, None),
        ("expected_outcome", &wire.expected_outcome, None),
        ("answer", &wire.answer, answer),
        ("output_text", &wire.output_text, answer),
        ("candidate_answer", &wire.candidate_answer, answer),
        ("reference_answer", &reference(&wire.reference_answer), golden),
        ("expected_output_text", &reference(&wire.expected_output_text), golden),
    ] {
        note_if(says_more(text, used), key, dropped);
    }
}

fn files(wire: &Wire, dropped: &mut Vec<String>) {
    for (key, files) in [
        ("guideline_files", &wire.guideline_files),
        ("guideline_paths", &wire.guideline_paths),
        ("input_files", &wire.input_files),
    ] {
        note_if(files.as_ref().is_some_and(|files| !files.is_empty()), key, dropped);
    }
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    note_if(said(&wire.file_changes), "file_changes", dropped);
    note_if(said(&wire.workspace_path), "workspace_path", dropped);
}

/// Notes messages under keys that are ignored because other keys take precedence.
fn repeated_messages(document: &CodeJudgeInput, dropped: &mut Vec<String>) {
    let wire = &document.wire;
    let used = document.wire.transcript().map(|(key, _)| key);
    let output = wire.output.as_ref().and_then(|output| output.messages());
    for (key, messages, used) in [
        ("output", output, used == Some("output")),
        ("output_messages", wire.output_messages.as_deref(), used == Some("output_messages")),
        ("input_messages", wire.input_messages.as_deref(), wire.input.is_none()),
        ("expected_messages", wire.expected_messages.as_deref(), wire.expected_output.is_none()),
    ] {
        note_if(!used && messages.is_some_and(|messages| !messages.is_empty()), key, dropped);
    }
}

/// Notes values that only the trace has: its events, and numbers that differ from those used.
fn trace(key: &str, trace: &Trace, document: &CodeJudgeInput, dropped: &mut Vec<String>) {
    let unknown = TraceSummary::default();
    let summary = document.trace_summary().unwrap_or(&unknown);
    let (transcript, input) = (document.messages().unwrap_or_default(), document.input_messages());
    let has_more = |messages: &Vec<Message>| {
        let rest = messages.strip_prefix(input).unwrap_or(messages);
        messages != transcript && rest != transcript
    };
    for (name, is_lost) in [
        ("messages", trace.messages.as_ref().is_some_and(has_more)),
        ("events", trace.events.as_ref().is_some_and(|events| !events.is_empty())),
        ("metadata", trace.metadata.as_ref().is_some_and(|object| !object.is_empty())),
        ("event_count", differs(trace.event_count, summary.event_count)),
        ("error_count", differs(trace.error_count, summary.error_count)),
        ("llm_call_count", differs(trace.llm_call_count, summary.llm_call_count)),
        ("tool_names", differs(trace.tool_names.as_ref(), Some(&summary.tool_names))),
        (
            "tool_calls_by_name",
            differs(trace.tool_calls_by_name.as_ref(), Some(&summary.tool_calls_by_name)),
        ),
        ("tool_calls", differs(trace.tool_calls.as_ref(), Some(&summary.tool_calls_by_name))),
        ("tool_durations", differs(trace.tool_durations.as_ref(), Some(&summary.tool_durations))),
        ("token_usage", differs(trace.token_usage.as_ref(), document.token_usage())),
        ("cost_usd", differs(trace.cost_usd, document.cost_usd())),
        ("duration_ms", differs(trace.duration_ms, document.duration_ms())),
        ("start_time", differs(trace.start_time.as_deref(), document.start_time())),
        ("end_time", differs(trace.end_time.as_deref(), document.end_time())),
    ] {
        note_if(is_lost, &format!("{key}.{name}"), dropped);
    }
    note_keys(Some(key), &trace.other, dropped);
}

/// Returns true if the value is present and another value is used.
fn differs<T: PartialEq>(there: Option<T>, used: Option<T>) -> bool {
    there.is_some() && there != used
}

fn note_keys<'a>(
    prefix: Option<&str>,
    object: impl IntoIterator<Item = (&'a String, &'a serde_json::Value)>,
    dropped: &mut Vec<String>,
) {
    for (key, value) in object {
        let path = prefix.map_or_else(|| key.clone(), |prefix| format!("{prefix}.{key}"));
        note_if(!value.is_null(), &path, dropped);
    }
}

fn note_if(is_there: bool, path: &str, dropped: &mut Vec<String>) {
    if is_there {
        dropped.push(path.to_owned());
    }
}

/// Returns true if a text is the JSON of tool calls.
pub(super) fn is_tool_calls(text: &str) -> bool {
    let calls: Result<Vec<JsonObject>, _> = serde_json::from_str(text);
    calls.is_ok_and(|calls| calls.iter().all(|call| call.contains_key("tool")))
}
