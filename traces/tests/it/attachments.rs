//! Images and files in messages, in recordings of real instrumentations.

use std::{fs, path::Path};

use serde_json::{Value, json};

use evaluator_traces::{
    conversation::{Attachment, GroupBy, Turn, extract},
    trace::{TraceFormats, load_text},
};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Returns the only turn of a recording that has text.
fn turn(name: &str) -> Turn {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/attachments").join(name);
    let text = fs::read_to_string(&path).expect("a recording");
    let loaded = load_text(&text, &path, &TraceFormats::default()).expect("a trace");
    let conversations = extract(&loaded.traces, GroupBy::Trace, false);
    // The client of Anthropic records its requests as traces of their own, without content.
    let turns = conversations.into_iter().flat_map(|it| it.turns);
    let mut turns: Vec<Turn> = turns.filter(|turn| turn.user_text.is_some()).collect();
    assert_eq!(turns.len(), 1, "{name}");
    turns.remove(0)
}

fn described(it: &Attachment) -> String {
    let Attachment { kind, media_type, name, url, size, data } = it;
    let data = data.as_deref().map(|data| if data == PNG { "the pixel" } else { data });
    let texts = [Some(kind.as_str()), media_type.as_deref(), name.as_deref(), url.as_deref(), data];
    let size = size.map(|size| format!("{size} bytes"));
    texts.into_iter().flatten().map(str::to_owned).chain(size).collect::<Vec<_>>().join(", ")
}

#[test]
fn images_of_the_user_are_attachments_of_the_turn_and_not_text() {
    const IMAGE: &str = "image, image/png, the pixel, 70 bytes";
    const LINK: &str = "image, https://example.com/b.png";
    for (name, expected) in [
        ("openai-openinference.json", &[IMAGE, LINK][..]),
        ("openai-openinference-responses.json", &[IMAGE]),
        ("anthropic-openinference.json", &[IMAGE, LINK]),
        ("anthropic-traceloop.json", &[IMAGE, LINK]),
        ("pydantic-ai.json", &[IMAGE, "image, image/png, https://example.com/b.png"]),
        (
            "vercel-ai-5.json",
            &[IMAGE, "image, https://example.com/b.png", "file, application/pdf, a.pdf, 18 bytes"],
        ),
    ] {
        let turn = turn(name);
        let found: Vec<String> = turn.user_attachments.iter().map(described).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(turn.user_text.as_deref(), Some("What is this?"), "{name}");
        assert_eq!(turn.final_text.as_deref(), Some("A red dot."), "{name}");
        assert!(turn.final_attachments.is_empty(), "{name}");
    }
}

/// Returns the attachments of a turn: those before the user's message, of the user, of the steps, and of the answer.
fn all(turn: &Turn) -> [Vec<String>; 4] {
    let Turn { earlier_attachments, user_attachments, .. } = turn;
    let Turn { step_attachments, final_attachments, .. } = turn;
    let lists = [earlier_attachments, user_attachments, step_attachments, final_attachments];
    lists.map(|list| list.iter().map(|it| it.url.clone().unwrap_or_default()).collect())
}

/// Returns the turns of model calls with these inputs; each is a trace of the same conversation.
fn turns(inputs: &[&Value]) -> Vec<Turn> {
    let mut text = String::new();
    for (number, input) in inputs.iter().enumerate() {
        let attribute =
            |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
        let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": format!("answer {number}")}, image(&format!("drawn-{number}"))]}]);
        let span = json!({
            "traceId": format!("{:032x}", number + 1), "spanId": format!("{:016x}", number + 1), "name": "chat",
            "startTimeUnixNano": (number * 10 + 1).to_string(), "endTimeUnixNano": (number * 10 + 5).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "chat".to_owned()),
                attribute("gen_ai.conversation.id", "one".to_owned()),
                attribute("gen_ai.input.messages", input.to_string()),
                attribute("gen_ai.output.messages", answer.to_string()),
            ],
        });
        text += &format!("{span}\n");
    }
    let loaded = load_text(&text, Path::new("t.jsonl"), &TraceFormats::default()).expect("a trace");
    let conversations = extract(&loaded.traces, GroupBy::Conversation, false);
    conversations.into_iter().flat_map(|it| it.turns).collect()
}

fn image(name: &str) -> Value {
    json!({"type": "uri", "modality": "image", "uri": name})
}

fn said(role: &str, text: &str, images: &[&str]) -> Value {
    let text = json!({"type": "text", "content": text});
    let parts: Vec<Value> = [text].into_iter().chain(images.iter().map(|it| image(it))).collect();
    json!({"role": role, "parts": parts})
}

#[test]
fn images_of_tools_and_of_earlier_messages_are_attachments_of_the_turn() {
    let call = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "draw", "arguments": {}}]});
    let result = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "drawn"}, image("of-tool")]});
    // Some libraries give images of tools to the model in a message of the user.
    let handed = json!({"role": "user", "parts": [image("handed-on")]});
    let first = [said("user", "Like this?", &["shown"]), call, result, handed];
    let history = json!([said("user", "Hello", &["long-ago"]), said("assistant", "Hi", &[])]);
    let mut input = history.as_array().cloned().unwrap_or_default();
    input.extend(first);
    let mut second = input.clone();
    second.push(said("assistant", "answer 0", &["drawn-0"]));
    second.push(said("user", "And now?", &["new"]));
    let turns = turns(&[&Value::Array(input), &Value::Array(second)]);
    let names = |lists: [&[&str]; 4]| {
        lists.map(|it| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    };
    let found: Vec<_> = turns.iter().map(all).collect();
    let expected = [
        names([&["long-ago"], &["shown"], &["of-tool", "handed-on"], &["drawn-0"]]),
        // The history of the first turn is not that of the second one again.
        names([&[], &["new"], &[], &["drawn-1"]]),
    ];
    assert_eq!(found, expected);
}
