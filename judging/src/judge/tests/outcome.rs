//! Answers of the script of a vector.

use evaluator_json::Value;

use crate::judge::{Answer, Reply};

/// Reads an entry of `replies`.
pub(super) fn read_answer(entry: &Value) -> Answer {
    let Some(object) = entry.as_object() else {
        return Answer::text(entry.as_str().expect("a reply is a text or an object"));
    };
    let keys: Vec<&str> = object.keys().map(String::as_str).collect();
    match keys.as_slice() {
        ["content", rest @ ..] => {
            assert!(object["content"].is_null(), "unknown content {entry:?}");
            for key in rest {
                let known = ["error_code", "error_message", "finish_reason"];
                assert!(known.contains(key), "unknown field {key} of a reply");
            }
            Answer::Reply(Reply::default())
        }
        ["parts"] => Answer::Reply(parts(object["parts"].as_array().unwrap())),
        ["error"] => Answer::Failed(object["error"].as_str().unwrap().to_owned()),
        ["timeout"] => Answer::Failed("timed out".to_owned()),
        ["nothing"] => Answer::Nothing,
        other => panic!("unknown reply {other:?}"),
    }
}

fn parts(parts: &[Value]) -> Reply {
    let texts = |thought: bool| {
        let texts = parts.iter().filter(|part| {
            part.get("thought").is_some_and(|value| value.as_bool() == Some(true)) == thought
        });
        let texts: Vec<&str> =
            texts.filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    Reply { text: texts(false), thinking: texts(true), cut_off: None }
}
