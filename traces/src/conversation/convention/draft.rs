//! A span in canonical form, while conventions fill it and afterwards.

use std::{borrow::Cow, rc::Rc, sync::Arc};

use super::{
    attributes::Attributes,
    keys,
    kind::{Classified, Kind},
};
use crate::{
    conversation::{
        JudgedSpan, Source,
        message::{
            Message, Messages, answer_nothing, have_blank, have_content, is_cut_json,
            read_messages, tool_calls,
        },
    },
    json::Value,
    trace::{LogRecord, Span, SpanStatus},
};

/// The problem of JSON that was cut off, which follows its name in messages.
const CUT_OFF: &str = "are JSON that was cut off";

/// A span in canonical form.
#[derive(Debug)]
pub(in crate::conversation) struct SpanView<'a> {
    pub(in crate::conversation) span: &'a Span,
    pub(in crate::conversation) kind: Kind,
    /// The convention that defines the kind.
    pub(in crate::conversation) by: &'static str,
    /// Log records that belong to it.
    pub(in crate::conversation) logs: Vec<&'a LogRecord>,
    pub(in crate::conversation) attributes: Attributes<'a>,
    /// Messages given to the model or agent; empty when none were recorded.
    pub(in crate::conversation) input: Side,
    /// Messages it answered with; empty when none were recorded.
    pub(in crate::conversation) output: Side,
    /// Messages behind those of the user, of a span that records the whole run; only if they are wanted.
    pub(in crate::conversation) steps: Side,
    /// Recorded content that cannot be read, so that the agent cannot be judged.
    pub(in crate::conversation) errors: Vec<String>,
}

/// The messages of a span that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conversation) enum Wanted {
    Nothing,
    /// Input and output.
    Sides,
    /// Also what happened between them, because no other span records it.
    Steps,
}

/// The messages of one side of a span, and the attribute or event from which they come.
#[derive(Clone, Debug, Default, derive_more::Deref)]
pub(in crate::conversation) struct Side {
    #[deref(forward)]
    pub(in crate::conversation) messages: Messages,
    /// `None` if there are no messages.
    pub(in crate::conversation) source: Option<Source>,
}

impl<'a> SpanView<'a> {
    /// Returns true if the span was recorded as failed.
    pub(in crate::conversation) fn has_failed(&self) -> bool {
        self.span.status == SpanStatus::Error
            || self.attributes.nonempty_text(keys::ERROR_TYPE).is_some()
    }

    /// Returns this span as the source of what an attribute or event holds.
    pub(in crate::conversation) fn source(&self, attribute: &'static str) -> Source {
        source(self.span, attribute)
    }

    /// Returns this span as the source of the value of a canonical attribute.
    pub(in crate::conversation) fn source_of(&self, key: &'static str) -> Source {
        self.source(self.attributes.source(key))
    }

    /// Returns the description of this span in results.
    pub(in crate::conversation) fn as_judged(&self) -> JudgedSpan {
        JudgedSpan {
            trace_id: Arc::clone(&self.span.trace_id),
            span_id: self.span.span_id.clone(),
            agent_name: self.attributes.nonempty_text(keys::AGENT_NAME),
            conversation_id: self.attributes.nonempty_text(keys::CONVERSATION_ID),
        }
    }
}

fn source(span: &Span, attribute: &'static str) -> Source {
    Source { trace_id: Arc::clone(&span.trace_id), span_id: span.span_id.clone(), attribute }
}

