//! The document of a custom metric: the arguments of ADK's functions, with keys in snake_case and without nulls.

use super::super::{
    Settings,
    members::{elapsed, object, present, text},
};
use crate::{
    conversation::{Conversation, LlmCall, ToolCall, Turn},
    eval_set::{EvalCase, ExpectedTurn},
    json::{Object, Value},
};

pub(super) fn document(
    settings: &Settings,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Value {
    let mut criterion = Object::default();
    criterion.insert("threshold".to_owned(), Value::Float(settings.threshold));
    for (key, value) in settings.config.iter().filter(|(key, _)| *key != "threshold") {
        criterion.insert(key.clone(), value.clone());
    }
    let metric = object([
        ("metric_name", text(&settings.metric_name)),
        ("criterion", Value::Object(criterion)),
    ]);
    let expected =
        case.map_or(Value::Null, |case| Value::Array(case.turns.iter().map(expected).collect()));
    object([
        ("eval_metric", metric),
        ("actual_invocations", Value::Array(conversation.turns.iter().map(actual).collect())),
        ("expected_invocations", expected),
        ("conversation_scenario", Value::Null),
    ])
}

fn actual(turn: &Turn) -> Value {
    let author = turn.agent_name.as_deref().unwrap_or("agent");
    let mut events = Vec::new();
    for call in &turn.tool_calls {
        events.push(event(
            author,
            content("model", object([("function_call", function_call(call))])),
        ));
        if !call.result.is_null() || call.is_error {
            let response = object([("function_response", function_response(call))]);
            events.push(event(author, content("user", response)));
        }
    }
    // Recordings do not assign tool calls to model responses, so usage has events of its own.
    events.extend(turn.llm_calls.iter().map(|call| usage(author, call)));
    let user_text = turn.user_text.as_deref().unwrap_or_default();
    present([
        ("invocation_id", Some(text(&turn.span_id))),
        ("user_content", Some(message("user", user_text))),
        ("final_response", turn.final_text.as_deref().map(|text| message("model", text))),
        ("intermediate_data", Some(object([("invocation_events", Value::Array(events))]))),
        ("creation_timestamp", Some(elapsed(0, turn.start_ns, 1e9))),
        ("duration", Some(elapsed(turn.start_ns, turn.end_ns, 1e9))),
    ])
}

fn expected(turn: &ExpectedTurn) -> Value {
    let calls = turn.tool_calls.iter().map(|call| {
        present([
            ("id", call.id.as_deref().map(text)),
            ("args", (!call.args.is_null()).then(|| members("value", &call.args))),
            ("name", call.name.as_deref().map(text)),
        ])
    });
    let responses = turn.tool_responses.iter().map(|response| {
        let value = &response.response;
        present([
            ("id", response.id.as_deref().map(text)),
            ("name", Some(text(&response.name))),
            ("response", (!value.is_null()).then(|| members("result", value))),
        ])
    });
    let data = object([
        ("tool_uses", Value::Array(calls.collect())),
        ("tool_responses", Value::Array(responses.collect())),
        ("intermediate_responses", Value::Array(Vec::new())),
    ]);
    let answer = turn.final_text("\n").map(|answer| message("model", &answer));
    present([
        ("invocation_id", Some(text(&turn.invocation_id))),
        ("user_content", Some(message("user", &turn.user_text()))),
        ("final_response", answer),
        ("intermediate_data", Some(data)),
        ("creation_timestamp", Some(Value::Float(0.0))),
    ])
}

fn message(role: &str, content_text: &str) -> Value {
    content(role, object([("text", text(content_text))]))
}

fn content(role: &str, part: Value) -> Value {
    object([("parts", Value::Array(vec![part])), ("role", text(role))])
}

fn event(author: &str, content: Value) -> Value {
    object([("author", text(author)), ("content", content)])
}

fn usage(author: &str, call: &LlmCall) -> Value {
    let model = call.response_model.as_deref().or(call.request_model.as_deref());
    let tokens = call.usage.map(|usage| {
        let cached = (usage.cache_read_tokens > 0).then_some(Value::Int(usage.cache_read_tokens));
        present([
            ("cached_content_token_count", cached),
            ("candidates_token_count", Some(Value::Int(usage.output_tokens))),
            ("prompt_token_count", Some(Value::Int(usage.input_tokens))),
        ])
    });
    present([
        ("author", Some(text(author))),
        ("usage_metadata", tokens),
        ("model_version", model.map(text)),
    ])
}

fn function_call(call: &ToolCall) -> Value {
    let args = match &call.arguments {
        Value::Null => Value::Object(Object::default()),
        args => members("value", args),
    };
    present([
        ("id", call.call_id.as_deref().map(text)),
        ("args", Some(args)),
        ("name", Some(text(&call.name))),
    ])
}

fn function_response(call: &ToolCall) -> Value {
    let response = call.result.value();
    present([
        ("id", call.call_id.as_deref().map(text)),
        ("name", Some(text(&call.name))),
        ("response", (!response.is_null()).then(|| members("result", response))),
    ])
}

/// Returns a value as the object that the schema requires: any other value as its member `key`.
fn members(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(_) => value.clone(),
        other => object([(key, other.clone())]),
    }
}
