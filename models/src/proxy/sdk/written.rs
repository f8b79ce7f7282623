//! Answers in the form of an interface that the model itself does not have.

use serde_json::{Value, json};

use crate::{
    Answer, Api, Finish, Usage,
    proxy::fault::{Cause, Fault},
};

/// Writes an answer. Times and other numbers that no recording has are 0.
///
/// # Errors
///
/// The reply did not end in a way that the interface can express.
pub(super) fn written(api: Api, model: &str, answer: &Answer) -> Result<Value, Fault> {
    let reply = &answer.reply;
    let is_cut_off = reply.finish == Finish::Length;
    if !is_cut_off {
        reply.readable().map_err(|why| {
            let text = format!("model `{model}`: the reply is unreadable: {why}");
            Fault::new(Cause::Unreadable, text)
        })?;
    }
    let key = answer.key.as_deref().and_then(|key| key.get(..24)).unwrap_or("0");
    let usage = reply.usage.unwrap_or_default();
    Ok(match api {
        Api::ChatCompletions => chat((model, key), &reply.text, is_cut_off, usage),
        Api::Responses => response((model, key), &reply.text, is_cut_off, usage),
        Api::Messages => message((model, key), &reply.text, is_cut_off, usage),
        // Never translated.
        Api::Embeddings => Value::Null,
    })
}

fn chat((model, key): (&str, &str), text: &str, is_cut_off: bool, usage: Usage) -> Value {
    json!({
        "id": format!("chatcmpl-{key}"), "object": "chat.completion", "created": 0, "model": model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null,
            "finish_reason": if is_cut_off { "length" } else { "stop" },
        }],
        "usage": {
            "prompt_tokens": usage.input, "completion_tokens": usage.output,
            "total_tokens": usage.total(),
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        },
    })
}

fn response((model, key): (&str, &str), text: &str, is_cut_off: bool, usage: Usage) -> Value {
    let status = if is_cut_off { "incomplete" } else { "completed" };
    json!({
        "id": format!("resp_{key}"), "object": "response", "created_at": 0, "model": model,
        "status": status, "error": null, "instructions": null, "metadata": {},
        "incomplete_details": is_cut_off.then(|| json!({"reason": "max_output_tokens"})),
        "output": [{
            "type": "message", "id": format!("msg_{key}"), "role": "assistant", "status": status,
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }],
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "temperature": null, "top_p": null,
        "usage": {
            "input_tokens": usage.input, "output_tokens": usage.output,
            "total_tokens": usage.total(),
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        },
    })
}

fn message((model, key): (&str, &str), text: &str, is_cut_off: bool, usage: Usage) -> Value {
    json!({
        "id": format!("msg_{key}"), "type": "message", "role": "assistant", "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": if is_cut_off { "max_tokens" } else { "end_turn" }, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input.saturating_sub(usage.cached),
            "cache_read_input_tokens": usage.cached, "output_tokens": usage.output,
        },
    })
}
