//! The document of a judge, with the keys of every generation of AgentV.
//!
//! AgentV documents have no version, and a judge may be of any. Where generations use one key for different things, the
//! current meaning (4.36 and later) counts: `output` is the answer as text.
//!
//! AgentV documents contain the keys of all versions, because judges do not name theirs. Unknown values are absent and
//! not empty: an empty expected outcome is contained in every answer.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Settings,
    members::{count, elapsed, object, present, text},
};
use evaluator_protocol::agentv::in_snake_case;

use crate::{
    conversation::{Conversation, ToolCall, Turn, Usage},
    eval_set::{EvalCase, ExpectedTurn},
    json::{Object, Value},
};

pub(super) fn document(
    settings: &Settings,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Value {
    let (input, output) = (input(conversation), output(conversation));
    let all: Vec<_> = input.iter().chain(&output).collect();
    let question = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
    let question = text(question.unwrap_or_default());
    let answer = conversation.turns.last().and_then(|turn| turn.final_text.as_deref());
    let answer_text = text(answer.unwrap_or_default());
    let reference =
        case.and_then(|case| case.turns.last()?.final_text("")).map(|reference| text(&reference));
    let criteria = criteria(&settings.config);
    let expected = case.map_or_else(|| Value::Array(Vec::new()), expected_messages);
    let summary = summary(conversation);
    let mut trace = summary.clone();
    trace.insert("messages".to_owned(), values(all.iter().copied()));
    trace.insert("events".to_owned(), events(&all));
    let config = snake_case(&Value::Object(settings.config.clone()));
    let of_summary = |key: &str| Some(summary.get(key).cloned().unwrap_or_default());
    let none = || Some(Value::Array(Vec::new()));
    present([
        ("question", Some(question.clone())),
        ("input_text", Some(question)),
        ("criteria", criteria.clone()),
        ("expected_outcome", criteria),
        ("reference_answer", reference.clone()),
        ("expected_output_text", reference),
        ("candidate_answer", Some(answer_text.clone())),
        ("answer", Some(answer_text.clone())),
        ("output_text", Some(answer_text)),
        ("output", Some(answer.map_or(Value::Null, text))),
        ("input", Some(values(&input))),
        ("input_messages", Some(values(&input))),
        ("output_messages", Some(values(&output))),
        ("messages", Some(values(all.iter().copied()))),
        ("expected_output", Some(expected.clone())),
        ("expected_messages", Some(expected)),
        ("guideline_files", none()),
        ("input_files", none()),
        ("metadata", Some(Value::Null)),
        ("token_usage", of_summary("token_usage")),
        ("duration_ms", of_summary("duration_ms")),
        ("file_changes", Some(Value::Null)),
        ("workspace_path", Some(Value::Null)),
        ("config", Some(if settings.config.is_empty() { Value::Null } else { config })),
        ("trace", Some(Value::Object(trace))),
        ("trace_summary", Some(Value::Object(summary))),
    ])
}

/// Returns what the answer has to achieve. In AgentV each case has criteria; here the entry's `config` may contain them.
fn criteria(config: &Object) -> Option<Value> {
    let given = config.get("criteria").or_else(|| config.get("expected_outcome"));
    given.filter(|given| given.as_str().is_some()).cloned()
}

/// Returns the `trace_summary` of all generations.
fn summary(conversation: &Conversation) -> Object {
    let calls = || conversation.turns.iter().flat_map(|turn| &turn.tool_calls);
    let llm_calls = || conversation.turns.iter().flat_map(|turn| &turn.llm_calls);
    let mut by_name: BTreeMap<&str, Vec<&ToolCall>> = BTreeMap::new();
    for call in calls() {
        by_name.entry(&call.name).or_default().push(call);
    }
    let names: BTreeSet<&str> = by_name.keys().copied().collect();
    let counts = || {
        let counted = by_name.iter().map(|(name, calls)| ((*name).to_owned(), count(calls.len())));
        Value::Object(counted.collect())
    };
    let durations = by_name.iter().filter_map(|(name, calls)| {
        let spans: Vec<Value> = calls
            .iter()
            .filter_map(|call| call.span)
            .map(|(start, end)| elapsed(start, end, 1e6))
            .collect();
        (!spans.is_empty()).then(|| ((*name).to_owned(), Value::Array(spans)))
    });
    let took =
        conversation.turns.iter().map(|turn| turn.end_ns.saturating_sub(turn.start_ns).max(0));
    let failed = calls().filter(|call| call.is_error).count();
    let summary = present([
        ("event_count", Some(count(calls().count()))),
        ("tool_names", Some(Value::Array(names.into_iter().map(text).collect()))),
        ("tool_calls_by_name", Some(counts())),
        ("tool_calls", Some(counts())),
        ("error_count", Some(count(failed))),
        ("tool_durations", Some(Value::Object(durations.collect()))),
        ("llm_call_count", Some(count(llm_calls().count()))),
        ("token_usage", token_usage(conversation)),
        ("duration_ms", Some(elapsed(0, took.fold(0, i128::saturating_add), 1e6))),
    ]);
    match summary {
        Value::Object(summary) => summary,
        _ => Object::default(),
    }
}

/// Returns the tokens of all model calls; `None` if none were recorded.
fn token_usage(conversation: &Conversation) -> Option<Value> {
    let usages: Vec<_> = conversation
        .turns
        .iter()
        .flat_map(|turn| turn.llm_calls.iter().filter_map(|call| call.usage))
        .collect();
    if usages.is_empty() {
        return None;
    }
    let sum = |tokens: &dyn Fn(&Usage) -> i64| {
        Value::Int(usages.iter().map(tokens).fold(0, i64::saturating_add))
    };
    Some(object([
        ("input", sum(&|usage| usage.input_tokens)),
        ("output", sum(&|usage| usage.output_tokens)),
        ("cached", sum(&|usage| usage.cache_read_tokens)),
    ]))
}

/// A message of the transcript.
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    calls: &'a [ToolCall],
}

