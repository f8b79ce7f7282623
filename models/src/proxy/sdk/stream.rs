//! Whole answers as the events of a stream.

use serde_json::{Map, Value, json};

use crate::Api;

/// Writes an answer as events. `with_usage` adds the number of tokens to those of chats.
pub(super) fn events(api: Api, answer: &Value, with_usage: bool) -> String {
    match api {
        Api::Responses => named(response(answer)),
        Api::Messages => named(message(answer)),
        Api::ChatCompletions | Api::Embeddings => {
            let chunks = chat(answer, with_usage).into_iter();
            let chunks = chunks.map(|chunk| format!("data: {chunk}\n\n"));
            chunks.chain(["data: [DONE]\n\n".to_owned()]).collect()
        }
    }
}

/// Writes events whose names are their types.
fn named(events: Vec<Value>) -> String {
    let line = |event: Value| {
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.into_iter().map(line).collect()
}

/// Returns the list of this key, or none.
fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// Returns an object with other members.
fn with(value: &Value, members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut object = value.as_object().cloned().unwrap_or_default();
    object.extend(members.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Value::Object(object)
}

/// Returns the chunks of a chat: for each choice one with its message, and one with the reason of its end.
fn chat(answer: &Value, with_usage: bool) -> Vec<Value> {
    let chunk = |choices: Value, usage: Option<&Value>| {
        let mut chunk =
            with(answer, [("object", "chat.completion.chunk".into()), ("choices", choices)]);
        if let Some(members) = chunk.as_object_mut() {
            members.remove("usage");
            if with_usage {
                members.insert("usage".to_owned(), usage.cloned().unwrap_or_default());
            }
        }
        chunk
    };
    let mut chunks = Vec::new();
    for (index, choice) in list(answer, "choices") {
        let mut delta = choice.get("message").cloned().unwrap_or_default();
        // Parts of calls are put together by their numbers.
        let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (number, call) in calls.into_iter().flatten().enumerate() {
            *call = with(call, [("index", number.into())]);
        }
        let index = choice.get("index").cloned().unwrap_or_else(|| index.into());
        let part = |delta: Value, logprobs: Option<&Value>, reason: Option<&Value>| json!({"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason});
        chunks.push(chunk(json!([part(delta, choice.get("logprobs"), None)]), None));
        chunks.push(chunk(json!([part(json!({}), None, choice.get("finish_reason"))]), None));
    }
    if with_usage {
        chunks.push(chunk(json!([]), answer.get("usage")));
    }
    chunks
}

/// Returns the events of a response.
fn response(answer: &Value) -> Vec<Value> {
    let nothing = ("output", json!([]));
    let begun = with(answer, [("status", "in_progress".into()), ("usage", Value::Null), nothing]);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in list(answer, "output") {
        output(&mut events, index, item);
    }
    let end = match answer.get("status").and_then(Value::as_str) {
        Some(status @ ("incomplete" | "failed")) => format!("response.{status}"),
        _ => "response.completed".to_owned(),
    };
    events.push(json!({"type": end, "response": answer}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}

/// Adds the events of an item of a response.
fn output(events: &mut Vec<Value>, index: usize, item: &Value) {
    let id = item.get("id").cloned().unwrap_or_default();
    let event = |kind: &str, members: Value| {
        let place =
            json!({"type": format!("response.{kind}"), "item_id": id, "output_index": index});
        let members = members.as_object().cloned().unwrap_or_default();
        let mut event = place.as_object().cloned().unwrap_or_default();
        event.extend(members);
        Value::Object(event)
    };
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let begun = match kind {
        "message" => with(item, [("status", "in_progress".into()), ("content", json!([]))]),
        "function_call" => with(item, [("status", "in_progress".into()), ("arguments", "".into())]),
        _ => item.clone(),
    };
    events.push(event("output_item.added", json!({"item": begun})));
    for (part_index, part) in list(item, "content").filter(|_| kind == "message") {
        let at = |members: &[(&'static str, Value)]| {
            with(&json!({"content_index": part_index}), members.iter().cloned())
        };
        let (name, key) = match part.get("type").and_then(Value::as_str) {
            Some("refusal") => ("refusal", "refusal"),
            _ => ("output_text", "text"),
        };
        let text = part.get(key).cloned().unwrap_or_default();
        let logprobs = ("logprobs", part.get("logprobs").cloned().unwrap_or_else(|| json!([])));
        let empty = with(part, [(key, "".into())]);
        events.push(event("content_part.added", at(&[("part", empty)])));
        let delta = at(&[("delta", text.clone()), logprobs.clone()]);
        events.push(event(&format!("{name}.delta"), delta));
        events.push(event(&format!("{name}.done"), at(&[(key, text), logprobs])));
        events.push(event("content_part.done", at(&[("part", part.clone())])));
    }
    if kind == "function_call" {
        let arguments = item.get("arguments").cloned().unwrap_or_default();
        events.push(event("function_call_arguments.delta", json!({"delta": arguments})));
        let done = json!({"arguments": arguments, "name": item.get("name")});
        events.push(event("function_call_arguments.done", done));
    }
    events.push(event("output_item.done", json!({"item": item})));
}

/// Returns the events of a message.
fn message(answer: &Value) -> Vec<Value> {
    let begun =
        [("content", json!([])), ("stop_reason", Value::Null), ("stop_sequence", Value::Null)];
    let mut events = vec![json!({"type": "message_start", "message": with(answer, begun)})];
    for (index, block) in list(answer, "content") {
        let (empty, deltas) = parts(block);
        let event = |kind: &str, key: &str, value: Value| {
            let mut event = Map::new();
            event.insert("type".to_owned(), format!("content_block_{kind}").into());
            event.insert("index".to_owned(), index.into());
            event.insert(key.to_owned(), value);
            Value::Object(event)
        };
        events.push(event("start", "content_block", empty));
        events.extend(deltas.into_iter().map(|delta| event("delta", "delta", delta)));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({
        "stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence"),
    });
    events.push(json!({"type": "message_delta", "delta": delta, "usage": answer.get("usage")}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// Returns the beginning of a block, and its content in parts. Blocks of other kinds come as wholes.
fn parts(block: &Value) -> (Value, Vec<Value>) {
    let value = |key: &str| block.get(key).cloned().unwrap_or_default();
    match block.get("type").and_then(Value::as_str) {
        Some("text") => {
            let delta = json!({"type": "text_delta", "text": value("text")});
            (with(block, [("text", "".into())]), vec![delta])
        }
        Some("tool_use") => {
            let input = value("input").to_string();
            let delta = json!({"type": "input_json_delta", "partial_json": input});
            (with(block, [("input", json!({}))]), vec![delta])
        }
        Some("thinking") => {
            let thinking = json!({"type": "thinking_delta", "thinking": value("thinking")});
            let signature = json!({"type": "signature_delta", "signature": value("signature")});
            let empty = with(block, [("thinking", "".into()), ("signature", "".into())]);
            (empty, vec![thinking, signature])
        }
        _ => (block.clone(), Vec::new()),
    }
}
