//! Agents that answer with an empty text, in the way of each producer, and what is known of the agents.
//!
//! The last answer of every recording is removed wherever its trace has it, as text or inside of JSON text.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use serde_json::Value;

use super::{
    own,
    recording::{Recording, items, list},
};
use crate::support::Directory;

/// Instrumentations that write the calls of earlier rounds next to the text of the answer, so that a program gets no answer.
const WITH_CALLS: [&str; 2] = ["google-adk-openinference", "vercel-ai-7-otel"];

/// Recordings with the instructions in another place than a model call or an agent: in its history, in the description of a
/// program, or in an object that the framework serialized.
const ELSEWHERE: [&str; 3] =
    ["haystack-openinference_", "dspy-openinference-3.0.3_", "langgraph-js_"];

/// Levels of JSON text in JSON text.
const DEPTH: usize = 6;

/// Returns what JSON text has between its quotes.
fn escaped(text: &str, is_ascii: bool) -> String {
    let json = serde_json::to_string(text).unwrap();
    let inner = &json[1..json.len() - 1];
    if !is_ascii {
        return inner.to_owned();
    }
    let mut escaped = String::new();
    for character in inner.chars() {
        if character.is_ascii() {
            escaped.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            escaped += &format!("\\u{unit:04x}");
        }
    }
    escaped
}

/// Returns the number of the last turn whose answer was recorded, and the trace without it.
fn emptied(recording: &Recording) -> Option<(usize, String)> {
    let is_recorded = |turn: &Value| !items(&turn["unrecorded"]).iter().any(|part| part == "final");
    let turns = items(&recording.expected["turns"]);
    let number = turns.iter().rposition(is_recorded)?;
    let answer = turns[number]["final"].as_str().unwrap();
    let mut texts = vec![answer.to_owned()];
    for is_ascii in [true, false] {
        let mut text = answer.to_owned();
        for _ in 0..DEPTH {
            text = escaped(&text, is_ascii);
            texts.push(text.clone());
        }
    }
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut trace = fs::read_to_string(&recording.trace).unwrap();
    let before = trace.len();
    for text in texts {
        trace = trace.replace(&text, "");
    }
    assert!(trace.len() < before, "{} does not have {answer:?}", recording.name);
    Some((number, trace))
}

fn inspect(directory: &Directory, trace: &str) -> Value {
    let args = ["inspect", trace, "--group-by", "conversation", "-o", "json"];
    directory.evaluator(&args).exits(0).json()
}

/// Returns every turn of a result: its document, details and sources.
fn turns(inspected: &Value) -> Vec<[&Value; 3]> {
    let of = |conversation: &'_ Value, key: &str| items(&conversation[key]).len();
    let conversations = items(&inspected["conversations"]).iter();
    conversations
        .flat_map(|conversation| {
            (0..of(conversation, "invocations")).map(|number| {
                ["invocations", "details", "sources"].map(|key| &conversation[key][number])
            })
        })
        .collect()
}

#[test]
fn conversations_with_an_empty_answer_stay_evaluated() {
    let directory = Directory::new();
    let mut wrong = Vec::new();
    let mut emptied_count = 0;
    for recording in list(&own()) {
        let Some((number, trace)) = emptied(&recording) else { continue };
        emptied_count += 1;
        directory.file("t.json", trace);
        let inspected = inspect(&directory, "t.json");
        let user = &recording.expected["turns"][number]["user"];
        let wanted = items(&recording.expected["turns"]).len();
        let turns = turns(&inspected);
        // Turns in conversations of their own have no particular order.
        let of_user = turns.iter().find(|[document, ..]| document["user_content"] == *user);
        let turn = of_user.or_else(|| turns.get(number)).filter(|_| turns.len() == wanted);
        let Some([document, _, sources]) = turn else {
            wrong.push(format!("{}: {inspected}", recording.name));
            continue;
        };
        let has_calls = WITH_CALLS.iter().any(|name| recording.name.starts_with(name));
        let answer = &document["final_response"];
        let is_empty = answer == "" || (has_calls && answer.is_null());
        let unknown = items(&sources["unrecorded"]).iter().filter_map(Value::as_str);
        let is_unknown = unknown.into_iter().any(|part| part.starts_with("the answer"));
        if !is_empty || is_unknown {
            wrong.push(format!("{}: {answer}, {}", recording.name, sources["unrecorded"]));
        }
    }
    assert!(emptied_count > 300, "{emptied_count} recordings have an answer");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_instructions_of_a_recording_are_read() {
    const INSTRUCTIONS: &str = "You are a weather assistant";
    let directory = Directory::new();
    let mut wrong = Vec::new();
    for recording in list(&own()) {
        let trace = fs::read_to_string(&recording.trace).unwrap();
        let is_elsewhere = ELSEWHERE.iter().any(|name| recording.name.starts_with(name));
        if !trace.contains(INSTRUCTIONS) || is_elsewhere {
            continue;
        }
        let inspected = inspect(&directory, &recording.trace.to_string_lossy());
        let has = |[_, details, _]: &[&Value; 3]| {
            items(&details["agents"]).iter().any(|agent| {
                agent["instructions"].as_str().is_some_and(|it| it.contains(INSTRUCTIONS))
            })
        };
        if !turns(&inspected).iter().all(has) {
            wrong.push(recording.name);
        }
    }
    assert!(wrong.is_empty(), "not read: {wrong:?}");
}
