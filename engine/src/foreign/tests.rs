//! Documents of other hosts, read back with the types of the protocol.

#![expect(clippy::arithmetic_side_effects, reason = "numbers of the test itself")]

use std::fmt::Debug;

use evaluator_protocol::{Contract, Document as Any, EvalInput, ToolResponseData, decode};

use super::{super::document::document_of, ForeignAdapter};
use crate::{
    conversation::{Conversation, LlmCall, PerformanceMetrics, ToolCall, Turn, Usage},
    eval_set::{EvalCase, ExpectedCall, ExpectedTurn},
    json::{self, Object, Value},
    trace::SpanStatus,
};

fn turn(number: i128, said: &str, answer: Option<&str>, tool_calls: Vec<ToolCall>) -> Turn {
    let usage = Usage { input_tokens: 10, output_tokens: 4, ..Usage::default() };
    Turn {
        trace_id: "t1".into(),
        span_id: format!("s{number}"),
        root_anchored: false,
        agent_name: Some("desk".to_owned()),
        user_text: Some(said.to_owned()),
        final_text: answer.map(str::to_owned),
        llm_calls: vec![LlmCall { usage: Some(usage), ..LlmCall::default() }],
        tool_calls,
        start_ns: number * 1_000_000_000,
        end_ns: number * 1_000_000_000 + 500_000_000,
        status: SpanStatus::Unset,
        ..Turn::default()
    }
}

