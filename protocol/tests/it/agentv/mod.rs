//! Documents of AgentV, of every generation: detected, read, converted and answered.

mod answers;
mod conversion;
mod mutations;
mod reading;

use evaluator_protocol::{
    Contract, DecodeErrorKind, Document, EvalResult, EvalStatus, Reply, Score,
    agentv::{Assertion, CodeJudgeInput, CodeJudgeResult, Role, ToolStatus, TraceSummary},
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Payloads captured from AgentV; those called `constructed` are made of the keys that versions in between are known to have.
const SAMPLES: [(&str, &str); 10] = [
    ("v2.5.1", include_str!("../../data/agentv/v2.5.1-stdin.json")),
    ("constructed v2.9", include_str!("../../data/agentv/constructed-v2.9-stdin.json")),
    ("constructed v3.6", include_str!("../../data/agentv/constructed-v3.6-stdin.json")),
    ("constructed v4.25", include_str!("../../data/agentv/constructed-v4.25-stdin.json")),
    ("v4.42.4", include_str!("../../data/agentv/v4.42.4-stdin.json")),
    ("v5", include_str!("../../data/agentv/v5-head-stdin.json")),
    ("workspace", include_str!("../../data/agentv/v4.42.4-stdin-workspace-multimodal.json")),
    ("output path", include_str!("../../data/agentv/v4.42.4-stdin-output-path.json")),
    ("pipeline grade", include_str!("../../data/agentv/v4.42.4-stdin-pipeline-grade.json")),
    ("eval assert", include_str!("../../data/agentv/v4.42.4-stdin-eval-assert.json")),
];

/// The first six are of the same conversation.
const SAME: usize = 6;

fn read(text: &str) -> CodeJudgeInput {
    CodeJudgeInput::from_json(text.as_bytes()).unwrap()
}

fn sample(name: &str) -> CodeJudgeInput {
    read(SAMPLES.iter().find(|(other, _)| *other == name).unwrap().1)
}

fn object(text: &str) -> serde_json::Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

/// As it reads after all its keys were put in camelCase.
fn in_camel_case(value: Value) -> Value {
    let camel = |key: String| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            let mut letters = word.chars();
            let upper = letters.next().map(|letter| letter.to_ascii_uppercase());
            name + &upper.into_iter().chain(letters).collect::<String>()
        })
    };
    match value {
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (camel(key), in_camel_case(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(in_camel_case).collect(),
        other => other,
    }
}

/// Any JSON, small.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!("assistant")),
        Just(json!("text")),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "role",
            "content",
            "tool_calls",
            "tool",
            "input",
            "output",
            "type",
            "text",
            "value",
            "events",
            "messages",
            "event_count",
            "tool_durations",
            "metadata",
            "message_index",
            "status",
            "score",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,3}",
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}
