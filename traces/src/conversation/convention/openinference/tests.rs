//! Recordings as instrumentations of this convention make them.

use serde_json::{Value, json};

use crate::{
    conversation::{Conversation, GroupBy, Turn, extract, testing::Recording},
    json::to_python,
};

fn conversation(recording: Recording) -> Conversation {
    extract(&[recording.trace()], GroupBy::Trace, false).remove(0)
}

fn turn(recording: Recording) -> Turn {
    let mut turns = conversation(recording).turns;
    assert_eq!(turns.len(), 1);
    turns.remove(0)
}

/// Attributes of a span of this kind.
fn of_kind(kind: &str, more: Value) -> Value {
    let mut attributes = json!({"openinference.span.kind": kind});
    if let (Some(attributes), Some(more)) = (attributes.as_object_mut(), more.as_object()) {
        attributes.extend(more.clone());
    }
    attributes
}

/// A call of a model: the user's text and the answer.
fn llm(user: &str, answer: &str) -> Value {
    of_kind(
        "LLM",
        json!({
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": user,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": answer,
        }),
    )
}

/// What user and agent said in a run whose outermost span has these values.
fn said(root: Value) -> (Option<String>, Option<String>) {
    let turn = turn(Recording::default().span((1, 0), "run", (0, 9), of_kind("CHAIN", root)).span(
        (2, 1),
        "call",
        (1, 8),
        llm("asked the model", "the model said"),
    ));
    (turn.user_text, turn.final_text)
}

fn tools(turn: &Turn) -> Vec<String> {
    turn.tool_calls
        .iter()
        .map(|call| {
            let (arguments, result) = (to_python(&call.arguments), to_python(call.result.value()));
            format!("{} {arguments} -> {result}", call.name)
        })
        .collect()
}

#[test]
fn a_run_of_an_agent_is_a_turn() {
    let asks = of_kind(
        "LLM",
        json!({
            "llm.request.model_name": "small", "llm.response.model_name": "small-2026",
            "llm.token_count.prompt": 20, "llm.token_count.completion": 5, "llm.token_count.total": 25,
            "llm.token_count.prompt_details.cache_read": 7, "llm.token_count.prompt_details.cache_write": 3,
            "llm.finish_reason": "tool_calls",
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "be nice",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "Weather in Paris?",
            "llm.input_messages.1.message.contents.1.message_content.type": "image",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
            "llm.output_messages.0.message.contents.0.message_content.text": "hm",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"city\": \"Paris\"}",
        }),
    );
    let tool = of_kind(
        "TOOL",
        json!({
            "tool.name": "weather", "tool_call.id": "c1", "input.value": "{\"city\": \"Paris\"}",
            "input.mime_type": "application/json", "output.value": "sunny",
        }),
    );
    let mut answers = llm("Weather in Paris?", "Sunny!");
    answers["llm.model_name"] = json!("small");
    answers["llm.token_count.prompt"] = json!(30);
    let turn = turn(
        Recording::default()
            .span((1, 0), "workflow", (0, 100), of_kind("CHAIN", json!({})))
            .span((2, 1), "agent", (1, 99), of_kind("AGENT", json!({"agent.name": "guide"})))
            .span((3, 2), "llm", (2, 20), asks)
            .span((4, 2), "weather", (21, 30), tool)
            .span((5, 2), "llm", (31, 60), answers),
    );
    assert_eq!(turn.span_id, crate::conversation::testing::span_id(1));
    assert_eq!(turn.agent_name.as_deref(), Some("guide"));
    assert_eq!(turn.user_text.as_deref(), Some("Weather in Paris?"));
    assert_eq!(turn.final_text.as_deref(), Some("Sunny!"));
    assert_eq!(tools(&turn), [r#"weather {"city": "Paris"} -> "sunny""#]);
    assert_eq!(turn.tool_calls[0].call_id.as_deref(), Some("c1"));
    let call = &turn.llm_calls[0];
    assert_eq!(call.request_model.as_deref(), Some("small"));
    assert_eq!(call.response_model.as_deref(), Some("small-2026"));
    let usage = call.usage.unwrap();
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_creation_tokens
        ),
        (20, 5, 7, 3)
    );
    assert_eq!(turn.llm_calls[1].request_model.as_deref(), Some("small"));
    assert_eq!(turn.llm_calls[1].usage.unwrap().input_tokens, 30);
}

