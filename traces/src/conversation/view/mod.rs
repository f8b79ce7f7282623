//! One reading of a span, whatever convention its producer followed.
//!
//! Producers put messages, models and token counts in different places. A view starts from the attributes the span
//! recorded and fills what is missing from, in this order: older attribute names, the details event of the call,
//! the deprecated event per message, attributes of Google's Agent Development Kit, the indexed attributes of
//! `OpenLLMetry`, and those of `OpenInference`. What is there is never replaced, and a list of messages comes whole from
//! one source.

mod adk;
mod attributes;
mod events;
mod indexed;
pub(super) mod keys;
mod openinference;
mod values;

use std::{borrow::Cow, rc::Rc, sync::Arc};

pub(super) use attributes::{Attributes, Classified, Kind, TooLarge};
use keys::{INPUT_MESSAGES, OUTPUT_MESSAGES};
pub(super) use openinference::kinds_of;

use super::{
    JudgedSpan,
    message::{Message, Messages, is_cut_json, read_messages, tool_calls},
};
use crate::{
    json::Value,
    trace::{LogRecord, Span},
};

/// The problem of JSON that was cut off, which follows its name in messages.
const CUT_OFF: &str = "are JSON that was cut off";

/// A span in canonical form.
#[derive(Debug)]
pub(super) struct SpanView<'a> {
    pub(super) span: &'a Span,
    pub(super) kind: Kind,
    pub(super) attributes: Attributes<'a>,
    /// Messages given to the model or agent; empty when none were recorded.
    pub(super) input: Messages,
    /// Messages it answered with; empty when none were recorded.
    pub(super) output: Messages,
    /// Recorded content that cannot be read, so that the agent cannot be judged.
    pub(super) errors: Vec<String>,
}

impl<'a> SpanView<'a> {
    /// Reads a span of this kind and the log records that belong to it.
    ///
    /// `with_messages` is false for spans whose messages are not needed: parsing them is most of the work.
    pub(super) fn new(
        span: &'a Span,
        classified: Classified,
        logs: &[&'a LogRecord],
        with_messages: bool,
    ) -> Self {
        let mut draft = Draft {
            span,
            attributes: Attributes::new(&span.attributes),
            with_messages,
            input: Vec::new(),
            output: Vec::new(),
            errors: Vec::new(),
        };
        draft.fill_input_from(span.attributes.get(INPUT_MESSAGES));
        draft.fill_output_from(span.attributes.get(OUTPUT_MESSAGES));
        draft.apply_aliases();
        draft.apply_details(logs);
        draft.apply_message_events(logs);
        if attributes::is_adk(span) {
            draft.apply_adk();
        }
        draft.apply_indexed();
        let Classified { kind, by_openinference } = classified;
        draft.apply_openinference(kind, by_openinference);
        draft.remove_placeholders();
        draft.find_cut_arguments(kind);
        Self {
            span,
            kind,
            attributes: draft.attributes,
            input: Rc::from(draft.input),
            output: Rc::from(draft.output),
            errors: draft.errors,
        }
    }

    /// Returns the description of this span in results.
    pub(super) fn as_judged(&self) -> JudgedSpan {
        JudgedSpan {
            trace_id: Arc::clone(&self.span.trace_id),
            span_id: self.span.span_id.clone(),
            agent_name: self.attributes.nonempty_text(keys::AGENT_NAME),
            conversation_id: self.attributes.nonempty_text(keys::CONVERSATION_ID),
        }
    }
}

/// A view that is being filled.
#[derive(Debug)]
struct Draft<'a> {
    span: &'a Span,
    attributes: Attributes<'a>,
    with_messages: bool,
    input: Vec<Message>,
    output: Vec<Message>,
    errors: Vec<String>,
}

impl<'a> Draft<'a> {
    /// Notes that what `name` recorded cannot be read; `problem` reads after the name.
    fn fail(&mut self, name: &str, problem: &str) {
        self.errors.push(format!("span {}: {name} {problem}", self.span.span_id));
    }

    /// Takes messages, or notes that `name` cannot be read.
    fn read_or_fail(&mut self, name: &str, read: Result<Vec<Message>, String>) -> Vec<Message> {
        read.unwrap_or_else(|problem| {
            self.fail(name, &problem);
            Vec::new()
        })
    }

    /// Notes arguments of tools that were cut off. Other text that is not JSON may be what the model wrote.
    fn find_cut_arguments(&mut self, kind: Kind) {
        let calls = tool_calls(&self.input).chain(tool_calls(&self.output));
        let mut names: Vec<String> =
            calls.filter(|call| call.is_cut).map(|call| call.name.clone()).collect();
        names.dedup();
        for name in names {
            self.fail(&format!("the arguments of the tool call {name}"), CUT_OFF);
        }
        let arguments = self.attributes.get(keys::TOOL_ARGUMENTS).and_then(Value::as_str);
        if kind == Kind::Tool && arguments.is_some_and(is_cut_json) {
            self.fail("the arguments of the tool", CUT_OFF);
        }
    }

    fn needs_input(&self) -> bool {
        self.with_messages && self.input.is_empty()
    }

    fn needs_output(&self) -> bool {
        self.with_messages && self.output.is_empty()
    }

    fn fill_input_from(&mut self, value: Option<&Value>) {
        if let Some(value) = value.filter(|_| self.needs_input()) {
            self.input = self.read_or_fail(INPUT_MESSAGES, read_messages(value));
        }
    }

    fn fill_output_from(&mut self, value: Option<&Value>) {
        if let Some(value) = value.filter(|_| self.needs_output()) {
            self.output = self.read_or_fail(OUTPUT_MESSAGES, read_messages(value));
        }
    }

    fn apply_aliases(&mut self) {
        let recorded = &self.span.attributes;
        for (alias, key) in keys::ALIASES {
            match recorded.get(alias) {
                Some(reason @ Value::String(_)) if key == keys::FINISH_REASONS => {
                    self.attributes.fill(key, Cow::Owned(Value::Array(vec![reason.clone()])));
                }
                Some(value) => self.attributes.fill(key, Cow::Borrowed(value)),
                None => {}
            }
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
            message::text_of,
            testing::{Recording, says},
        },
        json::to_python,
        trace::Trace,
    };

    fn view(trace: &Trace) -> SpanView<'_> {
        let logs: Vec<_> = trace.logs[0].iter().collect();
        SpanView::new(&trace.spans[0], kinds_of(trace)[0], &logs, true)
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
            kinds_of(&recording.span((1, 0), name, (0, 1), attributes).trace())[0].kind
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
        assert_eq!(text_of(&*view.input).as_deref(), Some("in of the event"));
        assert_eq!(text_of(&*view.output).as_deref(), Some("out of the span"));
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
        assert_eq!(text_of(&*read.input).as_deref(), Some("ab"));
        assert_eq!(text_of(&*read.output).as_deref(), Some("c"));
        assert_eq!(attribute(&read, keys::FINISH_REASONS).as_deref(), Some(r#"["tool_calls"]"#));
        let recording = span(json!({})).event("gen_ai.choice", json!({"content": "event"}));
        let trace = log(recording, "gen_ai.choice", 1, json!({"content": "record"})).trace();
        assert_eq!(text_of(&*view(&trace).output).as_deref(), Some("event"));
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
        assert_eq!(read.output[0].role, "assistant");
        assert_eq!(text_of(&*read.input).as_deref(), Some("hi"));
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
        assert_eq!(text_of(&*view.input).as_deref(), Some("firstlast"));
        let call = tool_calls(&view.output).next().unwrap();
        assert_eq!(to_python(&call.arguments), r#"{"a": 1}"#);
    }
}
