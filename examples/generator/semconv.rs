//! How instrumentation that follows OpenTelemetry's conventions for generative AI records a conversation: an `invoke_agent`
//! span per turn, a `chat` span per model call with its messages, an `execute_tool` span per tool call.

use serde_json::{Value, json};

use super::{
    scenario::{AGENT, Call, Conversation, INSTRUCTIONS, Turn},
    span::{self, Span, Tracer},
};

const SCOPE: &str = "opentelemetry.instrumentation.travel_desk";

/// The spans of a conversation, one trace per turn.
pub(crate) fn record(conversation: &Conversation) -> Vec<Span> {
    Recorder { conversation, tool_spans: true, history: Vec::new() }.record()
}

/// The same from instrumentation that wraps the model's client only: tool calls are seen in the messages alone.
pub(crate) fn record_without_tool_spans(conversation: &Conversation) -> Vec<Span> {
    Recorder { conversation, tool_spans: false, history: Vec::new() }.record()
}

struct Recorder<'a> {
    conversation: &'a Conversation,
    tool_spans: bool,
    /// What the model is shown: all messages so far.
    history: Vec<Value>,
}

impl Recorder<'_> {
    fn record(mut self) -> Vec<Span> {
        span::record(self.conversation, SCOPE, |trace, turn| self.turn(trace, turn))
    }

    fn turn(&mut self, mut trace: Tracer, turn: &Turn) -> Vec<Span> {
        trace.enter(
            format!("invoke_agent {AGENT}"),
            vec![
                ("gen_ai.operation.name", json!("invoke_agent")),
                ("gen_ai.agent.name", json!(AGENT)),
                ("gen_ai.conversation.id", json!(self.conversation.id)),
                ("gen_ai.provider.name", json!(self.conversation.provider)),
            ],
        );
        self.history.push(message("user", text(turn.user)));
        for call in &turn.calls {
            let id = format!("call_{:02}", self.history.len());
            self.chat(&mut trace, tool_call(&id, call), "tool_calls");
            if self.tool_spans {
                tool(&mut trace, &id, call);
            }
            self.history.push(message("tool", tool_call_response(&id, call)));
        }
        if let Some(answer) = turn.answer {
            self.chat(&mut trace, text(answer), "stop");
        } else {
            self.failed_chat(&mut trace);
        }
        trace.exit();
        trace.finish()
    }

    fn chat(&mut self, trace: &mut Tracer, part: Value, finish_reason: &'static str) {
        let output = json!([
            {"finish_reason": finish_reason, "parts": [&part], "role": "assistant"}
        ])
        .to_string();
        let input = json!(self.history).to_string();
        let mut attributes = self.request(&input);
        attributes.extend([
            ("gen_ai.response.finish_reasons", json!([finish_reason])),
            ("gen_ai.usage.input_tokens", json!(tokens(&input) + tokens(INSTRUCTIONS))),
            ("gen_ai.usage.output_tokens", json!(tokens(&output))),
            ("gen_ai.output.messages", json!(output)),
        ]);
        trace.enter(format!("chat {}", self.conversation.model), attributes);
        trace.work(500, 1_600);
        trace.exit();
        self.history.push(message("assistant", part));
    }

    fn failed_chat(&self, trace: &mut Tracer) {
        let mut attributes = self.request(&json!(self.history).to_string());
        attributes.push(("error.type", json!("timeout")));
        trace.enter(format!("chat {}", self.conversation.model), attributes);
        trace.work(9_000, 9_500);
        trace.fail("the model did not answer in time");
        trace.exit();
        trace.fail("the model did not answer in time");
    }

    fn request(&self, input: &str) -> Vec<(&'static str, Value)> {
        let instructions = json!([text(INSTRUCTIONS)]).to_string();
        vec![
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!(self.conversation.provider)),
            ("gen_ai.request.model", json!(self.conversation.model)),
            ("gen_ai.conversation.id", json!(self.conversation.id)),
            ("gen_ai.system_instructions", json!(instructions)),
            ("gen_ai.input.messages", json!(input)),
        ]
    }
}

fn tool(trace: &mut Tracer, id: &str, call: &Call) {
    let mut attributes = vec![
        ("gen_ai.operation.name", json!("execute_tool")),
        ("gen_ai.tool.name", json!(call.tool)),
        ("gen_ai.tool.type", json!("function")),
        ("gen_ai.tool.call.id", json!(id)),
        ("gen_ai.tool.call.arguments", json!(call.arguments.to_string())),
        ("gen_ai.tool.call.result", json!(call.result.to_string())),
    ];
    attributes.extend(call.error.map(|error| ("error.type", json!(error))));
    trace.enter(format!("execute_tool {}", call.tool), attributes);
    trace.work(40, 350);
    if let Some(error) = call.error {
        trace.fail(error);
    }
    trace.exit();
}

/// A rough count, as good as any for a recording: four characters make a token.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

fn message(role: &str, part: Value) -> Value {
    json!({"parts": [part], "role": role})
}

fn text(content: &str) -> Value {
    json!({"content": content, "type": "text"})
}

fn tool_call(id: &str, call: &Call) -> Value {
    json!({"arguments": call.arguments, "id": id, "name": call.tool, "type": "tool_call"})
}

fn tool_call_response(id: &str, call: &Call) -> Value {
    json!({"id": id, "response": call.result, "type": "tool_call_response"})
}