#[test]
fn what_frameworks_call_agents_inside_of_a_run_are_not_turns() {
    let node = || of_kind("AGENT", json!({}));
    let turn = turn(
        Recording::default()
            .span((1, 0), "LangGraph", (0, 100), of_kind("CHAIN", json!({"input.value": "hi"})))
            .span((2, 1), "agent", (1, 20), node())
            .span((3, 2), "ChatModel", (2, 19), llm("hi", "one"))
            .span((4, 1), "tools", (21, 30), of_kind("CHAIN", json!({"input.value": "x"})))
            .span((5, 4), "look", (22, 29), of_kind("TOOL", json!({"tool.name": "look"})))
            .span((6, 1), "agent", (31, 50), node())
            .span((7, 6), "ChatModel", (32, 49), llm("hi", "two")),
    );
    assert_eq!((turn.llm_calls.len(), turn.tool_calls.len()), (2, 1));
    assert_eq!(turn.final_text.as_deref(), Some("two"));
}

#[test]
fn chains_below_a_span_of_another_convention_are_runs_only_with_a_model_call() {
    let recording = Recording::default()
        .span((1, 0), "POST /chat", (0, 100), json!({}))
        .span(
            (2, 1),
            "format",
            (1, 2),
            of_kind("CHAIN", json!({"input.value": "x", "output.value": "y"})),
        )
        .span((3, 1), "answer", (3, 9), of_kind("CHAIN", json!({"input.value": "hi"})))
        .span((4, 3), "llm", (4, 8), llm("prompt", "yo"));
    assert_eq!(turn(recording).user_text.as_deref(), Some("hi"));
    for kind in ["CHAIN", "TOOL", "RETRIEVER", "EMBEDDING", "UNKNOWN"] {
        let values = json!({"input.value": "x", "output.value": "y"});
        let recording = Recording::default().span((1, 0), "x", (0, 9), of_kind(kind, values));
        assert!(conversation(recording).turns.is_empty(), "{kind}");
    }
}

#[test]
fn plain_values_of_the_outermost_span_are_what_was_said() {
    let of = |text: &str| Some(text.to_owned());
    let values = |input: &str, output: &str| json!({"input.value": input, "output.value": output});
    assert_eq!(said(values("Hi there", "42")), (of("Hi there"), of("42")));
    assert_eq!(
        said(json!({
            "input.value": "{\"a\": 1}", "input.mime_type": "text/plain",
            "output.value": "\"quoted\"", "output.mime_type": "application/json",
        })),
        (of("{\"a\": 1}"), of("quoted"))
    );
    let model = || (of("asked the model"), of("the model said"));
    for nothing in [
        json!({}),
        values("", " "),
        values("__REDACTED__", "<REDACTED>"),
        values("{\"city\": \"Paris\", \"days\": 3}", "{\"degrees\": 20, \"sky\": \"blue\"}"),
        values("[1, 2]", "[]"),
        values("{'state': State(messages=[...])}", "[HumanMessage('x')]"),
        json!({"input.value": "{not json", "input.mime_type": "application/json"}),
    ] {
        assert_eq!(said(nothing.clone()), model(), "{nothing}");
    }
}

