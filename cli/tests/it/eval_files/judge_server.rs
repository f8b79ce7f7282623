//! A server of chat completions that answers from a script.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{Arc, Mutex},
};

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

/// Starts a server. A script has `rules` (`when` a text occurs in a message: `replies`) and `default` replies; the last reply of
/// a list is given again and again.
pub(super) fn start(script: Option<Value>) -> Server {
    let script = script.unwrap_or_else(|| json!({}));
    let used: Arc<Mutex<HashMap<usize, usize>>> = Arc::default();
    Server::start(move |request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let texts: Vec<String> = body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
            .collect();
        let texts = texts.join("\n");
        let empty = Vec::new();
        let rules = script["rules"].as_array().unwrap_or(&empty);
        let rule = rules.iter().position(|it| texts.contains(it["when"].as_str().unwrap_or("\0")));
        let replies = match rule {
            Some(rule) => rules[rule]["replies"].as_array(),
            None => script["default"].as_array(),
        };
        let replies = replies.unwrap_or(&empty);
        let number = {
            let mut used = used.lock().unwrap();
            let number = used.entry(rule.unwrap_or(usize::MAX)).or_default();
            *number += 1;
            *number - 1
        };
        let Some(reply) = replies.get(number.min(replies.len().saturating_sub(1))) else {
            let error = json!({"error": {"message": "no reply scripted"}});
            return stream.write_all(&response("500 Error", &[], error.to_string()));
        };
        if reply["close"].as_bool() == Some(true) {
            return Ok(());
        }
        let status = reply["status"].as_u64().unwrap_or(200);
        if status != 200 {
            let headers: Vec<String> = reply["headers"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default()))
                .collect();
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let body = reply.get("body").cloned().unwrap_or_else(|| json!({}));
            return stream.write_all(&response(
                &format!("{status} Error"),
                &headers,
                body.to_string(),
            ));
        }
        let usage = reply.get("usage").cloned().unwrap_or_else(
            || json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}),
        );
        let answer = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": reply["text"]},
                "finish_reason": reply.get("finish_reason").cloned().unwrap_or_else(|| json!("stop")),
            }],
            "usage": usage,
        });
        let header = ["content-type: application/json"];
        stream.write_all(&response("200 OK", &header, answer.to_string()))
    })
}