/// Returns the first message of the user, which is the input of the agent.
fn input(conversation: &Conversation) -> Vec<Message<'_>> {
    let first = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
    first.map(|text| Message::new("user", text)).into_iter().collect()
}

/// Returns the messages after the input: those of the agent, and those of the user in between.
fn output(conversation: &Conversation) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    for (index, turn) in conversation.turns.iter().enumerate() {
        if index > 0 {
            messages.push(Message::new("user", turn.user_text.as_deref().unwrap_or_default()));
        }
        messages.extend(agent_messages(turn));
    }
    messages
}

fn agent_messages(turn: &Turn) -> impl Iterator<Item = Message<'_>> {
    let calls = (!turn.tool_calls.is_empty()).then_some(Message {
        role: "assistant",
        content: None,
        calls: &turn.tool_calls,
    });
    let answer = turn.final_text.as_deref().map(|text| Message::new("assistant", text));
    calls.into_iter().chain(answer)
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self { role, content: Some(content), calls: &[] }
    }

    fn to_value(&self) -> Value {
        let calls = Value::Array(self.calls.iter().map(call).collect());
        present([
            ("role", Some(text(self.role))),
            ("content", self.content.map(text)),
            ("tool_calls", (!self.calls.is_empty()).then_some(calls)),
        ])
    }
}

/// Returns messages as JSON.
fn values<'a>(messages: impl IntoIterator<Item = &'a Message<'a>>) -> Value {
    Value::Array(messages.into_iter().map(Message::to_value).collect())
}

fn call(call: &ToolCall) -> Value {
    present([
        ("tool", Some(text(&call.name))),
        ("input", converted(&call.arguments)),
        ("output", converted(call.result.value())),
        ("id", call.call_id.as_deref().map(text)),
        ("duration_ms", call.span.map(|(start, end)| elapsed(start, end, 1e6))),
    ])
}

fn converted(value: &Value) -> Option<Value> {
    (!value.is_null()).then(|| snake_case(value))
}

