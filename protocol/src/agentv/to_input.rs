//! Documents of AgentV for evaluators of the default contract.

use super::{
    Block, CodeJudgeInput, Content, Message, Role,
    derived::{configured_reference, texts_of_users},
    dropped, metrics,
    statuses::Statuses,
    turns::{CALL_IDS, Turns, turn},
};
use crate::{Converted, DecodeError, EvalInput, InvocationData, JsonObject};

impl CodeJudgeInput {
    /// The document as one of agentevals: see the table of [this module](crate::agentv). `name` becomes the `metric_name`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: the answer is in a file that nobody has read (see [`read_output`](Self::read_output)) and nowhere
    /// else, or the document is for the aggregator of a composite evaluator.
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
        // Without a transcript there is no more than an answer.
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

/// What is written down on the way.
#[derive(Default)]
pub(super) struct Notes {
    /// Paths of what there is no room for.
    pub(super) dropped: Vec<String>,
}

impl Notes {
    /// What the user said: all of it, in one turn. What others said before is no work of the agent's that could be judged.
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
        // The transcript repeats it, sometimes with the contents of files in it.
        let repeated = document.messages().into_iter().flatten();
        for (index, (repeated, message)) in repeated.zip(input).enumerate() {
            if index < document.wire.input_in_transcript() && repeated != message {
                self.dropped.push(format!("messages[{index}]"));
            }
        }
        let said = texts_of_users(input);
        said.or_else(|| document.question().map(str::to_owned)).unwrap_or_default()
    }

    /// What the agent did. There are no turns where nothing is known of it: that is no agent that has not answered.
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
        // The reference repeats the last message, or the tool calls of one that says nothing.
        let silent = messages.last().is_some_and(|last| last.content.is_none());
        let reference = written.filter(|text| silent && !is_tool_calls(text));
        Some(turns.end(reference.as_deref(), self))
    }

    /// Notes what a message has beside its role, its texts and its tool calls.
    pub(super) fn extras(&mut self, path: &str, message: &Message) {
        let Message {
            content,
            tool_calls,
            name,
            metadata,
            timestamp,
            start_time,
            end_time,
            duration_ms,
            other,
            ..
        } = message;
        let is_of_tool = message.role == Role::Tool;
        // Of a tool's answer all blocks are kept.
        if let (Some(Content::Blocks(blocks)), false) = (content, is_of_tool) {
            for (index, block) in blocks.iter().enumerate() {
                self.block(&format!("{path}.content[{index}]"), block);
            }
        }
        let calls_tools = !tool_calls.is_empty() && message.role != Role::Assistant;
        self.present(path, "tool_calls", calls_tools);
        self.present(path, "name", name.is_some() && !is_of_tool);
        self.present(path, "metadata", metadata.is_some());
        self.times(path, [timestamp, start_time, end_time], *duration_ms);
        let known: &[&str] = if is_of_tool { &CALL_IDS } else { &[] };
        self.others(path, other, known);
    }

    /// Notes a block that says nothing, or what it has beside its text.
    fn block(&mut self, path: &str, block: &Block) {
        let Some(said) = block.as_text() else { return self.dropped.push(path.to_owned()) };
        let Block { value, path: file, resolved_path, media_type, other, .. } = block;
        let repeats = value.as_deref().is_none_or(|value| value == said);
        self.present(path, "value", !repeats);
        self.present(path, "path", file.is_some());
        self.present(path, "resolved_path", resolved_path.is_some());
        self.present(path, "media_type", media_type.is_some());
        self.others(path, other, &[]);
    }

    pub(super) fn times(&mut self, path: &str, times: [&Option<String>; 3], duration: Option<f64>) {
        for (key, time) in ["timestamp", "start_time", "end_time"].into_iter().zip(times) {
            self.present(path, key, time.is_some());
        }
        self.present(path, "duration_ms", duration.is_some());
    }

    pub(super) fn others(&mut self, path: &str, other: &JsonObject, known: &[&str]) {
        for (key, value) in other {
            let is_read = value.is_string() && known.contains(&key.as_str());
            self.present(path, key, !value.is_null() && !is_read);
        }
    }

    pub(super) fn present(&mut self, path: &str, key: &str, is_there: bool) {
        if is_there {
            self.dropped.push(format!("{path}.{key}"));
        }
    }
}

/// Whether a text is the JSON of tool calls.
pub(super) fn is_tool_calls(text: &str) -> bool {
    let calls: Result<Vec<JsonObject>, _> = serde_json::from_str(text);
    calls.is_ok_and(|calls| calls.iter().all(|call| call.contains_key("tool")))
}
