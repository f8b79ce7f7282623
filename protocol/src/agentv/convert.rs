//! Documents of AgentV, converted to the default contract: turns, performance metrics, and the paths of dropped values.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Block, CodeJudgeInput, Content, Message, Role, ToolCall, Trace, TraceSummary,
    wire::{configured_reference, texts_of_users},
};
use crate::{
    Converted, DecodeError, EvalInput, IntermediateStepData, InvocationData, JsonObject,
    ToolCallData, ToolResponseData, agentevals::statistics,
};

impl CodeJudgeInput {
    /// Converts the document to the agentevals contract: see the table of [this module](crate::agentv). `name` becomes the
    /// `metric_name`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: the answer is only in a file that was not read (see [`read_output`](Self::read_output)), or the document
    /// is for the aggregator of a composite evaluator.
    pub fn to_eval_input(self, name: &str) -> Result<Converted, DecodeError> {
        if self.results().is_some() {
            let reason = "this document holds results of other evaluators and no conversation: it is for the aggregator of a \
                          composite evaluator, which is written with `contract = agentv`";
            return Err(DecodeError::shape("results", reason));
        }
        if self.unread_output().is_some() && self.candidate_answer().is_none() {
            return Err(DecodeError::shape(
                "output_path",
                "the answer is in this file, which has not been read",
            ));
        }
        // Without a transcript, only the answer is known.
        let knows_tools = self.output_messages().is_some_and(|messages| !messages.is_empty());
        let mut notes = Notes::default();
        let user = notes.user_content(&self);
        let mut turns = notes.turns(&self, &user);
        let expected = notes.expected_turns(&self, &user);
        let used = !turns.is_empty() || expected.is_some();
        let metrics = performance_metrics(&self, turns.len());
        for turn in &mut turns {
            turn.performance_metrics.clone_from(&metrics);
        }
        if turns.is_empty() {
            note_numbers(&self, &mut notes.dropped);
        }
        let golden = expected.as_ref().and_then(|turns| turns.last()?.final_response.as_deref());
        note(&self, used.then_some(user.as_str()), golden, &mut notes.dropped);
        let mut input = EvalInput::new(name);
        input.config = self.config().cloned().unwrap_or_default();
        input.invocations = turns;
        input.expected_invocations = expected;
        input.tool_calls_known = knows_tools;
        Ok(Converted { input, dropped: notes.dropped })
    }
}

