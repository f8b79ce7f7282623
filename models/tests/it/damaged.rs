//! Answers of servers in which anything may be missing or of another type.

use evaluator_models::{ErrorKind, read_reply};
use serde_json::{Value, json};

const ANSWERS: [(&str, &str); 3] = [
    (
        "openai",
        r#"{"model": "m", "choices": [{"message": {"content": "valid", "refusal": null, "reasoning_content": "r",
            "tool_calls": []}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 1}}}"#,
    ),
    (
        "anthropic",
        r#"{"model": "m", "content": [{"type": "thinking", "thinking": "r"}, {"type": "text", "text": "valid"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 1}}"#,
    ),
    (
        "gemini",
        r#"{"candidates": [{"content": {"parts": [{"text": "r", "thought": true}, {"text": "valid"}]},
            "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1,
            "thoughtsTokenCount": 1}, "modelVersion": "m"}"#,
    ),
];

/// Pointers to every value below a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, it)| pointers(it, &format!("{at}/{i}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, it)| pointers(it, &format!("{at}/{key}"), found));
        }
        _ => {}
    }
}

#[test]
fn damaged_answers_are_errors_or_replies_and_never_invent_text() {
    for (shape, answer) in ANSWERS {
        let good: Value = serde_json::from_str(answer).unwrap();
        let reply = read_reply(shape, answer.as_bytes()).unwrap();
        assert_eq!((&*reply.text, reply.thinking.as_deref()), ("valid", Some("r")));
        assert!(reply.usage.is_some() && reply.model_reported.as_deref() == Some("m"));
        let mut places = Vec::new();
        pointers(&good, "", &mut places);
        assert!(places.len() > 10);
        for place in places {
            for other in [
                json!(null),
                json!(-1),
                json!(1e300),
                json!("x"),
                json!([]),
                json!({}),
                json!(true),
            ] {
                let mut damaged = good.clone();
                *damaged.pointer_mut(&place).unwrap() = other.clone();
                match read_reply(shape, damaged.to_string().as_bytes()) {
                    Ok(reply) => assert!(
                        ["valid", "x", "", "rvalid"].contains(&&*reply.text),
                        "{shape} {place} {other}: {reply:?}"
                    ),
                    Err(error) => assert_eq!(error.kind, ErrorKind::BadAnswer, "{place} {other}"),
                }
            }
        }
        for end in 0..answer.len() {
            let error = read_reply(shape, &answer.as_bytes()[..end]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadAnswer);
        }
    }
}
