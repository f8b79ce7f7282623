//! Tests of the operators, on small conversations.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod operators;
mod samples;

use std::sync::Arc;

use evaluator_json::{Value, parse_python, to_python};
use evaluator_mutation::{Mutation, Operator, Site, Subject};
use evaluator_traces::{
    conversation::{Conversation, PerformanceMetrics, ToolCall, Turn},
    eval_set::{EvalCase, ExpectedCall, ExpectedTurn},
};

fn json(text: &str) -> Value {
    parse_python(text).unwrap()
}

fn call(name: &str, arguments: &str, result: &str) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        call_id: Some(format!("{name}-id")),
        arguments: json(arguments),
        result: json(result).into(),
        ..ToolCall::default()
    }
}

/// Two turns: one with two calls, and one without any.
fn conversation() -> Conversation {
    let mut performance = PerformanceMetrics::default();
    performance.counts.tool_calls = 2;
    let turn = |number: usize, question: &str, answer: &str, tool_calls: Vec<ToolCall>| Turn {
        trace_id: "trace".into(),
        span_id: format!("span-{number}"),
        user_text: Some(question.to_owned()),
        final_text: Some(answer.to_owned()),
        tool_calls,
        start_ns: 1,
        end_ns: 2,
        ..Turn::default()
    };
    let calls = vec![
        call("search", r#"{"city": "Bern", "people": 2}"#, r#"{"free": true, "at": "19:00"}"#),
        call("book", r#"{"date": "2026-12-31", "vip": false}"#, r#""done""#),
    ];
    Conversation {
        trace_id: Arc::from("trace"),
        file: "t.jsonl".into(),
        turns: vec![
            turn(1, "Book a table for 2.", "Your table is booked for 2 at 19:00.", calls),
            turn(2, "Thanks!", "You are welcome.", vec![]),
        ],
        case_id: None,
        labels: Default::default(),
        warnings: vec![],
        errors: vec![],
        operations: vec![],
        dropped_copies: 0,
        performance: Some(performance),
    }
}

/// A case with the golden answers and calls of the conversation.
fn golden() -> EvalCase {
    let recorded = conversation();
    let turn = |turn: &Turn| ExpectedTurn {
        user_parts: turn.user_text.clone().into_iter().collect(),
        final_parts: turn.final_text.clone().map(|text| vec![text]),
        tool_calls: turn
            .tool_calls
            .iter()
            .map(|call| ExpectedCall {
                id: None,
                name: Some(call.name.clone()),
                args: call.arguments.clone(),
            })
            .collect(),
        ..ExpectedTurn::default()
    };
    EvalCase {
        id: "case".to_owned(),
        turns: recorded.turns.iter().map(turn).collect(),
        ..EvalCase::default()
    }
}

/// What evaluators see of a conversation.
fn seen(conversation: &Conversation) -> String {
    let turn = |turn: &Turn| {
        let call = |call: &ToolCall| {
            let (arguments, result) =
                (to_python_raw(&call.arguments), to_python_raw(call.result.value()));
            format!("{} {:?} {arguments} {result} {}", call.name, call.call_id, call.is_error)
        };
        let calls: Vec<String> = turn.tool_calls.iter().map(call).collect();
        format!(
            "{} {} {} {:?} {:?} {calls:?} {}",
            turn.trace_id,
            turn.span_id,
            turn.start_ns,
            turn.user_text,
            turn.final_text,
            turn.has_unknown_keys
        )
    };
    let turns: Vec<String> = conversation.turns.iter().map(turn).collect();
    let counts = conversation.performance.as_ref().map(|it| it.counts.tool_calls);
    format!("{} {turns:#?} {counts:?}", conversation.trace_id)
}

/// Returns the text of a value, with the order of its keys.
fn to_python_raw(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, it)| format!("{key}: {}", to_python_raw(it)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => to_python(other),
    }
}

/// Applies an edit by its name.
fn edited(name: &str) -> Option<Conversation> {
    let (conversation, golden) = (conversation(), golden());
    name.parse::<Mutation>().unwrap().apply(&Subject {
        conversation: &conversation,
        golden: Some(&golden),
        other_answer: Some("Another answer."),
    })
}

/// Returns the places of an operator in the conversation.
fn sites(operator: &Operator) -> Vec<Site> {
    let (conversation, golden) = (conversation(), golden());
    operator.sites(&Subject {
        conversation: &conversation,
        golden: Some(&golden),
        other_answer: Some("Another answer."),
    })
}
