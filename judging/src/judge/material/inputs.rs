//! Texts that are put into prompts.

use evaluator_json::{Object, Value, count, object, to_indented, to_python_in_order};
use indexmap::IndexSet;

use super::{Agent, Call, Content, Event, JudgedTurn, Part, Response, Steps, adk::snake_case};

/// Text in place of declarations of tools.
pub(in crate::judge) const NO_TOOLS: &str = "The agent declares no tools.";

/// Text in place of tool calls.
pub(in crate::judge) const NO_STEPS: &str = "The agent called no tools.";

/// Text in place of grounding metadata.
pub(in crate::judge) const NO_GROUNDING: &str = "No sources were recorded.";

/// Returns the answer, after the texts before it if `intermediate` is true; empty if there is none.
pub(in crate::judge) fn response(turn: &JudgedTurn, intermediate: bool) -> String {
    let mut texts: Vec<String> = Vec::new();
    if intermediate {
        let before: Vec<&Content> = match &turn.steps {
            Steps::Unknown => Vec::new(),
            Steps::Events(events) => {
                events.iter().filter_map(|event| event.content.as_ref()).collect()
            }
            Steps::Unordered { texts, .. } => texts.iter().collect(),
        };
        texts.extend(before.into_iter().filter_map(Content::text));
    }
    texts.extend(turn.answer_text());
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

/// Returns the instructions of the agent that acted first, or of the first agent if none acted.
///
/// # Errors
///
/// The agent that acted first is not among the known agents.
pub(in crate::judge) fn developer_instructions(turn: &JudgedTurn) -> Result<String, String> {
    let Some(agents) = &turn.agents else { return Ok(String::new()) };
    let Some(first) = turn.steps.events().first() else {
        return Ok(agents.first().map(|agent| agent.instructions.clone()).unwrap_or_default());
    };
    let agent = agents.iter().find(|agent| agent.name == first.author);
    let agent = agent.ok_or_else(|| {
        format!("turn {} has a step of the agent `{}`, which is not known", turn.id, first.author)
    })?;
    Ok(agent.instructions.clone())
}

/// Returns the declared tools of each agent as JSON.
pub(in crate::judge) fn tool_declarations(agents: Option<&[Agent]>) -> String {
    let Some(agents) = agents else { return NO_TOOLS.to_owned() };
    let tools = agents.iter().map(|agent| {
        let tools = agent.tools.iter().map(|tool| declared(tool, false));
        (agent.name.as_str(), Value::Array(tools.collect()))
    });
    to_indented(&object([("tool_declarations", object(tools))]))
}

/// Members whose values are data of the author, not declarations.
const RAW: [&str; 6] =
    ["default", "enum", "example", "parameters_json_schema", "required", "response_json_schema"];

/// Returns a declaration with its keys in snake case and sorted. Names that the author chose stay as they are.
fn declared(value: &Value, names_are_chosen: bool) -> Value {
    match value {
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| declared(item, false)).collect())
        }
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members
                .iter()
                .filter(|(_, value)| names_are_chosen || !value.is_null())
                .map(|(key, value)| {
                    let key = if names_are_chosen { key.clone() } else { snake_case(key) };
                    let value = if !names_are_chosen && RAW.contains(&key.as_str()) {
                        value.clone()
                    } else {
                        declared(
                            value,
                            !names_are_chosen && matches!(key.as_str(), "properties" | "defs"),
                        )
                    };
                    (key, value)
                })
                .collect();
            if !names_are_chosen {
                members.sort_by(|a, b| a.0.cmp(&b.0));
            }
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

fn call(call: &Call) -> Value {
    let members = [
        ("id", call.id.clone().map_or(Value::Null, Value::String)),
        ("args", call.args.clone()),
        ("name", call.name.clone().map_or(Value::Null, Value::String)),
    ];
    object(members.into_iter().filter(|(_, value)| !value.is_null()))
}

fn tool_response(response: &Response) -> Value {
    let members = [
        ("id", response.id.clone().map_or(Value::Null, Value::String)),
        ("name", response.name.clone().map_or(Value::Null, Value::String)),
        ("response", response.response.clone()),
    ];
    object(members.into_iter().filter(|(_, value)| !value.is_null()))
}

