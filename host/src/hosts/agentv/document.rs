//! The document of a judge, with the keys of every generation of AgentV.
//!
//! Documents of AgentV name no version, and a judge is of any. Where generations use one key for different things, the
//! current one (4.36 and later) counts: `output` is the answer as text.

use std::collections::{BTreeMap, BTreeSet};

use super::{snake_case::snake_case, transcript};
use crate::{
    contract::{
        members::{count, elapsed, object, present, text},
        terms::Settings,
    },
    conversation::{Conversation, ToolCall},
    eval_set::EvalCase,
    json::{Object, Value},
};

pub(in crate::contract) fn document(
    settings: &Settings,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Value {
    let (input, output) = (transcript::input(conversation), transcript::output(conversation));
    let all: Vec<_> = input.iter().chain(&output).collect();
    let question = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
    let question = text(question.unwrap_or_default());
    let answer = conversation.turns.last().and_then(|turn| turn.final_text.as_deref());
    let said = text(answer.unwrap_or_default());
    let reference =
        case.and_then(|case| case.turns.last()?.final_text("")).map(|reference| text(&reference));
    let criteria = criteria(&settings.config);
    let expected = case.map_or_else(|| Value::Array(Vec::new()), transcript::expected);
    let summary = summary(conversation);
    let mut trace = summary.clone();
    trace.insert("messages".to_owned(), transcript::values(all.iter().copied()));
    trace.insert("events".to_owned(), transcript::events(&all));
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
        ("candidate_answer", Some(said.clone())),
        ("answer", Some(said.clone())),
        ("output_text", Some(said)),
        ("output", Some(answer.map_or(Value::Null, text))),
        ("input", Some(transcript::values(&input))),
        ("input_messages", Some(transcript::values(&input))),
        ("output_messages", Some(transcript::values(&output))),
        ("messages", Some(transcript::values(all.iter().copied()))),
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

/// What the answer has to achieve. AgentV has it for each case; here the entry's `config` may say it.
fn criteria(config: &Object) -> Option<Value> {
    let given = config.get("criteria").or_else(|| config.get("expected_outcome"));
    given.filter(|given| given.as_str().is_some()).cloned()
}

/// What a judge of any generation finds in `trace_summary`.
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

/// The tokens of all model calls; `None` where none were recorded.
fn token_usage(conversation: &Conversation) -> Option<Value> {
    let usages: Vec<_> = conversation
        .turns
        .iter()
        .flat_map(|turn| turn.llm_calls.iter().filter_map(|call| call.usage))
        .collect();
    if usages.is_empty() {
        return None;
    }
    let sum = |tokens: &dyn Fn(&crate::conversation::Usage) -> i64| {
        Value::Int(usages.iter().map(tokens).fold(0, i64::saturating_add))
    };
    Some(object([
        ("input", sum(&|usage| usage.input_tokens)),
        ("output", sum(&|usage| usage.output_tokens)),
        ("cached", sum(&|usage| usage.cache_read_tokens)),
    ]))
}
