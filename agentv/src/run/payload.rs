//! The document of programs, with the keys of every generation of AgentV.

use evaluator_hosts::snake_case;
use evaluator_json::{Object, Value};

use super::{plan::Tested, subject::Subject, wording};
use crate::{
    json_text::{count, list, number, object, present, text},
    model::{Message, Part, Program, Test},
    output::{Output, TokenUsage, calls},
};

/// Returns the document about the output of a test.
pub(super) fn payload(subject: Subject<'_>, program: &Program) -> Value {
    let Subject { test, output, tested, .. } = subject;
    let question = wording::plain_question(test);
    let answer = output.answer().unwrap_or_default();
    let reference = wording::reference(test);
    let (input, expected) = (messages(&test.input), messages(&test.expected));
    let transcript = Value::Array(output.messages.clone());
    let all = transcribed(test, output, tested);
    let files = list(files(test).map(|path| text(&path)));
    let usage = output.usage.map_or(Value::Null, usage);
    let start = output.start_time.as_deref().map_or(Value::Null, text);
    let end = output.end_time.as_deref().map_or(Value::Null, text);
    let summary = summary(output, &usage);
    let mut trace = summary.clone();
    trace.insert("events".to_owned(), events(&all, &answer, output.end_time.as_deref()));
    trace.insert("messages".to_owned(), Value::Array(all.clone()));
    trace.insert("start_time".to_owned(), start.clone());
    trace.insert("end_time".to_owned(), end.clone());
    trace.insert("metadata".to_owned(), metadata(test, tested));
    let config = program.config.clone().map_or(Value::Null, Value::Object);
    let document = object([
        ("question", text(&question)),
        ("input_text", text(&question)),
        ("criteria", text(&test.criteria)),
        ("expected_outcome", text(&test.criteria)),
        ("reference_answer", text(&reference)),
        ("expected_output_text", text(&reference)),
        ("candidate_answer", text(&answer)),
        ("answer", text(&answer)),
        ("output_text", text(&answer)),
        ("output", text(&answer)),
        ("input", input.clone()),
        ("input_messages", input),
        ("output_messages", transcript),
        ("messages", Value::Array(all)),
        ("expected_output", expected.clone()),
        ("expected_messages", expected),
        ("guideline_files", list([])),
        ("input_files", files),
        ("metadata", test.metadata.clone().unwrap_or_default()),
        ("trace", Value::Object(trace)),
        ("trace_summary", Value::Object(summary)),
        ("token_usage", usage),
        ("cost_usd", number(output.cost_usd)),
        ("duration_ms", number(output.duration_ms)),
        ("start_time", start),
        ("end_time", end),
        ("file_changes", Value::Null),
        ("workspace_path", Value::Null),
        ("config", config),
    ]);
    snake_case(&document)
}

/// Returns messages as they were written, with the contents of their files.
fn messages(messages: &[Message]) -> Value {
    list(messages.iter().map(|message| {
        let mut value = message.value.clone();
        let mut files = message.parts.iter().filter_map(|part| match part {
            Part::File { given, path, text } => Some((given, path, text)),
            Part::Text(_) => None,
        });
        let content = match &mut value {
            Value::Object(object) => object.get_mut("content"),
            _ => None,
        };
        let blocks = if let Some(Value::Array(blocks)) = content { &mut **blocks } else { &mut [] };
        let is_file =
            |block: &&mut Value| block.get("type").and_then(Value::as_str) == Some("file");
        for block in blocks.iter_mut().filter(is_file) {
            if let (Value::Object(block), Some((given, path, content))) = (block, files.next()) {
                let shown = given.trim_start_matches(['/', '\\']);
                block.insert("path".to_owned(), text(shown));
                block.insert("text".to_owned(), text(content));
                block.insert("resolved_path".to_owned(), text(&path.to_string_lossy()));
            }
        }
        value
    }))
}

/// Returns the whole conversation: messages to the agent, and its output. An output with messages of the user is whole.
fn transcribed(test: &Test, output: &Output, tested: Option<&Tested>) -> Vec<Value> {
    let is_whole = output.messages.iter().any(|message| {
        matches!(message.get("role").and_then(Value::as_str), Some("user" | "system"))
    });
    let refers = tested.is_none_or(|tested| tested.reads_files);
    let input = if is_whole { Vec::new() } else { wording::messages(test, refers) };
    input.into_iter().chain(output.messages.iter().cloned()).collect()
}

/// Returns the paths of the files of the input.
pub(super) fn files(test: &Test) -> impl Iterator<Item = String> {
    test.input.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::File { path, .. } => Some(path.to_string_lossy().into_owned()),
        Part::Text(_) => None,
    })
}

/// Returns what is known about the origin of the output.
fn metadata(test: &Test, tested: Option<&Tested>) -> Value {
    present([
        ("provider", tested.map(|tested| text(&tested.provider))),
        ("target", tested.map(|tested| text(&tested.name))),
        ("eval_case_id", Some(text(&test.id))),
        ("provider_session_id", test.conversation_id.as_deref().map(text)),
    ])
}

