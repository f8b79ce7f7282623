//! Questions, answers and tool calls as text.

use evaluator_json::Value;

use crate::{
    json_text::{object, pretty, text},
    model::{Message, Part, Test},
    output::Output,
};

/// Returns the question for prompts of judges, with the contents of files.
pub(super) fn question(test: &Test) -> String {
    formatted(&test.input, |given, _, text| format!("<file path=\"{given}\">\n{text}\n</file>"))
}

/// Returns the question for agents, which read files themselves.
pub(super) fn prompt(test: &Test, is_v2: bool) -> String {
    formatted(&test.input, |given, path, _| match is_v2 {
        true => format!("<file: path=\"{given}\">"),
        false => format!("<file: path=\"{path}\">"),
    })
}

/// Returns the question as programs get it: all text on one line.
pub(super) fn plain_question(test: &Test) -> String {
    let texts =
        test.input.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::Text(text) => Some(text.trim()),
            Part::File { .. } => None,
        });
    texts.collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn formatted(messages: &[Message], file: impl Fn(&str, &str, &str) -> String) -> String {
    let body = |message: &Message| {
        let parts = message.parts.iter().map(|part| match part {
            Part::Text(text) => text.trim().to_owned(),
            Part::File { given, path, text } => file(given, &path.to_string_lossy(), text),
        });
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    let bodies: Vec<(&str, String)> = messages
        .iter()
        .map(|message| (message.role(), body(message)))
        .filter(|(_, body)| !body.is_empty())
        .collect();
    match &bodies[..] {
        [(_, body)] if !has_turns(messages) => body.clone(),
        _ => {
            let turns =
                bodies.iter().map(|(role, body)| format!("@[{}]:\n{body}", capitalized(role)));
            turns.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Returns the question as the messages of AgentV's transcripts. `refers`: the agent reads files itself.
pub(super) fn messages(test: &Test, refers: bool) -> Vec<Value> {
    let message =
        |role: &str, content: &str| object([("role", text(role)), ("content", text(content))]);
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::File { path, .. } if refers => format!("<file: path=\"{}\">", path.display()),
        Part::File { given, text, .. } => {
            format!("<file path=\"{given}\">\n{}\n</file>", text.trim())
        }
    };
    let body = |message: &Message| message.parts.iter().map(part).collect::<Vec<_>>().join("\n");
    let bodies = test.input.iter().map(|message| (message.role(), body(message)));
    let bodies: Vec<(&str, String)> = bodies.filter(|(_, body)| !body.trim().is_empty()).collect();
    if bodies.len() <= 1 && !has_turns(&test.input) {
        let question = if refers { prompt(test, false) } else { question(test) };
        return vec![message("user", &question)];
    }
    let leading = bodies.iter().take_while(|(role, _)| *role == "system").count();
    let (system, others) = bodies.split_at(leading);
    let system: Vec<&str> = system.iter().map(|(_, body)| &**body).collect();
    let system = (leading > 0).then(|| message("system", &system.join("\n\n")));
    let others = others.iter().map(|(role, body)| match *role {
        "system" | "tool" => message("assistant", &format!("@[{}]:\n{body}", capitalized(role))),
        role => message(role, body),
    });
    system.into_iter().chain(others).collect()
}

/// Returns true if the agent has answered before.
fn has_turns(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message.role(), "assistant" | "tool"))
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// Returns the gold answer: the content of the last expected message, else its tool calls.
pub(super) fn reference(test: &Test) -> String {
    let Some(last) = test.expected.last() else { return String::new() };
    match last.value.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => last.value.get("tool_calls").map(pretty).unwrap_or_default(),
        Some(content) => pretty(content),
    }
}

/// Returns the tool calls, a line each.
pub(super) fn tool_calls(output: &Output) -> String {
    let line = |call: crate::output::ToolCall<'_>| match call
        .input
        .and_then(|input| detail(call.tool, input))
    {
        Some(detail) => format!("- {}: {detail}", call.tool),
        None => format!("- {}", call.tool),
    };
    output.tool_calls().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the argument that says what a call was for.
fn detail<'v>(tool: &str, input: &'v Value) -> Option<&'v str> {
    const LONGEST: usize = 120;
    let key = match tool {
        "Skill" => Some("skill"),
        "Read" | "Write" | "Edit" => Some("file_path"),
        "Bash" => Some("command"),
        "Grep" | "Glob" => Some("pattern"),
        _ => None,
    };
    if let Some(known) = key.and_then(|key| input.get(key)?.as_str()) {
        return Some(known);
    }
    let texts = input.as_object()?.values().filter_map(Value::as_str);
    texts.into_iter().find(|text| text.chars().count() <= LONGEST)
}
