//! What an evaluator would be given.

use evaluator_host::{
    conversation::{ToolCall, Turn},
    json::{self, NonFinite, Object, Value, to_python},
};

/// The invocations of an evaluator's input, without performance metrics. `NaN` and infinities are null there.
pub(crate) fn invocations(turns: &[Turn]) -> Value {
    let invocations = Value::Array(turns.iter().map(invocation).collect());
    json::parse_python(&json::to_string(&invocations, NonFinite::Null)).unwrap()
}

/// The JSON of anything that can be serialized.
pub(crate) fn serialized(value: &impl serde::Serialize) -> Value {
    json::parse_python(&serde_json::to_string(value).unwrap()).unwrap()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Object::from_iter(members.map(|(key, value)| (key.to_owned(), value))))
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::String(text.to_owned()))
}

fn invocation(turn: &Turn) -> Value {
    let responses = turn.tool_calls.iter().filter(|call| !call.result.is_null() || call.is_error);
    object([
        ("invocation_id", text(Some(&turn.span_id))),
        ("user_content", text(Some(turn.user_text.as_deref().unwrap_or_default()))),
        ("final_response", text(turn.final_text.as_deref())),
        (
            "intermediate_steps",
            object([
                ("tool_calls", Value::Array(turn.tool_calls.iter().map(tool_call).collect())),
                ("tool_responses", Value::Array(responses.map(tool_response).collect())),
            ]),
        ),
        ("trace_id", text(Some(&turn.trace_id))),
        ("span_id", text(Some(&turn.span_id))),
    ])
}

fn tool_call(call: &ToolCall) -> Value {
    let args = match &call.arguments {
        Value::Null => object([]),
        Value::Object(arguments) => Value::Object(arguments.clone()),
        other => object([("value", other.clone())]),
    };
    object([
        ("name", text(Some(&call.name))),
        ("args", args),
        ("id", text(call.call_id.as_deref())),
    ])
}

fn tool_response(call: &ToolCall) -> Value {
    let output = match call.result.value() {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => to_python(other),
    };
    object([
        ("name", text(Some(&call.name))),
        ("output", Value::String(output)),
        ("status", text(call.is_error.then_some("error"))),
        ("id", text(call.call_id.as_deref())),
        ("response", call.result.value().clone()),
    ])
}