/// Returns the expected messages of a golden case.
fn expected_messages(case: &EvalCase) -> Value {
    let mut messages = Vec::new();
    for (index, turn) in case.turns.iter().enumerate() {
        if index > 0 {
            messages.push(object([("role", text("user")), ("content", text(&turn.user_text()))]));
        }
        messages.extend(expected_agent_message(turn));
    }
    Value::Array(messages)
}

fn expected_agent_message(turn: &ExpectedTurn) -> Option<Value> {
    let calls: Vec<Value> = turn
        .tool_calls
        .iter()
        .map(|call| {
            let response = call.id.as_ref().and_then(|id| {
                turn.tool_responses.iter().find(|response| response.id.as_ref() == Some(id))
            });
            present([
                ("tool", Some(text(call.name.as_deref().unwrap_or_default()))),
                ("input", converted(&call.args)),
                ("output", response.and_then(|response| converted(&response.response))),
                ("id", call.id.as_deref().map(text)),
            ])
        })
        .collect();
    let answer = turn.final_text("");
    (answer.is_some() || !calls.is_empty()).then(|| {
        present([
            ("role", Some(text("assistant"))),
            ("content", answer.as_deref().map(text)),
            ("tool_calls", (!calls.is_empty()).then_some(Value::Array(calls))),
        ])
    })
}

/// Returns the trace events of messages.
fn events(messages: &[&Message<'_>]) -> Value {
    let mut events = Vec::new();
    let mut push = |id: String, parent: Option<&str>, members: [(&str, Option<Value>); 4]| {
        let [kind, message, tool, metadata] = members;
        events.push(present([
            ("event_id", Some(text(&id))),
            ("parent_event_id", parent.map(text)),
            ("ordinal", Some(count(events.len()))),
            kind,
            message,
            tool,
            metadata,
        ]));
    };
    for (index, message) in messages.iter().enumerate() {
        let id = format!("message-{index}");
        let spoken = Message { calls: &[], ..**message };
        push(id.clone(), None, event("message", Some(spoken.to_value()), None, index, None));
        for (at, call) in message.calls.iter().enumerate() {
            let tool_id = format!("{id}-tool-{at}");
            let called = Some(tool(call, true));
            push(tool_id.clone(), Some(&id), event("tool_call", None, called, index, Some(at)));
            let result = event("tool_result", None, Some(tool(call, false)), index, Some(at));
            push(format!("{tool_id}-result"), Some(&tool_id), result);
        }
    }
    if let Some((index, last)) = messages.iter().enumerate().next_back()
        && last.role == "assistant"
        && last.content.is_some()
    {
        let parent = format!("message-{index}");
        let members = event("final_response", Some(last.to_value()), None, index, None);
        push("final-response".to_owned(), Some(&parent), members);
    }
    Value::Array(events)
}

fn event(
    kind: &str,
    message: Option<Value>,
    tool: Option<Value>,
    index: usize,
    at: Option<usize>,
) -> [(&'static str, Option<Value>); 4] {
    let metadata = present([("message_index", Some(count(index))), ("tool_index", at.map(count))]);
    [("type", Some(text(kind))), ("message", message), ("tool", tool), ("metadata", Some(metadata))]
}

fn tool(call: &ToolCall, with_input: bool) -> Value {
    let status = match call.is_error {
        true => "error",
        false if call.result.is_null() => "unknown",
        false => "ok",
    };
    present([
        ("name", Some(text(&call.name))),
        ("call_id", call.call_id.as_deref().map(text)),
        ("input", converted(&call.arguments).filter(|_| with_input)),
        ("output", converted(call.result.value())),
        ("status", Some(text(status))),
    ])
}

/// Returns the value with every key in snake_case, as AgentV rewrites documents.
pub fn snake_case(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(snake_case).collect()),
        Value::Object(object) => Value::Object(
            object.iter().map(|(key, value)| (in_snake_case(key), snake_case(value))).collect(),
        ),
        other => other.clone(),
    }
}
