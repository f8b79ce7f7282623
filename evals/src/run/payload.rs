//! The document of programs, with the keys of every generation of AgentV.

use evaluator_hosts::snake_case;
use evaluator_json::{Object, Value};

use super::wording;
use crate::{
    json_text::{count, list, members as object, number, text},
    model::{Message, Part, Program, Test},
    output::{Output, TokenUsage},
};

/// Returns the document about the output of a test.
pub(super) fn payload(test: &Test, output: &Output, program: &Program) -> Value {
    let question = wording::plain_question(test);
    let answer = output.answer().unwrap_or_default();
    let reference = wording::reference(test);
    let input = messages(&test.input);
    let expected = messages(&test.expected);
    let transcript = Value::Array(output.messages.clone());
    let all = test
        .input
        .iter()
        .map(|message| message.value.clone())
        .chain(output.messages.iter().cloned());
    let all: Vec<Value> = all.collect();
    let files = list(files(test).map(|path| text(&path)));
    let usage = output.usage.map_or(Value::Null, usage);
    let start = output.start_time.as_deref().map_or(Value::Null, text);
    let end = output.end_time.as_deref().map_or(Value::Null, text);
    let summary = summary(output, &usage);
    let mut trace = summary.clone();
    trace.insert("messages".to_owned(), Value::Array(all.clone()));
    trace.insert("events".to_owned(), events(&all));
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

fn messages(messages: &[Message]) -> Value {
    list(messages.iter().map(|message| message.value.clone()))
}

/// Returns the absolute paths of the files of the input.
pub(super) fn files(test: &Test) -> impl Iterator<Item = String> {
    test.input.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::File { path, .. } => Some(
            std::path::absolute(path)
                .unwrap_or_else(|_| path.clone())
                .to_string_lossy()
                .into_owned(),
        ),
        Part::Text(_) => None,
    })
}

fn usage(usage: TokenUsage) -> Value {
    let mut members =
        vec![("input", Value::Float(usage.input)), ("output", Value::Float(usage.output))];
    members.extend(usage.cached.map(|cached| ("cached", Value::Float(cached))));
    object(members)
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

/// Returns an event per message, tool call and tool result.
fn events(messages: &[Value]) -> Value {
    let mut events = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let id = format!("message-{index}");
        let metadata = |members: &[(&'static str, usize)]| {
            object(members.iter().map(|(key, number)| (*key, count(*number))))
        };
        events.push(object([
            ("event_id", text(&id)),
            ("ordinal", count(events.len())),
            ("type", text("message")),
            ("message", message.clone()),
            ("metadata", metadata(&[("message_index", index)])),
        ]));
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for (at, call) in calls.into_iter().flatten().enumerate() {
            let get = |key: &str| call.get(key).cloned().unwrap_or_default();
            let status = match call.get("status").and_then(Value::as_str) {
                Some(status) => status,
                None if call.get("output").is_some() => "ok",
                None => "unknown",
            };
            let tool = object([
                ("name", get("tool")),
                ("call_id", get("id")),
                ("input", get("input")),
                ("output", get("output")),
                ("status", text(status)),
            ]);
            events.push(object([
                ("event_id", text(&format!("{id}-tool-{at}"))),
                ("parent_event_id", text(&id)),
                ("ordinal", count(events.len())),
                ("type", text("tool_call")),
                ("tool", tool),
                ("metadata", metadata(&[("message_index", index), ("tool_index", at)])),
            ]));
        }
    }
    Value::Array(events)
}