/// Returns the tool calls with their responses as JSON.
pub(in crate::judge) fn steps(turn: &JudgedTurn) -> String {
    let (calls, responses): (Vec<&Call>, Vec<&Response>) = match &turn.steps {
        Steps::Unknown => (Vec::new(), Vec::new()),
        Steps::Events(events) => {
            let contents = || events.iter().filter_map(|event| event.content.as_ref());
            (
                contents().flat_map(Content::calls).collect(),
                contents().flat_map(Content::responses).collect(),
            )
        }
        Steps::Unordered { calls, responses, .. } => {
            (calls.iter().collect(), responses.iter().collect())
        }
    };
    if calls.is_empty() {
        return NO_STEPS.to_owned();
    }
    // ADK gives every call without an id the last response without one, so that a judge sees the result of another tool.
    let mut unnamed: Vec<&&Response> = responses.iter().filter(|it| it.id.is_none()).collect();
    let steps = calls.into_iter().enumerate().map(|(step, made)| {
        let response = match made.id {
            Some(_) => responses.iter().rfind(|response| response.id == made.id),
            None => {
                let next = unnamed.iter().position(|response| response.name == made.name);
                next.map(|index| unnamed.remove(index))
            }
        };
        object([
            ("step", count(step)),
            ("tool_call", call(made)),
            ("tool_response", response.map_or("None".into(), |response| tool_response(response))),
        ])
    });
    to_indented(&object([("tool_calls_and_response", Value::Array(steps.collect()))]))
}