fn conversation() -> Conversation {
    let value = |text: &str| json::parse_python(text).unwrap();
    let call = ToolCall {
        name: "find".to_owned(),
        call_id: Some("c1".to_owned()),
        arguments: value(r#"{"city": "Paris", "n": 3}"#),
        result: value(r#"{"found": [1, 2]}"#).into(),
        span: Some((1_100_000_000, 1_200_000_000)),
        ..ToolCall::default()
    };
    let failed = ToolCall {
        name: "book".to_owned(),
        arguments: value("{}"),
        result: value(r#"{"why": "full"}"#).into(),
        is_error: true,
        ..ToolCall::default()
    };
    Conversation {
        trace_id: "t1".into(),
        file: "t.json".into(),
        turns: vec![
            turn(1, "a room?", Some("line\nbreak \"quoted\""), vec![call, failed]),
            turn(2, "thanks", Some("welcome"), Vec::new()),
        ],
        case_id: None,
        warnings: Vec::new(),
        performance: Some(PerformanceMetrics::default()),
        operations: Vec::new(),
        dropped_copies: 0,
        labels: Default::default(),
        errors: Vec::new(),
    }
}

fn golden() -> EvalCase {
    let expected = |said: &str, answer: &str| ExpectedTurn {
        invocation_id: "g".to_owned(),
        user_parts: vec![said.to_owned()],
        final_parts: Some(vec![answer.to_owned()]),
        ..ExpectedTurn::default()
    };
    let mut first = expected("a room?", "here is one");
    first.tool_calls.push(ExpectedCall {
        id: None,
        name: Some("find".to_owned()),
        args: json::parse_python(r#"{"city": "Paris"}"#).unwrap(),
    });
    EvalCase {
        id: "c".to_owned(),
        turns: vec![first, expected("thanks", "you are welcome")],
        ..EvalCase::default()
    }
}

/// The document of a contract, and what its type makes of it as one of the default contract.
fn read(contract: Contract, case: Option<&EvalCase>) -> (String, EvalInput) {
    let config: Object = [("min_words".to_owned(), Value::Int(3))].into_iter().collect();
    let adapter = ForeignAdapter::new(Some(contract), "check", 0.25, &config).unwrap();
    let text = String::from_utf8(adapter.document(&conversation(), case).text()).unwrap();
    let document = Any::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(document.contract(), contract, "{text}");
    (text, document.to_eval_input("check").unwrap().input)
}

fn own(case: Option<&EvalCase>) -> EvalInput {
    let config: Object = [("min_words".to_owned(), Value::Int(3))].into_iter().collect();
    decode(&document_of("check", 0.25, &config, &conversation(), case)).unwrap()
}

/// Compares the turns of a document of another contract with those of the default contract. Of tool responses, only these
/// parts are compared, since contracts lack some.
fn assert_same_turns<R: PartialEq + Debug>(
    read: &EvalInput,
    own: &EvalInput,
    response: impl Fn(&ToolResponseData) -> R,
) {
    assert_eq!(read.config, own.config);
    assert_eq!(read.invocations.len(), own.invocations.len());
    for (read, own) in read.invocations.iter().zip(&own.invocations) {
        assert_eq!(read.user_content, own.user_content);
        assert_eq!(read.final_response, own.final_response);
        let (read, own) = (&read.intermediate_steps, &own.intermediate_steps);
        assert_eq!(read.tool_calls, own.tool_calls);
        let responses =
            |steps: &[ToolResponseData]| steps.iter().map(&response).collect::<Vec<_>>();
        assert_eq!(responses(&read.tool_responses), responses(&own.tool_responses));
    }
    let expected = |input: &EvalInput| -> Option<Vec<_>> {
        let turns = input.expected_invocations.as_ref()?.iter();
        let parts =
            turns.map(|it| (it.final_response.clone(), it.intermediate_steps.tool_calls.clone()));
        Some(parts.collect())
    };
    assert_eq!(expected(read), expected(own));
}

#[test]
fn the_document_of_adk_holds_what_that_of_the_default_contract_does() {
    for case in [None, Some(golden())] {
        let (_, read) = read(Contract::Adk, case.as_ref());
        let own = own(case.as_ref());
        assert_eq!((&read.metric_name, read.threshold), (&own.metric_name, own.threshold));
        let ids = |input: &EvalInput| -> Vec<_> {
            input.invocations.iter().map(|it| it.invocation_id.clone()).collect()
        };
        assert_eq!(ids(&read), ids(&own));
        // ADK has no mark for calls that failed.
        assert_same_turns(&read, &own, |it| (it.name.clone(), it.id.clone(), it.response.clone()));
    }
}

#[test]
fn the_document_of_agentv_holds_the_turns_of_the_default_contract() {
    for case in [None, Some(golden())] {
        let (_, read) = read(Contract::AgentV, case.as_ref());
        // AgentV has no ids of calls.
        let response =
            |it: &ToolResponseData| (it.name.clone(), it.status.clone(), it.response.clone());
        assert_same_turns(&read, &own(case.as_ref()), response);
    }
}

#[test]
fn the_document_of_agenta_holds_the_last_turn() {
    for case in [None, Some(golden())] {
        let (text, read) = read(Contract::Agenta, case.as_ref());
        assert_eq!(read.threshold, 0.25);
        assert_eq!(read.config, own(None).config);
        assert_eq!(read.invocations.len(), 1, "{text}");
        assert_eq!(read.invocations[0].user_content, "thanks");
        assert_eq!(read.invocations[0].final_response.as_deref(), Some("welcome"));
        let expected = read.expected_invocations.map(|turns| turns[0].final_response.clone());
        assert_eq!(expected, case.map(|_| Some("you are welcome".to_owned())));
    }
}

#[test]
fn inputs_of_an_app_may_be_an_object() {
    let mut conversation = conversation();
    conversation.turns.truncate(1);
    conversation.turns[0].user_text = Some(r#"{"country": "France"}"#.to_owned());
    let adapter =
        ForeignAdapter::new(Some(Contract::Agenta), "check", 0.0, &Object::default()).unwrap();
    let text = adapter.document(&conversation, None).text();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(document["inputs"], serde_json::json!({"country": "France"}));
    // Agenta takes 0 for its default.
    assert_eq!(document["parameters"], serde_json::json!({}));
}

#[test]
fn the_default_contract_needs_no_terms() {
    for contract in [None, Some(Contract::Agentevals)] {
        assert!(ForeignAdapter::new(contract, "check", 0.5, &Object::default()).is_none());
    }
}