#[test]
fn messages_are_found_in_the_shapes_of_frameworks() {
    for input in [
        json!({"messages": [{"role": "user", "content": "old"}, {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "hi"}]}),
        json!({"messages": [["system", "be nice"], ["user", "hi"]]}),
        json!({"messages": [[{"type": "human", "content": [{"type": "text", "text": "hi"}]}]]}),
        json!({"messages": [{"lc": 1, "type": "constructor", "id": ["HumanMessage"],
            "kwargs": {"content": "hi", "type": "human"}}]}),
        json!({"messages": [{"type": "human", "data": {"content": "hi"}}]}),
        json!([{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]),
        json!({"user_id": "u", "session_id": "s",
            "new_message": {"role": "user", "parts": [{"text": "hi"}]}}),
        json!({"input": "hi", "chat_history": []}),
        json!({"inputs": {"question": "hi"}}),
        json!({"topic": "hi"}),
        json!({"kwargs": {"state": {"messages": [{"role": "user", "content": "hi"}]}}}),
    ] {
        let found = said(json!({"input.value": input.to_string()})).0;
        assert_eq!(found.as_deref(), Some("hi"), "{input}");
    }
    for output in [
        json!({"messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": "yo"}]}),
        json!({"content": {"role": "model", "parts": [{"text": "yo"}]}, "author": "guide"}),
        json!({"choices": [{"message": {"role": "assistant", "content": "yo"}}], "model": "m"}),
        json!({"output": [{"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "yo"}]}], "id": "r"}),
        json!({"output": "yo", "intermediate_steps": []}),
        json!({"raw": "yo"}),
    ] {
        let found = said(json!({"output.value": output.to_string()})).1;
        assert_eq!(found.as_deref(), Some("yo"), "{output}");
    }
    let wrapped = (0..9).fold(json!({"messages": [["user", "x"]]}), |inner, _| json!({"a": inner}));
    let too_deep = said(json!({"input.value": wrapped.to_string()}));
    assert_eq!(too_deep.0.as_deref(), Some("asked the model"));
}

#[test]
fn arguments_and_results_of_tools_are_unwrapped() {
    let call =
        |attributes: Value| {
            let turn =
                turn(
                    Recording::default()
                        .span((1, 0), "run", (0, 9), of_kind("AGENT", json!({})))
                        .span((2, 1), "a_tool", (1, 8), of_kind("TOOL", attributes)),
                );
            (tools(&turn).remove(0), turn.tool_calls[0].call_id.clone())
        };
    for (attributes, expected) in [
        (
            json!({"tool.name": "t", "input.value": "{'city': 'Paris', 'on': True}", "output.value":
                "{\"type\": \"tool\", \"content\": \"{\\\"c\\\": 3}\", \"tool_call_id\": \"i\"}"}),
            (r#"t {"city": "Paris", "on": true} -> {"c": 3}"#, Some("i")),
        ),
        (
            json!({"tool.name": "t", "input.value": "{}", "output.value": json!({"type": "tool",
                "data": {"content": "4C", "type": "tool", "name": "t", "tool_call_id": "i"}}).to_string()}),
            (r#"t {} -> "4C""#, Some("i")),
        ),
        (
            json!({"tool.name": "t", "input.value": "{}", "output.value":
                "{\"data\": {\"weight\": 3}, \"type\": \"tool\"}"}),
            (r#"t {} -> {"data": {"weight": 3}, "type": "tool"}"#, None),
        ),
        (
            json!({"tool.name": "t", "tool.id": "j",
                "input.value": "{\"type\": \"tool_call\", \"args\": {\"a\": 1}, \"id\": \"k\", \"name\": \"t\"}",
                "output.value": "{\"id\": \"l\", \"name\": \"t\", \"response\": {\"ok\": true}}"}),
            (r#"t {"a": 1} -> {"ok": true}"#, Some("j")),
        ),
        (
            json!({"tool.name": "t", "tool.parameters": "{\"a\": 1}", "output.value": "__REDACTED__"}),
            (r#"t {"a": 1} -> null"#, None),
        ),
        (
            json!({"tool.parameters": "{\"type\": \"object\", \"properties\": {\"a\": {}}}",
                "output.value": 3}),
            ("a_tool null -> 3", None),
        ),
        (json!({"tool.name": "t", "input.value": "Paris"}), (r#"t "Paris" -> null"#, None)),
    ] {
        let (called, id) = call(attributes);
        assert_eq!((&*called, id.as_deref()), expected);
    }
}

#[test]
fn a_handover_is_the_call_that_asked_for_it_and_nothing_beside() {
    let mut asks = llm("hi", "");
    for (field, value) in [("id", "c"), ("function.name", "transfer_to_b")] {
        asks[format!("llm.output_messages.0.message.tool_calls.0.tool_call.{field}")] =
            json!(value);
    }
    let turn = turn(
        Recording::default()
            .span((1, 0), "run", (0, 9), of_kind("AGENT", json!({})))
            .span((2, 1), "response", (1, 3), asks)
            .span((3, 1), "handoff to b", (3, 4), of_kind("TOOL", json!({}))),
    );
    assert_eq!(tools(&turn), ["transfer_to_b null -> null"]);
}

#[test]
fn messages_may_be_whole_lists_and_older_forms() {
    let user = |attributes: Value| {
        let recording =
            Recording::default().span((1, 0), "llm", (0, 9), of_kind("LLM", attributes));
        let turn = turn(recording);
        {
            let tools = tools(&turn);
            (turn.user_text.unwrap_or_default(), turn.final_text.unwrap_or_default(), tools)
        }
    };
    let list = json!([{"message.role": "user", "message.content": "hi"},
        {"message": {"role": "user", "contents": [{"message_content": {"type": "text", "text": "!"}}]}}]);
    let answer = json!([{"message.tool_calls": [{"tool_call.function.name": "t",
        "tool_call.function.arguments": "{'a': 1}"}], "message.content": "yo"}]);
    let expected = ("hi!".to_owned(), "yo".to_owned(), vec![r#"t {"a": 1} -> null"#.to_owned()]);
    assert_eq!(user(json!({"llm.input_messages": list, "llm.output_messages": answer})), expected);
    assert_eq!(
        user(
            json!({"llm.input_messages": list.to_string(), "llm.output_messages": answer.to_string()})
        ),
        expected
    );
    let texts = json!({"llm.prompts": ["hi"], "llm.choices.0.completion.text": "yo"});
    assert_eq!(user(texts), ("hi".to_owned(), "yo".to_owned(), Vec::new()));
    let function = json!({"input.value": "hi", "output.value": "yo",
        "llm.output_messages.0.message.function_call_name": "t",
        "llm.output_messages.0.message.function_call_arguments_json": "{\"a\": 1}",
    });
    assert_eq!(user(function), ("hi".to_owned(), String::new(), expected.2));
}

#[test]
fn results_in_messages_belong_to_the_calls_that_asked_for_them() {
    let mut asks = llm("hi", "");
    asks["llm.output_messages.0.message.tool_calls.0.tool_call.id"] = json!("c");
    asks["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] = json!("t");
    let mut answered = llm("hi", "done");
    answered["llm.input_messages.1.message.role"] = json!("tool");
    answered["llm.input_messages.1.message.content"] = json!("{\"ok\": 1}");
    answered["llm.input_messages.1.message.tool_call_id"] = json!("c");
    let turn = turn(
        Recording::default()
            .span((1, 0), "run", (0, 9), of_kind("CHAIN", json!({})))
            .span((2, 1), "llm", (1, 3), asks)
            .span((3, 1), "llm", (4, 8), answered),
    );
    assert_eq!(tools(&turn), [r#"t null -> {"ok": 1}"#]);
    assert_eq!(turn.final_text.as_deref(), Some("done"));
}

#[test]
fn a_trace_that_the_other_conventions_tell_keeps_its_meaning() {
    let both = |kind: &str, operation: &str, more: Value| {
        let mut attributes = of_kind(kind, more);
        attributes["gen_ai.operation.name"] = json!(operation);
        attributes
    };
    let recording = |with: bool| {
        let plain = |attributes| if with { attributes } else { json!({}) };
        let mut call = llm("asked", "said");
        call["gen_ai.operation.name"] = json!("chat");
        call["gen_ai.usage.input_tokens"] = json!(3);
        call["llm.token_count.prompt"] = json!(99);
        call["gen_ai.response.model"] = json!("m");
        call["llm.model_name"] = json!("other");
        Recording::default()
            .span((1, 0), "run", (0, 90), plain(of_kind("AGENT", json!({"input.value": "x"}))))
            .span((2, 1), "wrapper", (1, 40), plain(llm("wrapped", "wrapped")))
            .span((3, 2), "chat", (2, 39), call)
            .span((4, 1), "t", (41, 50), plain(of_kind("TOOL", json!({"tool.name": "t"}))))
    };
    let (with, without) = (turn(recording(true)), turn(recording(false)));
    assert_eq!(format!("{with:?}"), format!("{without:?}"));
    assert_eq!((with.root_anchored, with.llm_calls.len()), (true, 1));
    assert_eq!(with.llm_calls[0].usage.unwrap().input_tokens, 3);
    assert_eq!(with.llm_calls[0].request_model, None);
    assert_eq!(with.user_text.as_deref(), Some("asked"));

    // An agent of the other conventions, with calls that only this one tells of.
    let agent = both("AGENT", "invoke_agent", json!({"input.value": "x", "agent.name": "a"}));
    let turn = turn(
        Recording::default()
            .span((1, 0), "agent", (0, 9), agent)
            .span((2, 1), "inner", (0, 8), of_kind("AGENT", json!({"agent.name": "b"})))
            .span((3, 2), "llm", (1, 2), llm("asked", "said"))
            .span((4, 2), "t", (3, 4), of_kind("TOOL", json!({"tool.name": "t"})))
            .span((5, 2), "embed", (5, 6), both("LLM", "embeddings", json!({}))),
    );
    assert_eq!((turn.llm_calls.len(), turn.tool_calls.len()), (1, 1));
    assert_eq!(turn.agent_name.as_deref(), Some("a"));
    assert_eq!(turn.user_text.as_deref(), Some("asked"));
}

#[test]
fn without_its_kind_a_span_does_not_follow_the_convention() {
    let mut attributes = llm("hi", "yo");
    attributes["gen_ai.operation.name"] = json!("chat");
    attributes.as_object_mut().unwrap().remove("openinference.span.kind");
    let turn = turn(Recording::default().span((1, 0), "llm", (0, 9), attributes));
    assert_eq!((turn.user_text, turn.final_text), (None, None));
}