/// Returns the tool calls, a line each.
pub(in crate::judge) fn tool_calls(turn: &JudgedTurn) -> String {
    let contents = turn.steps.events().iter().filter_map(|event| event.content.as_ref());
    let lines = contents.flat_map(Content::calls).map(|call| {
        format!("- {}({})", call.name.as_deref().unwrap_or("None"), members(&call.args))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { NO_STEPS.to_owned() } else { lines.join("\n") }
}

/// Returns the sources that models searched as JSON.
pub(in crate::judge) fn grounding(events: &[Event]) -> String {
    let searched = events.iter().enumerate().filter_map(|(step, event)| {
        let grounding = event.grounding.as_ref()?;
        Some(object([
            ("step", count(step)),
            ("author", event.author.as_str().into()),
            ("grounding_metadata", declared(grounding, false)),
        ]))
    });
    let searched: Vec<Value> = searched.collect();
    if searched.is_empty() {
        return NO_GROUNDING.to_owned();
    }
    to_indented(&object([("grounding_metadata", Value::Array(searched))]))
}

/// Returns everything that a text of the turn may rest on: the text that event number `event` has, or the answer if there is
/// no event of that number. Only sources that were searched until then count.
pub(in crate::judge) fn context(turn: &JudgedTurn, event: usize) -> String {
    let events = turn.steps.events();
    let agents = turn.agents.as_deref().unwrap_or_default();
    let instructed = agents.iter().filter(|agent| !agent.instructions.is_empty());
    let instructions: Vec<String> =
        instructed.map(|agent| format!("{}:\n{}", agent.name, agent.instructions)).collect();
    let searched = &events[..events.len().min(event + 1)];
    let mut sections = vec![
        format!("Developer instructions:\n{}\n", instructions.join("\n\n")),
        format!(
            "User prompt:\n{}\n",
            marked(&turn.user_text().unwrap_or_else(|| "None".to_owned()))
        ),
        format!("Tool definitions:\n{}\n", tool_declarations(turn.agents.as_deref())),
        format!("Grounding metadata:\n{}\n", grounding(searched)),
    ];
    let before = events.iter().take(event);
    for content in before.filter_map(|event| event.content.as_ref()) {
        let text = content.texts().join("\n");
        if !text.is_empty() {
            sections.push(format!("{}\n", marked(&text)));
        }
        let calls: Vec<Value> = content.calls().map(call).collect();
        let outputs: Vec<Value> = content.responses().map(tool_response).collect();
        for (title, items) in [("tool_calls", calls), ("tool_outputs", outputs)] {
            if !items.is_empty() {
                sections.push(format!("{title}:\n{}\n", to_indented(&Value::Array(items))));
            }
        }
    }
    sections.join("\n")
}

/// Mark of the lines of a message among lines that are not its author's: without it, a text could go on as the message of
/// another speaker, or as the response of a tool.
const MARK: &str = "> ";

/// Characters that begin another line, as Unicode has them.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns a text with the mark before each of its lines.
pub(in crate::judge) fn marked(text: &str) -> String {
    format!("{MARK}{}", continued(text))
}

/// Returns a text with the mark before each of its lines but the first one.
pub(in crate::judge) fn continued(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    lines.split(BREAKS).collect::<Vec<_>>().join(&format!("\n{MARK}"))
}

/// Returns a whole conversation: each message and tool call begins a line, and the further lines of a message have a mark.
pub(in crate::judge) fn dialogue(turns: &[JudgedTurn]) -> String {
    let mut lines = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let number = index + 1;
        let said = |content: &Content| continued(&content.texts().join(" "));
        if let Some(text) = turn.user.as_ref().map(said).filter(|text| !text.is_empty()) {
            lines.push(format!("USER TURN {number}: {text}"));
        }
        for event in turn.steps.events() {
            let who = speaker(&event.author, number);
            let Some(content) = &event.content else { continue };
            let text = said(content);
            if !text.is_empty() {
                lines.push(format!("{who}: {text}"));
            }
            lines.extend(content.parts.iter().filter_map(|part| acted(part, &who)));
        }
        if let Some(text) = turn.answer.as_ref().map(said).filter(|text| !text.is_empty()) {
            let first = turn.steps.events().first();
            let author = first.map_or("agent", |event| event.author.as_str());
            lines.push(format!("AGENT ({author}) TURN {number}: {text}"));
        }
    }
    lines.join("\n")
}

/// Returns the line of a tool call or a tool response.
fn acted(part: &Part, who: &str) -> Option<String> {
    match part {
        Part::Call(call) => {
            let name = call.name.as_deref().unwrap_or("None");
            Some(format!("{who} (tool call): {name}({})", members(&call.args)))
        }
        Part::Response(output) => {
            let name = output.name.as_deref().unwrap_or("None");
            Some(format!("{who} (tool output): {name} -> {}", members(&output.response)))
        }
        Part::Text(_) | Part::Other => None,
    }
}

fn speaker(author: &str, number: usize) -> String {
    if author.eq_ignore_ascii_case("user") {
        format!("USER TURN {number}")
    } else {
        format!("AGENT ({author}) TURN {number}")
    }
}

/// Returns an object as JSON on one line, an empty one if there is none.
fn members(value: &Value) -> String {
    match value {
        Value::Null => to_python_in_order(&Value::Object(Object::default())),
        other => to_python_in_order(other),
    }
}

/// Returns the agents of all turns; an agent of several turns is there several times.
fn agents(turns: &[JudgedTurn]) -> impl Iterator<Item = &Agent> {
    turns.iter().filter_map(|turn| turn.agents.as_ref()).flatten()
}

/// Joins texts, each of which appears once.
fn join_unique(texts: impl IntoIterator<Item = String>, separator: &str) -> String {
    texts.into_iter().collect::<IndexSet<String>>().into_iter().collect::<Vec<_>>().join(separator)
}

/// Returns the instructions of all agents of a conversation.
pub(in crate::judge) fn agent_instructions(turns: &[JudgedTurn]) -> String {
    let blocks = agents(turns)
        .map(|agent| format!("Agent {} Instructions:\n{}", agent.name, agent.instructions));
    join_unique(blocks, "\n\n")
}

/// Returns the tools of all agents of a conversation. ADK lists each line once, also if agents share a tool.
pub(in crate::judge) fn agent_definitions(turns: &[JudgedTurn]) -> String {
    let mut lines = Vec::new();
    for agent in agents(turns) {
        lines.push(format!("Agent: {}", agent.name));
        for tool in &agent.tools {
            let tool = declared(tool, false);
            let declarations = tool.get("function_declarations").and_then(Value::as_array);
            for function in declarations.unwrap_or_default() {
                let text = |key| function.get(key).and_then(Value::as_str).unwrap_or("None");
                lines.push(format!("- {}: {}", text("name"), text("description")));
            }
        }
    }
    join_unique(lines, "\n")
}
