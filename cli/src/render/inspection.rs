//! Conversations as evaluators see them.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use evaluator_host::{
    conversation::{
        CallSources, Conversation, IntermediateText, RecordedAgent, Source, ToolCall,
        ToolDeclaration, Turn, TurnFailure,
    },
    json::{Value, count, object, to_line, to_pretty},
    run::{ConversationSource as _, Inspection, invocations},
};

use super::{counted, plain::one_line, words::cut};

/// Maximum number of shown characters of the arguments or the result of a tool.
const VALUE_CHARS: usize = 300;

/// Advice about a conversation without turns.
const ATTRIBUTES: &str = concat!(
    "see ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/reference/trace-attributes.md for the attributes that are read"
);

/// Writes each conversation, or the reason why it cannot be read. Returns the number of those that cannot be evaluated.
fn each(
    inspection: &Inspection,
    mut write: impl FnMut(usize, Result<Conversation, String>) -> io::Result<()>,
) -> io::Result<usize> {
    let mut unusable = 0;
    for number in 0..inspection.recordings.len() {
        let loaded = inspection.recordings.load(number).map_err(|error| error.to_string());
        let is_usable = loaded.as_ref().is_ok_and(|conversation| errors(conversation).is_empty());
        unusable += usize::from(!is_usable);
        write(number, loaded)?;
    }
    Ok(unusable)
}

/// Writes conversations as readable text. Returns the number of those that cannot be evaluated.
pub(crate) fn inspection_text(inspection: &Inspection, out: &mut dyn Write) -> io::Result<usize> {
    let mut turns = 0;
    let unusable = each(inspection, |number, loaded| {
        let mut text = String::new();
        match loaded {
            Ok(conversation) => {
                turns += conversation.turns.len();
                conversation_text(number, &conversation, &mut text);
            }
            Err(error) => {
                let id = inspection.recordings.trace_id(number);
                let id = one_line(&id);
                let _ = writeln!(text, "Conversation {}: trace {id}\n  error: {error}", number + 1);
            }
        }
        writeln!(out, "{text}")
    })?;
    let grouping = inspection.grouped_by;
    // That each trace is a conversation goes without saying, unless an attribute could join some.
    if grouping.is_by_conversation() || grouping.attributes().next().is_some() {
        writeln!(out, "Grouping: {grouping}")?;
    }
    let conversations = counted(inspection.recordings.len() as u64, "conversation");
    write!(out, "{conversations}, {}", counted(turns as u64, "turn"))?;
    if unusable > 0 {
        write!(out, ", {unusable} cannot be evaluated")?;
    }
    let left_out = inspection.left_out();
    if !left_out.is_empty() {
        write!(out, "; left out: {}", left_out.counted())?;
    }
    writeln!(out)?;
    Ok(unusable)
}

fn conversation_text(number: usize, conversation: &Conversation, text: &mut String) {
    let id = one_line(&conversation.trace_id);
    let _ = write!(text, "Conversation {}: trace {id}", number + 1);
    if let Some(case) = &conversation.case_id {
        let _ = write!(text, ", eval case {}", one_line(case));
    }
    text.push('\n');
    let mut described = String::new();
    for (number, turn) in conversation.turns.iter().enumerate() {
        turn_text(number, turn, &mut described, text);
    }
    for warning in &conversation.warnings {
        let _ = writeln!(text, "  warning: {}", one_line(warning));
    }
    for error in errors(conversation) {
        let _ = writeln!(text, "  error: {}", one_line(&error));
    }
}