impl Notes {
    /// Returns the user's messages as one text. Earlier messages of others are not part of the agent's work.
    fn user_content(&mut self, document: &CodeJudgeInput) -> String {
        let input = document.input_messages();
        let key = if document.wire.input.is_some() { "input" } else { "input_messages" };
        for (index, message) in input.iter().enumerate() {
            let path = format!("{key}[{index}]");
            if message.role == Role::User {
                self.extras(&path, message);
            } else {
                self.dropped.push(path);
            }
        }
        // The transcript repeats the input, sometimes with the contents of files.
        let repeated = document.messages().into_iter().flatten();
        for (index, (repeated, message)) in repeated.zip(input).enumerate() {
            if index < document.wire.input_in_transcript() && repeated != message {
                self.dropped.push(format!("messages[{index}]"));
            }
        }
        let said = texts_of_users(input);
        said.or_else(|| document.question().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns the turns of the agent; none if the document has no output, which is not the same as an agent that did not answer.
    fn turns(&mut self, document: &CodeJudgeInput, user: &str) -> Vec<InvocationData> {
        if document.is_about_nothing() {
            return Vec::new();
        }
        let mut turns = Turns::starting_with(user);
        if let Some((key, messages)) = document.wire.transcript() {
            let statuses = Statuses::of(document);
            for (index, message) in
                messages.iter().enumerate().skip(document.wire.input_in_transcript())
            {
                let path = format!("{key}[{index}]");
                turns.add(message, &path, &|call, at| statuses.failed(index, call, at), self);
            }
        }
        turns.end(document.candidate_answer(), self)
    }

    fn expected_turns(
        &mut self,
        document: &CodeJudgeInput,
        user: &str,
    ) -> Option<Vec<InvocationData>> {
        let key = if document.wire.expected_output.is_some() {
            "expected_output"
        } else {
            "expected_messages"
        };
        let messages = document.expected_messages();
        let written = document.written_reference().map(str::to_owned);
        if messages.is_empty() {
            let answered = |text| InvocationData { final_response: Some(text), ..turn(1, user) };
            let text = written.or_else(|| configured_reference(document.config()?));
            return text.map(|text| vec![answered(text)]);
        }
        let mut turns = Turns::starting_with(user);
        for (index, message) in messages.iter().enumerate() {
            turns.add(message, &format!("{key}[{index}]"), &|_, _| false, self);
        }
        // The reference repeats the last message, or the tool calls of a message without content.
        let silent = messages.last().is_some_and(|last| last.content.is_none());
        let reference = written.filter(|text| silent && !is_tool_calls(text));
        Some(turns.end(reference.as_deref(), self))
    }
}

/// Builds turns from messages. Each message of the user starts a turn.
struct Turns {
    done: Vec<InvocationData>,
    turn: InvocationData,
    /// Path of the current answer of the turn.
    answer_at: Option<String>,
    /// Whether the agent has acted in this turn.
    acted: bool,
    /// Whether the user's content of this turn comes from a message.
    asked: bool,
}

impl Turns {
    fn starting_with(user: &str) -> Self {
        Self { done: Vec::new(), turn: turn(1, user), answer_at: None, acted: false, asked: false }
    }

    /// Adds the message at `path`. `failed` returns true for tool calls that failed.
    fn add(
        &mut self,
        message: &Message,
        path: &str,
        failed: &dyn Fn(&ToolCall, usize) -> bool,
        notes: &mut Notes,
    ) {
        if !matches!(message.role, Role::User | Role::Assistant | Role::Tool) {
            return notes.dropped.push(path.to_owned());
        }
        notes.extras(path, message);
        match message.role {
            Role::User => self.user(message, path, notes),
            Role::Assistant => self.assistant(message, path, failed, notes),
            _ => self.tool(message),
        }
    }

    fn user(&mut self, message: &Message, path: &str, notes: &mut Notes) {
        let text = message.text();
        let text = text.trim();
        if self.acted {
            let next = turn(self.done.len() + 2, text);
            self.done.push(std::mem::replace(&mut self.turn, next));
            (self.answer_at, self.acted, self.asked) = (None, false, true);
        } else if self.turn.user_content.is_empty() {
            self.turn.user_content = text.to_owned();
            self.asked = true;
        } else if self.asked && !text.is_empty() {
            // Joined like the texts of the input.
            self.turn.user_content.push(' ');
            self.turn.user_content.push_str(text);
        } else if !self.turn.user_content.contains(text) {
            notes.dropped.push(format!("{path}.content"));
        }
    }

    /// Adds the message of a tool.
    fn tool(&mut self, message: &Message) {
        self.acted = true;
        let mut response = response_of_tool(message);
        let IntermediateStepData { tool_calls, tool_responses } = &mut self.turn.intermediate_steps;
        let of_call = |id: &Option<String>| id.is_some() && *id == response.id;
        // Some hosts set the name only in the call.
        if let Some(call) = tool_calls.iter().find(|call| of_call(&call.id)) {
            if response.name.is_empty() {
                response.name.clone_from(&call.name);
            }
        }
        // A failed call may already have a response that has nothing but its status.
        let said = |said: &&mut ToolResponseData| said.response.is_null() && of_call(&said.id);
        match tool_responses.iter_mut().find(said) {
            Some(said) => {
                response.status = said.status.take();
                *said = response;
            }
            None => tool_responses.push(response),
        }
    }

    fn assistant(
        &mut self,
        message: &Message,
        path: &str,
        failed: &dyn Fn(&ToolCall, usize) -> bool,
        notes: &mut Notes,
    ) {
        self.acted = true;
        for (at, call) in message.tool_calls.iter().enumerate() {
            let path = format!("{path}.tool_calls[{at}]");
            notes.call(&path, call);
            let steps = &mut self.turn.intermediate_steps;
            steps.tool_responses.extend(response(call, failed(call, at)));
            steps.tool_calls.push(ToolCallData {
                name: call.tool.clone(),
                args: arguments(call.input.as_ref()),
                id: call.id.clone(),
            });
        }
        let text = message.text();
        let answers =
            message.content.is_some() && (message.tool_calls.is_empty() || !text.is_empty());
        if answers {
            // Earlier text of the turn is not the final response.
            notes.dropped.extend(self.answer_at.replace(format!("{path}.content")));
            self.turn.final_response = Some(text.into_owned());
        }
    }

    /// Returns the turns. The last one gets the answer that the host names.
    fn end(mut self, answer: Option<&str>, notes: &mut Notes) -> Vec<InvocationData> {
        // If the last turn has a question but no message of the agent, the answer is that of the turn before.
        let is_older = !self.acted
            && self.done.last().is_some_and(|turn| turn.final_response.as_deref() == answer);
        if let Some(answer) = answer.filter(|_| !is_older) {
            if self.turn.final_response.as_deref() != Some(answer) {
                notes.dropped.extend(self.answer_at);
                self.turn.final_response = Some(answer.to_owned());
            }
        }
        self.done.push(self.turn);
        self.done
    }
}

fn turn(number: usize, user: &str) -> InvocationData {
    InvocationData {
        invocation_id: format!("turn-{number}"),
        user_content: user.to_owned(),
        ..InvocationData::default()
    }
}

/// Returns the arguments of a call as an object; other values become its key `input`.
fn arguments(input: Option<&Value>) -> JsonObject {
    match input {
        None | Some(Value::Null) => JsonObject::new(),
        Some(Value::Object(object)) => object.clone(),
        Some(other) => JsonObject::from_iter([("input".to_owned(), other.clone())]),
    }
}

/// Returns the response of a call; `None` if it has no result and did not fail.
fn response(call: &ToolCall, failed: bool) -> Option<ToolResponseData> {
    if call.output.is_none() && !failed {
        return None;
    }
    let response =
        ToolResponseData::new(call.tool.clone(), call.output.clone().unwrap_or_default());
    let response = if failed { response.failed() } else { response };
    Some(ToolResponseData { id: call.id.clone(), ..response })
}

/// Converts the message of a tool.
fn response_of_tool(message: &Message) -> ToolResponseData {
    let value = match &message.content {
        None => Value::Null,
        Some(Content::Json(value)) => value.clone(),
        // A response has room for more than text. Blocks were read from JSON, so they can be written as JSON.
        Some(content @ Content::Blocks(blocks)) if !blocks.iter().all(Block::is_plain) => {
            serde_json::to_value(blocks).unwrap_or_else(|_| content.text().into())
        }
        Some(content) => content.text().into(),
    };
    let id = CALL_IDS.iter().find_map(|key| call_id(message, key));
    ToolResponseData {
        id: id.map(str::to_owned),
        ..ToolResponseData::new(message.name.clone().unwrap_or_default(), value)
    }
}

/// The failed tool calls, which only the events of a trace report.
#[derive(Default)]
struct Statuses<'a> {
    ids: HashSet<&'a str>,
    /// Index of the message in the transcript, and index of the call in it.
    places: HashSet<(usize, usize)>,
}

impl<'a> Statuses<'a> {
    fn of(document: &'a CodeJudgeInput) -> Self {
        let mut statuses = Self::default();
        let Some(trace) = document.trace() else { return statuses };
        // Events count the messages of the trace, which may start with the input.
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

    /// Returns true if the call at index `at` of the message failed.
    fn failed(&self, message: usize, call: &ToolCall, at: usize) -> bool {
        let id = call.id.as_deref();
        id.is_some_and(|id| self.ids.contains(id)) || self.places.contains(&(message, at))
    }
}

/// Keys under which messages of tools name the call they respond to.
const CALL_IDS: [&str; 2] = ["tool_call_id", "toolCallId"];

/// Collects the paths of dropped values.
#[derive(Default)]
struct Notes {
    dropped: Vec<String>,
}

impl Notes {
    /// Notes the values of a message besides its role, its texts and its tool calls.
    fn extras(&mut self, path: &str, message: &Message) {
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
    fn call(&mut self, path: &str, call: &ToolCall) {
        let is_read = |key: &str| matches!(key, "tool" | "input" | "output" | "id");
        self.unread(path, call.present(), is_read);
    }

    fn unread(&mut self, path: &str, present: Vec<&str>, is_read: impl Fn(&str) -> bool) {
        let unread = present.into_iter().filter(|key| !is_read(key));
        self.dropped.extend(unread.map(|key| format!("{path}.{key}")));
    }
}

/// Returns the id of the call that a message of a tool responds to, if it is under this key.
fn call_id<'a>(message: &'a Message, key: &str) -> Option<&'a str> {
    message.other.get(key).filter(|_| CALL_IDS.contains(&key))?.as_str()
}

/// Notes the paths of all dropped values outside of messages. `user` is the user's content, if a turn has it, and `golden` the
/// answer of the last golden turn.
fn note(
    document: &CodeJudgeInput,
    user: Option<&str>,
    golden: Option<&str>,
    dropped: &mut Vec<String>,
) {
    let wire = &document.wire;
    texts(document, user, golden, dropped);
    let has_files =
        |files: &Option<Vec<String>>| files.as_ref().is_some_and(|files| !files.is_empty());
    let has_text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let has = |messages: Option<&[Message]>| messages.is_some_and(|messages| !messages.is_empty());
    // Other keys take precedence over some of those with messages.
    let transcript = wire.transcript().map(|(key, _)| key);
    let output = wire.output.as_ref().and_then(|output| output.messages());
    let input = if wire.input.is_some() { "input" } else { "input_messages" };
    for (key, is_dropped) in [
        (input, user.is_none() && !document.input_messages().is_empty()),
        ("guideline_files", has_files(&wire.guideline_files)),
        ("guideline_paths", has_files(&wire.guideline_paths)),
        ("input_files", has_files(&wire.input_files)),
        ("file_changes", has_text(&wire.file_changes)),
        ("workspace_path", has_text(&wire.workspace_path)),
        ("output", transcript != Some("output") && has(output)),
        (
            "output_messages",
            transcript != Some("output_messages") && has(wire.output_messages.as_deref()),
        ),
        ("input_messages", wire.input.is_some() && has(wire.input_messages.as_deref())),
        (
            "expected_messages",
            wire.expected_output.is_some() && has(wire.expected_messages.as_deref()),
        ),
    ] {
        note_if(is_dropped, key, dropped);
    }
    for (key, trace) in [("trace", &wire.trace), ("trace_summary", &wire.trace_summary)] {
        if let Some(trace) = trace {
            self::trace(key, trace, document, dropped);
        }
    }
    let has_metadata = wire.metadata.as_ref().is_some_and(|object| !object.is_empty());
    note_if(has_metadata, "metadata", dropped);
    note_keys("", &wire.other, dropped);
}

/// Notes the values that the performance metrics of turns would have, for documents without turns.
fn note_numbers(document: &CodeJudgeInput, dropped: &mut Vec<String>) {
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
    note_keys(&format!("{key}."), &trace.other, dropped);
}

/// Returns true if the value is present and another value is used.
fn differs<T: PartialEq>(there: Option<T>, used: Option<T>) -> bool {
    there.is_some() && there != used
}

fn note_keys(prefix: &str, object: &JsonObject, dropped: &mut Vec<String>) {
    let present = object.iter().filter(|(_, value)| !value.is_null());
    dropped.extend(present.map(|(key, _)| format!("{prefix}{key}")));
}

fn note_if(is_there: bool, path: &str, dropped: &mut Vec<String>) {
    if is_there {
        dropped.push(path.to_owned());
    }
}

/// Returns true if a text is the JSON of tool calls.
fn is_tool_calls(text: &str) -> bool {
    let calls: Result<Vec<JsonObject>, _> = serde_json::from_str(text);
    calls.is_ok_and(|calls| calls.iter().all(|call| call.contains_key("tool")))
}

/// Returns the metrics, under the names of agentevals where they exist and those of AgentV otherwise; `None` when nothing was
/// measured.
fn performance_metrics(document: &CodeJudgeInput, turns: usize) -> Option<JsonObject> {
    let unknown = TraceSummary::default();
    let summary = document.trace_summary().unwrap_or(&unknown);
    let counts = present([
        ("llm_calls", summary.llm_call_count.map(Value::from)),
        ("tool_calls", tool_calls(document, summary).map(Value::from)),
    ]);
    let mut names = summary.tool_names.clone();
    names.sort();
    let mut metrics = present([
        ("latency", filled(latency(document, summary))),
        ("tokens", filled(tokens(document))),
        ("counts", filled(counts)),
        ("event_count", summary.event_count.map(Value::from)),
        ("error_count", summary.error_count.map(Value::from)),
        ("cost_usd", document.cost_usd().map(Value::from)),
        ("start_time", document.start_time().map(Value::from)),
        ("end_time", document.end_time().map(Value::from)),
        ("tool_names", (!names.is_empty()).then(|| json!(names))),
        ("tool_calls_by_name", filled(object(&summary.tool_calls_by_name))),
        ("tool_durations", filled(object(&summary.tool_durations))),
    ]);
    if metrics.is_empty() {
        return None;
    }
    if let Some(Value::Object(counts)) = metrics.get_mut("counts") {
        counts.insert("invocations".to_owned(), turns.into());
    }
    Some(metrics)
}

/// Returns the number of calls in the transcript, or in the summary.
fn tool_calls(document: &CodeJudgeInput, summary: &TraceSummary) -> Option<u64> {
    let by_name = &summary.tool_calls_by_name;
    let counted = (!by_name.is_empty())
        .then(|| by_name.values().fold(0, |sum: u64, calls| sum.saturating_add(*calls)));
    // Without a trace nothing was measured, and evaluators can count the calls in the turns.
    document.trace_summary()?;
    counted.or_else(|| u64::try_from(document.tool_calls()?.count()).ok())
}

fn latency(document: &CodeJudgeInput, summary: &TraceSummary) -> JsonObject {
    let overall: Vec<f64> = document.duration_ms().into_iter().collect();
    let tools: Vec<f64> = summary.tool_durations.values().flatten().copied().collect();
    present(
        [("overall", overall), ("tool_executions", tools)]
            .map(|(key, times)| (key, (!times.is_empty()).then(|| statistics(times)))),
    )
}

fn tokens(document: &CodeJudgeInput) -> JsonObject {
    let Some(usage) = document.token_usage() else { return JsonObject::new() };
    let total = usage.input.zip(usage.output).map(|(input, output)| input.saturating_add(output));
    let mut tokens = usage.other.clone();
    tokens.extend(present([
        ("total_prompt", usage.input.map(Value::from)),
        ("total_output", usage.output.map(Value::from)),
        ("total", total.map(Value::from)),
        ("cache_read_tokens", usage.cached.map(Value::from)),
    ]));
    tokens
}

fn object<V: Clone + Into<Value>>(map: &std::collections::BTreeMap<String, V>) -> JsonObject {
    map.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect()
}

/// Returns an object with those members that have a value.
fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> JsonObject {
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn filled(object: JsonObject) -> Option<Value> {
    (!object.is_empty()).then_some(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_nothing() {
        assert_eq!(performance_metrics(&CodeJudgeInput::new("q", "a"), 1), None);
        // A missing number is not 0.
        let timed = CodeJudgeInput::from_json(br#"{"output": "a", "duration_ms": 5}"#).unwrap();
        let metrics = performance_metrics(&timed, 1).unwrap();
        assert_eq!(metrics.keys().collect::<Vec<_>>(), ["latency"]);
    }
}
