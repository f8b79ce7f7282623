//! The turns of a conversation, made of its messages.

use serde_json::Value;

use super::{Block, Content, Message, Role, ToolCall, to_input::Notes};
use crate::{IntermediateStepData, InvocationData, JsonObject, ToolCallData, ToolResponseData};

/// Where messages of tools say which call they answer.
pub(super) const CALL_IDS: [&str; 2] = ["tool_call_id", "toolCallId"];

/// Turns under construction: each message of the user begins one.
pub(super) struct Turns {
    done: Vec<InvocationData>,
    turn: InvocationData,
    /// Where the turn's answer so far comes from.
    answer_at: Option<String>,
    /// Whether the agent has done anything in this turn.
    begun: bool,
    /// Whether what the user says in this turn is said by the messages.
    asked: bool,
}

impl Turns {
    pub(super) fn starting_with(user: &str) -> Self {
        Self { done: Vec::new(), turn: turn(1, user), answer_at: None, begun: false, asked: false }
    }

    /// Adds a message that stands at `path`. `failed` knows which of its tool calls failed.
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
            // As the texts of the input are joined.
            self.turn.user_content.push(' ');
            self.turn.user_content.push_str(text);
        } else if !self.turn.user_content.contains(text) {
            notes.dropped.push(format!("{path}.content"));
        }
    }

    /// A message with what a tool answered.
    fn tool(&mut self, message: &Message) {
        self.begun = true;
        let mut response = response_of_tool(message);
        let IntermediateStepData { tool_calls, tool_responses } = &mut self.turn.intermediate_steps;
        let of_call = |id: &Option<String>| id.is_some() && *id == response.id;
        // Some say the name in the call alone.
        if let Some(call) = tool_calls.iter().find(|call| of_call(&call.id)) {
            if response.name.is_empty() {
                response.name.clone_from(&call.name);
            }
        }
        // Of a call that failed it may have been said already that it did, and nothing else.
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
            let ToolCall { timestamp, start_time, end_time, duration_ms, other, .. } = call;
            notes.times(&path, [timestamp, start_time, end_time], *duration_ms);
            notes.others(&path, other, &[]);
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
            // What was said before is no final response.
            notes.dropped.extend(self.answer_at.replace(format!("{path}.content")));
            self.turn.final_response = Some(text.into_owned());
        }
    }

    /// The turns, the last one with the answer that the host gives for it.
    pub(super) fn end(mut self, answer: Option<&str>, notes: &mut Notes) -> Vec<InvocationData> {
        // Asked last and answered never: the answer is that of the turn before.
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

/// What a tool was given, as an object: anything else stands under `input` of one.
fn arguments(input: Option<&Value>) -> JsonObject {
    match input {
        None | Some(Value::Null) => JsonObject::new(),
        Some(Value::Object(object)) => object.clone(),
        Some(other) => JsonObject::from_iter([("input".to_owned(), other.clone())]),
    }
}

/// What a tool answered; `None` when it answered nothing and did not fail.
fn response(call: &ToolCall, failed: bool) -> Option<ToolResponseData> {
    if call.output.is_none() && !failed {
        return None;
    }
    let response =
        ToolResponseData::new(call.tool.clone(), call.output.clone().unwrap_or_default());
    let response = if failed { response.failed() } else { response };
    Some(ToolResponseData { id: call.id.clone(), ..response })
}

/// What a tool answered in a message of its own.
fn response_of_tool(message: &Message) -> ToolResponseData {
    let value = match &message.content {
        None => Value::Null,
        Some(Content::Json(value)) => value.clone(),
        // There is room for more than texts. What was read from JSON can be written as such.
        Some(content @ Content::Blocks(blocks)) if !blocks.iter().all(Block::is_plain) => {
            serde_json::to_value(blocks).unwrap_or_else(|_| content.text().into())
        }
        Some(content) => content.text().into(),
    };
    let id = CALL_IDS.iter().find_map(|key| message.other.get(*key)?.as_str());
    ToolResponseData {
        id: id.map(str::to_owned),
        ..ToolResponseData::new(message.name.clone().unwrap_or_default(), value)
    }
}