/// Writes a turn. `described` is the text about the agents of the turn before, which is not repeated.
fn turn_text(number: usize, turn: &Turn, described: &mut String, text: &mut String) {
    let _ = write!(text, "  Turn {} (span {}", number + 1, one_line(&turn.span_id));
    if let Some(agent) = &turn.agent_name {
        let _ = write!(text, ", agent {}", one_line(agent));
    }
    let _ = writeln!(text, ", {})", counted(turn.llm_calls.len() as u64, "model call"));
    let agents = agents_text(&turn.agents);
    if agents != *described {
        text.push_str(&agents);
        *described = agents;
    }
    let text_of = |recorded: &Option<String>| match recorded.as_deref() {
        None => "(no text was recorded)".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(recorded) => indented(recorded),
    };
    let _ = writeln!(text, "    user: {}", text_of(&turn.user_text));
    sources_text([("", &turn.user_source)], text);
    let said = |after_calls: usize, text: &mut String| {
        for said in turn.texts.iter().filter(|said| said.after_calls == after_calls) {
            let _ = writeln!(text, "    text: {}", indented(&said.text));
            sources_text([("", &said.source)], text);
        }
    };
    said(0, text);
    for (index, call) in turn.tool_calls.iter().enumerate() {
        let _ = writeln!(text, "    tool: {}", call_text(call));
        let CallSources { name, arguments, result, .. } = &call.sources;
        sources_text([("name", name), ("arguments", arguments), ("result", result)], text);
        said(index + 1, text);
    }
    let _ = writeln!(text, "    answer: {}", text_of(&turn.final_text));
    sources_text([("", &turn.final_source)], text);
    if let Some(failure) = &turn.failure {
        let _ = writeln!(text, "    failed: {}", one_line(&failure.to_string()));
    }
    for unknown in &turn.unrecorded {
        let _ = writeln!(text, "    unknown: {unknown}");
    }
}

/// Returns the lines about the instructions and the tools of agents.
fn agents_text(agents: &[RecordedAgent]) -> String {
    let mut text = String::new();
    for agent in agents {
        let whose = agent.name.as_deref().filter(|_| agents.len() > 1);
        let whose = whose.map(|name| format!(" of {}", one_line(name))).unwrap_or_default();
        if let Some(instructions) = &agent.instructions {
            let _ = writeln!(text, "    instructions{whose}: {}", indented(instructions));
            sources_text([("", &agent.instructions_source)], &mut text);
        }
        if !agent.tools.is_empty() {
            let names: Vec<_> = agent.tools.iter().map(|tool| one_line(&tool.name)).collect();
            let _ = writeln!(text, "    declared tools{whose}: {}", names.join(", "));
            sources_text([("", &agent.tools_source)], &mut text);
        }
    }
    text
}

/// Writes a line for each source of some parts, with the names of its parts.
fn sources_text<const N: usize>(parts: [(&str, &Option<Source>); N], text: &mut String) {
    let mut lines: Vec<(&Source, Vec<&str>)> = Vec::new();
    for (name, source) in parts {
        let Some(source) = source else { continue };
        match lines.iter_mut().find(|(known, _)| *known == source) {
            Some((_, names)) => names.push(name),
            None => lines.push((source, vec![name])),
        }
    }
    for (Source { span_id, attribute, .. }, names) in lines {
        let names = names.join(", ");
        let space = if names.is_empty() { "" } else { " " };
        let _ = writeln!(text, "      {names}{space}from {attribute}, span {}", one_line(span_id));
    }
}

fn source(source: &Option<Source>) -> Value {
    source.as_ref().map_or(Value::Null, |Source { trace_id, span_id, attribute }| {
        object([
            ("trace_id", Value::String(trace_id.to_string())),
            ("span_id", Value::String(span_id.clone())),
            ("attribute", Value::String((*attribute).to_owned())),
        ])
    })
}

/// Returns the parts of a turn that are in no document: texts before the answer, and agents.
fn turn_details(turn: &Turn) -> Value {
    let optional = |text: &Option<String>| text.clone().map_or(Value::Null, Value::String);
    let said = |said: &IntermediateText| {
        object([
            ("text", Value::String(said.text.clone())),
            ("after_calls", count(said.after_calls)),
            ("source", source(&said.source)),
        ])
    };
    let tool = |tool: &ToolDeclaration| {
        object([
            ("name", Value::String(tool.name.clone())),
            ("description", optional(&tool.description)),
            ("parameters", tool.parameters.clone()),
        ])
    };
    let agent = |agent: &RecordedAgent| {
        let (instructions, tools) =
            (source(&agent.instructions_source), source(&agent.tools_source));
        object([
            ("name", optional(&agent.name)),
            ("instructions", optional(&agent.instructions)),
            ("tools", Value::Array(agent.tools.iter().map(tool).collect())),
            ("sources", object([("instructions", instructions), ("tools", tools)])),
        ])
    };
    object([
        ("texts", Value::Array(turn.texts.iter().map(said).collect())),
        ("agents", Value::Array(turn.agents.iter().map(agent).collect())),
    ])
}