/// A span in canonical form that is being filled.
///
/// What is filled is never replaced. Each part keeps the name of the attribute or event from which it comes.
#[derive(Debug)]
pub struct SpanDraft<'a> {
    pub(super) span: &'a Span,
    pub(super) kind: Kind,
    /// The convention that defines the kind.
    pub(super) by: &'static str,
    pub(super) logs: Vec<&'a LogRecord>,
    pub(super) attributes: Attributes<'a>,
    pub(super) with_messages: bool,
    with_steps: bool,
    input: (Vec<Message>, &'static str),
    output: (Vec<Message>, &'static str),
    steps: (Vec<Message>, &'static str),
    errors: Vec<String>,
}

impl<'a> SpanDraft<'a> {
    pub(super) fn new(
        span: &'a Span,
        Classified { kind, by }: Classified,
        logs: Vec<&'a LogRecord>,
        wanted: Wanted,
    ) -> Self {
        Self {
            span,
            kind,
            by,
            logs,
            attributes: Attributes::new(&span.attributes),
            with_messages: wanted != Wanted::Nothing,
            with_steps: wanted == Wanted::Steps,
            input: (Vec::new(), ""),
            output: (Vec::new(), ""),
            steps: (Vec::new(), ""),
            errors: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> SpanView<'a> {
        self.remove_placeholders();
        self.find_cut_arguments();
        self.remove_empty_sides();
        let span = self.span;
        let side = |(messages, attribute): (Vec<Message>, _)| Side {
            source: (!messages.is_empty()).then(|| source(span, attribute)),
            messages: Rc::from(messages),
        };
        SpanView {
            span,
            kind: self.kind,
            by: self.by,
            logs: self.logs,
            attributes: self.attributes,
            input: side(self.input),
            output: side(self.output),
            steps: side(self.steps),
            errors: self.errors,
        }
    }

    /// Returns the span as it was recorded.
    pub fn span(&self) -> &'a Span {
        self.span
    }

    /// Returns the kind of the span.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the log records that belong to the span.
    pub fn logs(&self) -> &[&'a LogRecord] {
        &self.logs
    }

    /// Fills an attribute of the `GenAI` semantic conventions, unless it is filled. `source` is the name of the recorded
    /// attribute or event.
    pub fn fill(&mut self, key: &'static str, value: Cow<'a, Value>, source: &'static str) {
        self.attributes.fill(key, value, source);
    }

    /// Returns true if messages given to the model or agent are wanted, and none with content are filled.
    pub fn needs_input(&self) -> bool {
        self.with_messages && !have_content(&self.input.0)
    }

    /// Returns true if messages of the model or agent are wanted, and none with content are filled.
    pub fn needs_output(&self) -> bool {
        self.with_messages && !have_content(&self.output.0)
    }

    /// Fills the messages given to the model or agent, unless they are filled. Messages without content can be replaced by
    /// those of a later source.
    pub fn set_input(&mut self, messages: Vec<Message>, source: &'static str) {
        if self.needs_input() && (self.input.0.is_empty() || have_content(&messages)) {
            self.input = (messages, source);
        }
    }

    /// Fills the messages of the model or agent, unless they are filled. Messages without content, such as an empty answer,
    /// can be replaced by those of a later source.
    pub fn set_output(&mut self, messages: Vec<Message>, source: &'static str) {
        if self.needs_output() && (self.output.0.is_empty() || have_content(&messages)) {
            self.output = (messages, source);
        }
    }

    /// Returns true if the messages behind those of the user are wanted and not filled: no other span records the tool calls
    /// of the run.
    pub fn needs_steps(&self) -> bool {
        self.with_steps && self.steps.0.is_empty()
    }

    /// Fills the messages behind those of the user, unless they are filled.
    pub fn set_steps(&mut self, messages: Vec<Message>, source: &'static str) {
        if self.needs_steps() {
            self.steps = (messages, source);
        }
    }

    /// Notes that what `name` recorded cannot be read, so that the conversation cannot be judged. `problem` reads after the
    /// name.
    pub fn fail(&mut self, name: &str, problem: &str) {
        self.errors.push(format!("span {}: {name} {problem}", self.span.span_id));
    }

    /// Fills the input from a list of messages, as a structure or as JSON text, or notes that it cannot be read.
    pub(super) fn read_input(&mut self, value: Option<&Value>, source: &'static str) {
        if let Some(value) = value.filter(|_| self.needs_input()) {
            let messages = self.read_or_fail(keys::INPUT_MESSAGES, read_messages(value));
            self.set_input(messages, source);
        }
    }

    /// Fills the output from a list of messages, as a structure or as JSON text, or notes that it cannot be read.
    pub(super) fn read_output(&mut self, value: Option<&Value>, source: &'static str) {
        if let Some(value) = value.filter(|_| self.needs_output()) {
            let messages = self.read_or_fail(keys::OUTPUT_MESSAGES, read_messages(value));
            self.set_output(messages, source);
        }
    }

    /// Takes messages, or notes that `name` cannot be read.
    fn read_or_fail(&mut self, name: &str, read: Result<Vec<Message>, String>) -> Vec<Message> {
        read.unwrap_or_else(|problem| {
            self.fail(name, &problem);
            Vec::new()
        })
    }

    /// Notes arguments of tools that were cut off. Other text that is not JSON may be what the model wrote.
    fn find_cut_arguments(&mut self) {
        let calls = tool_calls(&self.input.0).chain(tool_calls(&self.output.0));
        let mut names: Vec<String> =
            calls.filter(|call| call.is_cut).map(|call| call.name.clone()).collect();
        names.dedup();
        for name in names {
            self.fail(&format!("the arguments of the tool call {name}"), CUT_OFF);
        }
        let arguments = self.attributes.get(keys::TOOL_ARGUMENTS).and_then(Value::as_str);
        if self.kind == Kind::Tool && arguments.is_some_and(is_cut_json) {
            self.fail("the arguments of the tool", CUT_OFF);
        }
    }

    /// Removes messages without content, unless they are an empty answer.
    ///
    /// An empty answer has a text that is blank. Some producers leave out the text instead, as all do for content that is
    /// not to be recorded. If the input has content, recording is on, so the answer is empty.
    fn remove_empty_sides(&mut self) {
        if !have_content(&self.input.0) {
            self.input.0.clear();
        }
        let output = &mut self.output.0;
        let is_empty_answer =
            (have_blank(output) || !self.input.0.is_empty()) && answer_nothing(output);
        if !have_content(output) && !is_empty_answer {
            output.clear();
        }
    }

    fn remove_placeholders(&mut self) {
        for key in [keys::TOOL_NAME, keys::TOOL_CALL_ID] {
            if self.attributes.get(key).and_then(Value::as_str) == Some(keys::NOT_SPECIFIED) {
                self.attributes.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        conversation::{
            Conventions,
            message::text_of,
            testing::{Recording, says},
        },
        json::to_python,
        trace::Trace,
    };

    fn view(trace: &Trace) -> SpanView<'_> {
        let logs = trace.logs[0].iter().collect();
        let conventions = Conventions::built_in();
        let kind = conventions.kinds_of(trace)[0];
        conventions.read(&trace.spans[0], kind, logs, Wanted::Sides)
    }

    fn attribute(view: &SpanView<'_>, key: &'static str) -> Option<String> {
        view.attributes.get(key).map(to_python)
    }

    fn span(attributes: serde_json::Value) -> Recording {
        Recording::default().span((1, 0), "span", (0, 1), attributes)
    }

    #[test]
    fn the_operation_decides_and_is_guessed_only_for_calls() {
        let kind = |name: &str, scope, attributes| {
            let recording = Recording::default().with_scope(scope);
            let trace = recording.span((1, 0), name, (0, 1), attributes).trace();
            Conventions::built_in().kinds_of(&trace)[0].kind
        };
        let operation = |operation| kind("x", "s", json!({"gen_ai.operation.name": operation}));
        assert_eq!(operation("text_completion"), Kind::Inference);
        assert_eq!(operation("invoke_agent"), Kind::Agent);
        assert_eq!(operation("Chat"), Kind::Plain);
        let mut guess = json!({"gen_ai.system": "openai", "gen_ai.request.model": "m"});
        assert_eq!(kind("llm", "s", guess.clone()), Kind::Plain);
        guess["gen_ai.usage.total_tokens"] = json!(5);
        assert_eq!(kind("llm", "s", guess.clone()), Kind::Inference);
        guess["gen_ai.system"] = json!("");
        assert_eq!(kind("llm", "s", guess), Kind::Plain);
        assert_eq!(kind("call_llm", "s", json!({})), Kind::Plain);
        assert_eq!(kind("call_llm", "gcp.vertex.agent", json!({})), Kind::Inference);
        assert_eq!(kind("invocation", "s", json!({"gcp.vertex.agent.x": 1})), Kind::Workflow);
        let merged =
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"});
        assert_eq!(kind("x", "s", merged), Kind::Plain);
    }

    #[test]
    fn older_names_fill_what_is_missing() {
        let trace = span(json!({
            "gen_ai.usage.input_tokens": "", "gen_ai.usage.prompt_tokens": 40,
            "gen_ai.usage.output_tokens": 2, "gen_ai.usage.completion_tokens": 50,
            "gen_ai.response.finish_reason": "stop", "gen_ai.tool.name": "<not specified>",
        }))
        .trace();
        let view = view(&trace);
        assert_eq!(attribute(&view, keys::INPUT_TOKENS).as_deref(), Some("40"));
        assert_eq!(attribute(&view, keys::OUTPUT_TOKENS).as_deref(), Some("2"));
        assert_eq!(attribute(&view, keys::FINISH_REASONS).as_deref(), Some(r#"["stop"]"#));
        assert_eq!(attribute(&view, keys::TOOL_NAME), None);
    }

    #[test]
    fn empty_text_fills_until_there_is_something_better() {
        let trace = span(json!({
            "gcp.vertex.agent.tool_call_args": "\"\"", "gcp.vertex.agent.tool_response": "\"\"",
            "gen_ai.usage.prompt_tokens": "",
            "gcp.vertex.agent.llm_response": {"usage_metadata": {"prompt_token_count": 7}},
        }))
        .trace();
        let view = view(&trace);
        assert_eq!(attribute(&view, keys::TOOL_ARGUMENTS).as_deref(), Some("\"\""));
        assert_eq!(attribute(&view, keys::TOOL_RESULT).as_deref(), Some("\"\""));
        assert_eq!(attribute(&view, keys::INPUT_TOKENS).as_deref(), Some("7"));
    }

    #[test]
    fn each_side_comes_whole_from_the_first_source_that_has_it() {
        let messages = |text: &str| json!([says("user", text)]).to_string();
        let trace = span(json!({
            "gen_ai.output.messages": messages("out of the span"),
            "gen_ai.input.messages": "<REDACTED>",
            "gen_ai.prompt.0.content": "indexed",
        }))
        .event("gen_ai.user.message", json!({"content": "deprecated"}))
        .event(
            "gen_ai.client.inference.operation.details",
            json!({
                "gen_ai.input.messages": messages("in of the event"),
                "gen_ai.output.messages": messages("out of the event"),
                "gen_ai.request.model": "m",
            }),
        )
        .trace();
        let view = view(&trace);
        assert_eq!(text_of(&*view.input.messages).as_deref(), Some("in of the event"));
        assert_eq!(text_of(&*view.output.messages).as_deref(), Some("out of the span"));
        assert_eq!(attribute(&view, keys::REQUEST_MODEL).as_deref(), Some("\"m\""));
    }

    #[test]
    fn records_are_read_in_order_of_time_when_there_are_no_span_events() {
        let log = |recording: Recording, name: &str, time, body| recording.log(1, name, time, body);
        let recording = log(span(json!({})), "gen_ai.user.message", 2, json!({"content": "b"}));
        let recording = log(recording, "gen_ai.user.message", 1, json!("{\"content\": \"a\"}"));
        let recording = log(
            recording,
            "gen_ai.choice",
            3,
            json!({
                "finish_reason": "TOOL_CALLS",
                "message": {"content": "c", "tool_calls": [{"id": "i", "function": {"name": "t", "arguments": "{}"}}]},
            }),
        );
        let trace = recording.trace();
        let read = view(&trace);
        assert_eq!(text_of(&*read.input.messages).as_deref(), Some("ab"));
        assert_eq!(text_of(&*read.output.messages).as_deref(), Some("c"));
        assert_eq!(attribute(&read, keys::FINISH_REASONS).as_deref(), Some(r#"["tool_calls"]"#));
        let recording = span(json!({})).event("gen_ai.choice", json!({"content": "event"}));
        let trace = log(recording, "gen_ai.choice", 1, json!({"content": "record"})).trace();
        assert_eq!(text_of(&*view(&trace).output.messages).as_deref(), Some("event"));
    }

    #[test]
    fn the_agent_development_kit_has_attributes_of_its_own() {
        let trace = Recording::default()
            .with_scope("gcp.vertex.agent")
            .span((1, 0), "call_llm", (0, 1), json!({
                "gcp.vertex.agent.llm_request":
                    r#"{"model": "g", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}"#,
                "gcp.vertex.agent.llm_response":
                    r#"{"content": {"parts": [{"text": "yo"}]}, "usage_metadata":
                        {"prompt_token_count": 5, "candidates_token_count": true}}"#,
                "gcp.vertex.agent.tool_call_args": "N/A",
                "gcp.vertex.agent.tool_response": r#"{"result": ["a list"]}"#,
            }))
            .trace();
        let read = view(&trace);
        assert_eq!(read.output.messages[0].role, "assistant");
        assert_eq!(text_of(&*read.input.messages).as_deref(), Some("hi"));
        assert_eq!(attribute(&read, keys::INPUT_TOKENS).as_deref(), Some("5"));
        assert_eq!(attribute(&read, keys::OUTPUT_TOKENS), None);
        assert_eq!(attribute(&read, keys::TOOL_ARGUMENTS), None);
        assert_eq!(
            attribute(&read, keys::TOOL_RESULT).as_deref(),
            Some(r#"{"result": ["a list"]}"#)
        );
        let placeholder =
            json!({"gcp.vertex.agent.tool_response": r#"{"result": "<not specified>"}"#});
        let trace = span(placeholder).trace();
        assert_eq!(attribute(&view(&trace), keys::TOOL_RESULT), None);
    }

    #[test]
    fn indexed_messages_are_in_order_of_their_numbers() {
        let trace = span(json!({
            "gen_ai.prompt.10.content": "last", "gen_ai.prompt.2.content": "first",
            "gen_ai.prompt.x.content": "no number", "gen_ai.prompt.3": "no field",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.name": "t",
            "gen_ai.completion.0.tool_calls.0.arguments": "{\"a\": 1}",
        }))
        .trace();
        let view = view(&trace);
        assert_eq!(text_of(&*view.input.messages).as_deref(), Some("firstlast"));
        let call = tool_calls(&view.output.messages).next().unwrap();
        assert_eq!(to_python(&call.arguments), r#"{"a": 1}"#);
    }
}