fn usage(usage: TokenUsage) -> Value {
    let TokenUsage { input, output, cached } = usage;
    let members = [("input", Some(input)), ("output", Some(output)), ("cached", cached)];
    present(members.map(|(key, tokens)| (key, tokens.map(Value::Float))))
}

/// Returns the summary of what happened, with the keys of every generation.
fn summary(output: &Output, usage: &Value) -> Object {
    let (mut by_name, mut durations) = (Object::default(), Object::default());
    let (mut calls, mut errors) = (0_usize, 0_usize);
    for call in output.tool_calls() {
        calls += 1;
        errors += usize::from(call.is_error);
        let known = by_name.entry(call.tool.to_owned()).or_insert(Value::Int(0));
        if let Value::Int(number) = known {
            *number = number.saturating_add(1);
        }
        if let Some(duration) = call.duration_ms {
            let of_tool = durations.entry(call.tool.to_owned()).or_insert_with(|| list([]));
            if let Value::Array(all) = of_tool {
                all.push(Value::Float(duration));
            }
        }
    }
    let names = list(by_name.keys().map(|name| text(name)));
    let mut members = vec![
        ("event_count", count(calls)),
        ("tool_names", names),
        ("tool_calls_by_name", Value::Object(by_name.clone())),
        ("tool_calls", Value::Object(by_name)),
        ("error_count", count(errors)),
        ("tool_durations", Value::Object(durations)),
        ("llm_call_count", count(output.count_model_calls())),
        ("duration_ms", number(output.duration_ms)),
        ("cost_usd", number(output.cost_usd)),
    ];
    if !usage.is_null() {
        members.push(("token_usage", usage.clone()));
    }
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns an event per message, tool call and tool result, and one for the final answer.
fn events(messages: &[Value], answer: &str, end: Option<&str>) -> Value {
    let mut events = Events::default();
    for (index, message) in messages.iter().enumerate() {
        let id = format!("message-{index}");
        let duration = either(message, ["duration_ms", "durationMs"]);
        let times = [("timestamp", start_of(message)), ("duration_ms", duration)];
        events.push(&id, None, "message", times, ("message", spoken(message)), (index, None));
        for (at, call) in calls(message).iter().enumerate() {
            let (tool_id, place) = (format!("{id}-tool-{at}"), (index, Some(at)));
            let duration = either(call, ["duration_ms", "durationMs"]);
            let times = [("timestamp", start_of(call)), ("duration_ms", duration)];
            events.push(&tool_id, Some(&id), "tool_call", times, ("tool", tool(call, true)), place);
            if call.get("output").is_some() {
                let (id, parent) = (format!("{tool_id}-result"), Some(&*tool_id));
                let times = [("timestamp", end_of(call)), ("duration_ms", None)];
                events.push(&id, parent, "tool_result", times, ("tool", tool(call, false)), place);
            }
        }
    }
    let is_agent =
        |message: &Value| message.get("role").and_then(Value::as_str) == Some("assistant");
    if let Some((index, last)) = messages.iter().enumerate().rfind(|(_, it)| is_agent(it)) {
        let time = end_of(last).or_else(|| start_of(last)).or_else(|| end.map(text));
        let times = [("timestamp", time), ("duration_ms", None)];
        let mut message = spoken(last);
        if let Value::Object(message) = &mut message {
            message.insert("content".to_owned(), text(answer));
        }
        let (parent, place) = (format!("message-{index}"), (index, None));
        let kind = "final_response";
        events.push("final-response", Some(&parent), kind, times, ("message", message), place);
    }
    Value::Array(events.0)
}

/// Events in their order.
#[derive(Default)]
struct Events(Vec<Value>);

impl Events {
    fn push(
        &mut self,
        id: &str,
        parent: Option<&str>,
        kind: &str,
        [timestamp, duration]: [(&str, Option<Value>); 2],
        (key, value): (&str, Value),
        (message, tool): (usize, Option<usize>),
    ) {
        let place = [("message_index", Some(count(message))), ("tool_index", tool.map(count))];
        self.0.push(present([
            ("event_id", Some(text(id))),
            ("parent_event_id", parent.map(text)),
            ("ordinal", Some(count(self.0.len()))),
            ("type", Some(text(kind))),
            timestamp,
            duration,
            (key, Some(value)),
            ("metadata", Some(present(place))),
        ]));
    }
}

/// Returns a message without its tool calls, which are events of their own.
fn spoken(message: &Value) -> Value {
    let keys = ["role", "name", "content", "token_usage", "metadata"];
    present(keys.map(|key| (key, message.get(key).cloned())))
}

fn tool(call: &Value, with_input: bool) -> Value {
    let get = |key: &str| call.get(key).cloned();
    present([
        ("name", get("tool")),
        ("call_id", get("id")),
        ("input", get("input").filter(|_| with_input)),
        ("output", get("output")),
        ("status", Some(get("status").unwrap_or_else(|| text("ok")))),
    ])
}

fn start_of(value: &Value) -> Option<Value> {
    either(value, ["start_time", "startTime"])
}

fn end_of(value: &Value) -> Option<Value> {
    either(value, ["end_time", "endTime"])
}

fn either(value: &Value, keys: [&str; 2]) -> Option<Value> {
    keys.iter().find_map(|key| value.get(key)).cloned()
}