/// Returns where the parts of a turn were recorded, `null` for parts that were not, and the failure of the turn.
fn turn_sources(turn: &Turn) -> Value {
    let call = |call: &ToolCall| {
        let CallSources { name, arguments, result, .. } = &call.sources;
        let (arguments, result) = (source(arguments), source(result));
        object([("name", source(name)), ("arguments", arguments), ("result", result)])
    };
    let failure = |TurnFailure { message, span }: &TurnFailure| {
        object([("message", (**message).into()), ("span", (**span).into())])
    };
    object([
        ("user_content", source(&turn.user_source)),
        ("final_response", source(&turn.final_source)),
        ("tool_calls", Value::Array(turn.tool_calls.iter().map(call).collect())),
        ("failure", turn.failure.as_ref().map_or(Value::Null, failure)),
        ("unrecorded", texts(turn.unrecorded.iter().map(ToString::to_string))),
    ])
}

fn call_text(call: &ToolCall) -> String {
    let value = |value: &Value| {
        let text = to_line(value);
        cut(&one_line(&text), VALUE_CHARS).into_owned()
    };
    let failed = if call.is_error { " (failed)" } else { "" };
    let result = match call.result.is_null() {
        true => "(no result was recorded)".to_owned(),
        false => value(call.result.value()),
    };
    format!("{} {} -> {result}{failed}", one_line(&call.name), value(&call.arguments))
}

/// Returns the reasons why a conversation cannot be evaluated.
fn errors(conversation: &Conversation) -> Vec<String> {
    let mut errors = conversation.errors.clone();
    if errors.is_empty() && conversation.turns.is_empty() {
        let why = conversation.why_no_turns().map(|why| format!(": {why}")).unwrap_or_default();
        errors.push(format!("no turns were found{why}; {ATTRIBUTES}"));
    }
    errors
}

/// Indents the lines of a recorded text, so that none looks like a line of the report.
fn indented(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(one_line).collect();
    lines.join("\n      ")
}

/// Writes conversations as one JSON document, one at a time. Returns the number of those that cannot be evaluated.
pub(crate) fn inspection_json(inspection: &Inspection, out: &mut dyn Write) -> io::Result<usize> {
    write!(out, "{{\n  \"conversations\": [")?;
    let unusable = each(inspection, |number, loaded| {
        let conversation = match loaded {
            Ok(conversation) => conversation_json(&conversation),
            Err(error) => object([
                ("trace_id", Value::String(inspection.recordings.trace_id(number).to_string())),
                ("errors", texts([error])),
            ]),
        };
        let separator = if number > 0 { "," } else { "" };
        write!(out, "{separator}\n    {}", nested(&conversation, "    "))
    })?;
    let grouping = inspection.grouped_by;
    let grouping = object([
        ("by", Value::String(grouping.name().to_owned())),
        ("reason", Value::String(grouping.to_string())),
        ("attributes", texts(grouping.attributes().map(str::to_owned))),
    ]);
    let left_out = inspection.left_out();
    let left_out = left_out.counts().map(|(part, count)| (part, Value::Int(count as i64)));
    let rest = [
        ("errors", texts(inspection.errors.iter().map(ToString::to_string))),
        ("left_out", object(left_out)),
        ("grouping", grouping),
    ];
    write!(out, "{}", if inspection.recordings.is_empty() { "]" } else { "\n  ]" })?;
    for (key, value) in rest {
        write!(out, ",\n  \"{key}\": {}", nested(&value, "  "))?;
    }
    writeln!(out, "\n}}")?;
    Ok(unusable)
}

fn conversation_json(conversation: &Conversation) -> Value {
    let case = conversation.case_id.clone().map_or(Value::Null, Value::String);
    object([
        ("trace_id", Value::String(conversation.trace_id.to_string())),
        ("case_id", case),
        ("num_invocations", count(conversation.turns.len())),
        ("invocations", invocations(conversation)),
        ("details", Value::Array(conversation.turns.iter().map(turn_details).collect())),
        ("sources", Value::Array(conversation.turns.iter().map(turn_sources).collect())),
        ("conversion_warnings", texts(conversation.warnings.iter().cloned())),
        ("errors", texts(errors(conversation))),
    ])
}

fn texts(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

/// Formats JSON with all lines but the first indented; line feeds in its strings are escaped.
fn nested(value: &Value, indent: &str) -> String {
    to_pretty(value).replace('\n', &format!("\n{indent}"))
}
