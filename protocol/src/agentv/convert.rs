//! Documents of AgentV, converted to the default contract.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Block, CodeJudgeInput, Content, Message, Role, ToolCall,
    dropped::{self, CALL_IDS, Notes, call_id, is_tool_calls},
    metrics,
    wire::{configured_reference, texts_of_users},
};
use crate::{
    Converted, DecodeError, EvalInput, IntermediateStepData, InvocationData, JsonObject,
    ToolCallData, ToolResponseData,
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
        let metrics = metrics::of(&self, turns.len());
        for turn in &mut turns {
            turn.performance_metrics.clone_from(&metrics);
        }
        if turns.is_empty() {
            dropped::note_numbers(&self, &mut notes.dropped);
        }
        let golden = expected.as_ref().and_then(|turns| turns.last()?.final_response.as_deref());
        dropped::note(&self, used.then_some(user.as_str()), golden, &mut notes.dropped);
        let mut input = EvalInput::new(name);
        input.config = self.config().cloned().unwrap_or_default();
        input.invocations = turns;
        input.expected_invocations = expected;
        input.tool_calls_known = knows_tools;
        Ok(Converted::new(input, notes.dropped))
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
pub(super) struct Turns {
    done: Vec<InvocationData>,
    turn: InvocationData,
    /// Path of the current answer of the turn.
    answer_at: Option<String>,
    /// Whether the agent has acted in this turn.
    begun: bool,
    /// Whether the user's content of this turn comes from a message.
    asked: bool,
}

impl Turns {
    pub(super) fn starting_with(user: &str) -> Self {
        Self { done: Vec::new(), turn: turn(1, user), answer_at: None, begun: false, asked: false }
    }

    /// Adds the message at `path`. `failed` returns true for tool calls that failed.
    pub(super) fn add(
        &mut self,
        message: &Message,
        path: &str,
        failed: &dyn Fn(&ToolCall, usize) -> bool,
        notes: &mut Notes,
    ) {
        match message.role {
            Role::User => {
                notes.extras(path, message);
                self.user(message, path, notes);
            }
            Role::Assistant => {
                notes.extras(path, message);
                self.assistant(message, path, failed, notes);
            }
            Role::Tool => {
                notes.extras(path, message);
                self.tool(message);
            }
            _ => notes.dropped.push(path.to_owned()),
        }
    }

    fn user(&mut self, message: &Message, path: &str, notes: &mut Notes) {
        let text = message.text();
        let text = text.trim();
        if self.begun {
            let next = turn(self.done.len() + 2, text);
            self.done.push(std::mem::replace(&mut self.turn, next));
            (self.answer_at, self.begun, self.asked) = (None, false, true);
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
        self.begun = true;
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
        self.begun = true;
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
    pub(super) fn end(mut self, answer: Option<&str>, notes: &mut Notes) -> Vec<InvocationData> {
        // If the last turn has a question but no message of the agent, the answer is that of the turn before.
        let is_older = !self.begun
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

pub(super) fn turn(number: usize, user: &str) -> InvocationData {
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
    pub(super) fn of(document: &'a CodeJudgeInput) -> Self {
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
    pub(super) fn failed(&self, message: usize, call: &ToolCall, at: usize) -> bool {
        let id = call.id.as_deref();
        id.is_some_and(|id| self.ids.contains(id)) || self.places.contains(&(message, at))
    }
}
