//! Documents of AgentV for evaluators of the default contract.

use super::*;

#[test]
fn generations_become_the_same_turns() {
    let [(_, first), rest @ ..] = &SAMPLES[..SAME] else { unreachable!() };
    let turns = |text: &str| {
        let mut input = read(text).to_eval_input("m").unwrap().input;
        for turn in &mut input.invocations {
            turn.performance_metrics = None;
        }
        input
    };
    let first = turns(first);
    assert_eq!(
        serde_json::to_value(&first.invocations).unwrap(),
        json!([{
            "invocation_id": "turn-1",
            "user_content": "What is the capital of France?",
            "final_response": "The capital of France is Paris.",
            "intermediate_steps": {
                "tool_calls": [
                    {"name": "search", "args": {"query": "capital of France"}, "id": "call_1"},
                    {"name": "Read", "args": {"file_path": "notes.md"}, "id": null},
                ],
                "tool_responses": [
                    {"name": "search", "output": "Paris", "status": null, "id": "call_1", "response": "Paris"},
                    {"name": "Read", "output": "{\"num_lines\":3}", "status": null, "id": null, "response": {"num_lines": 3}},
                ],
            },
            "performance_metrics": null,
            "trace_id": null,
            "span_id": null,
        }])
    );
    let golden = first.expected_invocations.as_ref().unwrap();
    assert_eq!(golden[0].final_response.as_deref(), Some("Paris"));
    assert_eq!((first.metric_name.as_str(), first.threshold), ("m", 0.5));
    for (name, text) in rest {
        let other = turns(text);
        assert_eq!(other.invocations, first.invocations, "{name}");
        assert_eq!(other.config, first.config, "{name}");
        let expected = if *name == "v5" { None } else { first.expected_invocations.clone() };
        assert_eq!(other.expected_invocations, expected, "{name}");
    }
}

#[test]
fn numbers_become_performance_metrics() {
    let input = sample("v4.42.4").to_eval_input("m").unwrap().input;
    let one = |ms: f64| json!({"min": ms, "median": ms, "max": ms, "count": 1, "p50": ms, "p95": ms, "p99": ms});
    assert_eq!(
        json!(input.invocations[0].performance_metrics),
        json!({
            "latency": {"overall": one(1300.0), "tool_executions": one(250.0)},
            "tokens": {"total_prompt": 120, "total_output": 34, "total": 154, "cache_read_tokens": 5},
            "counts": {"llm_calls": 2, "tool_calls": 2, "invocations": 1},
            "event_count": 2, "error_count": 0, "cost_usd": 0.0012,
            "tool_names": ["Read", "search"], "tool_calls_by_name": {"Read": 1, "search": 1},
            "tool_durations": {"search": [250.0]},
            "start_time": "2026-01-01T00:00:00.000Z", "end_time": "2026-01-01T00:00:01.300Z",
        })
    );
}

#[test]
fn what_is_dropped_is_listed() {
    let dropped = |name: &str| sample(name).to_eval_input("m").unwrap().dropped;
    assert_eq!(
        dropped("v2.5.1"),
        [
            "input_messages[0]",
            "input_messages[1].content[0]",
            "input_messages[1].content[1]",
            "output_messages[0].tool_calls[0].timestamp",
            "output_messages[1].timestamp",
            "output_messages[0].content",
            "question",
            "expected_outcome",
            "input_files",
        ]
    );
    assert_eq!(
        dropped("workspace"),
        [
            "input[0].content[0]",
            "input[0].content[1]",
            "messages[0]",
            "messages[1].tool_calls[0].start_time",
            "messages[1].tool_calls[0].end_time",
            "messages[1].tool_calls[0].duration_ms",
            "messages[2].start_time",
            "messages[2].end_time",
            "messages[1].content",
            "criteria",
            "input_files",
            "file_changes",
            "workspace_path",
            "trace.events",
            "trace.metadata",
        ]
    );
    let plain = read(r#"{"question": "q", "candidate_answer": "a", "reference_answer": "b"}"#);
    let converted = plain.to_eval_input("m").unwrap();
    assert_eq!(converted.dropped, [""; 0]);
    assert_eq!(converted.input.invocations[0].user_content, "q");
    let golden = converted.input.expected_invocations.unwrap();
    assert_eq!(golden[0].final_response.as_deref(), Some("b"));
    let unknown = read(r#"{"criteria": "c", "output": "a", "brand_new": 1, "nothing": null}"#);
    assert_eq!(unknown.to_eval_input("m").unwrap().dropped, ["criteria", "brand_new"]);
}

#[test]
fn failed_tool_calls_are_failed_responses() {
    let text = json!({
        "criteria": "c", "output": "sorry",
        "input": [{"role": "user", "content": "q"}],
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": [
                {"tool": "a", "id": "1", "output": "boom"}, {"tool": "b"}, {"tool": "c", "output": {"x": 1}}, {"tool": "d"},
            ]},
            {"role": "assistant", "content": "sorry"},
        ],
        "trace": {"events": [
            {"type": "tool_call", "tool": {"name": "a", "call_id": "1", "status": "error"}},
            {"type": "tool_call", "tool": {"name": "b", "status": "timeout"}, "metadata": {"message_index": 1, "tool_index": 1}},
            {"type": "tool_call", "tool": {"name": "c", "status": "ok"}, "metadata": {"message_index": 1, "tool_index": 2}},
        ]},
    });
    let input = read(&text.to_string()).to_eval_input("m").unwrap().input;
    let responses = &input.invocations[0].intermediate_steps.tool_responses;
    let read: Vec<_> =
        responses.iter().map(|response| (response.name.as_str(), response.is_error())).collect();
    assert_eq!(read, [("a", true), ("b", true), ("c", false)]);
}

#[test]
fn users_begin_turns_and_inputs_of_any_kind_fit() {
    let text = json!({
        "criteria": "c",
        "input": [{"role": "user", "content": "one"}],
        "output": [
            {"role": "assistant", "content": "first", "tool_calls": [{"tool": "sh", "input": "ls -l"}]},
            {"role": "tool", "name": "sh", "content": {"files": 2}, "tool_call_id": "7"},
            {"role": "user", "content": "two"},
            {"role": "assistant", "content": "second"},
            {"role": "user", "content": "three"},
        ],
        "answer": "second",
    });
    let converted = read(&text.to_string()).to_eval_input("m").unwrap();
    let turns = &converted.input.invocations;
    let said: Vec<_> = turns
        .iter()
        .map(|turn| (turn.user_content.as_str(), turn.final_response.as_deref()))
        .collect();
    assert_eq!(said, [("one", Some("first")), ("two", Some("second")), ("three", None)]);
    let steps = &turns[0].intermediate_steps;
    assert_eq!(json!(steps.tool_calls[0].args), json!({"input": "ls -l"}));
    assert_eq!(steps.tool_responses[0].response, json!({"files": 2}));
    assert_eq!(steps.tool_responses[0].id.as_deref(), Some("7"));
}

#[test]
fn messages_of_tools_belong_to_the_calls_with_their_id() {
    let text = json!({
        "criteria": "c", "output": "done",
        "messages": [
            {"role": "assistant", "tool_calls": [{"tool": "a", "id": "1"}, {"tool": "b", "id": "2"}]},
            {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "two"}]},
            {"role": "tool", "toolCallId": "1", "content": "boom"},
            {"role": "tool", "tool_call_id": 3},
            {"role": "tool", "name": "camera", "content": [{"type": "image", "path": "/x.png"}]},
        ],
        "trace": {"events": [{"type": "tool_call", "tool": {"name": "a", "call_id": "1", "status": "error"}}]},
    });
    let converted = read(&text.to_string()).to_eval_input("m").unwrap();
    let read: Vec<_> = converted.input.invocations[0]
        .intermediate_steps
        .tool_responses
        .iter()
        .map(|response| {
            (
                response.name.as_str(),
                response.id.as_deref(),
                &response.response,
                response.is_error(),
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            ("a", Some("1"), &json!("boom"), true),
            ("b", Some("2"), &json!("two"), false),
            ("", None, &Value::Null, false),
            ("camera", None, &json!([{"type": "image", "path": "/x.png"}]), false),
        ]
    );
    assert_eq!(converted.dropped, ["messages[3].tool_call_id", "criteria", "trace.events"]);
}

#[test]
fn what_users_say_in_a_row_is_one_question() {
    let said = |content: &str| json!({"role": "user", "content": content});
    let answered = json!({"role": "assistant", "content": "a"});
    let converted = |document: Value| {
        let converted = read(&document.to_string()).to_eval_input("m").unwrap();
        let said = converted.input.invocations.into_iter().map(|turn| turn.user_content);
        (said.collect::<Vec<_>>(), converted.dropped)
    };
    let messages = json!([said("one"), said("two "), answered, said("three"), said("four")]);
    let turns = vec!["one two".to_owned(), "three four".to_owned()];
    assert_eq!(
        converted(json!({"criteria": "", "output": "a", "messages": messages})),
        (turns.clone(), vec![])
    );
    let document =
        json!({"question": "one two", "candidate_answer": "a", "output_messages": messages});
    assert_eq!(converted(document), (turns, vec![]));
    let document = json!({"question": "other", "candidate_answer": "a", "output_messages": [said("one"), answered]});
    assert_eq!(
        converted(document),
        (vec!["other".to_owned()], vec!["output_messages[0].content".to_owned()])
    );
}

#[test]
fn a_reference_is_the_answer_of_a_golden_turn_that_says_nothing() {
    let calls = json!([{"tool": "t", "input": {"a": 1}}]);
    let golden = |reference: &str| {
        let text = json!({
            "question": "q", "candidate_answer": "a", "reference_answer": reference,
            "expected_messages": [{"role": "assistant", "tool_calls": calls}],
        });
        let converted = read(&text.to_string()).to_eval_input("m").unwrap();
        let turn = converted.input.expected_invocations.unwrap().remove(0);
        (turn.tool_names().count(), turn.final_response, converted.dropped)
    };
    assert_eq!(golden("Paris"), (1, Some("Paris".to_owned()), vec![]));
    // Hosts put the calls there where there is nothing else.
    assert_eq!(golden(&calls.to_string()), (1, None, vec![]));
    let other = read(
        r#"{"candidate_answer": "a", "reference_answer": "x", "expected_messages": [{"role": "assistant", "content": "y"}]}"#,
    );
    let converted = other.to_eval_input("m").unwrap();
    assert_eq!(
        converted.input.expected_invocations.unwrap()[0].final_response.as_deref(),
        Some("y")
    );
    assert_eq!(converted.dropped, ["reference_answer"]);
}

#[test]
fn what_stands_where_it_does_not_belong_is_listed() {
    let text = json!({
        "criteria": "", "output": "a", "cost_usd": 1,
        "input": [{"role": "user", "content": "q", "tool_calls": [{"tool": "t"}], "tool_call_id": "1"}],
        "messages": [
            {"role": "user", "content": "q and a file"},
            {"role": "assistant", "content": [{"type": "text", "text": "a", "value": "b", "path": "/x", "level": 3}]},
        ],
        "trace": {"cost_usd": 2, "messages": [{"role": "assistant", "content": "other"}]},
        "trace_summary": {"event_count": 1, "end_time": "now", "events": [{"type": "error"}]},
    });
    let converted = read(&text.to_string()).to_eval_input("m").unwrap();
    let metrics = converted.input.invocations[0].performance_metrics.as_ref().unwrap();
    assert_eq!((&metrics["cost_usd"], &metrics["end_time"]), (&json!(1.0), &json!("now")));
    assert_eq!(
        converted.dropped,
        [
            "input[0].tool_calls",
            "input[0].tool_call_id",
            "messages[0]",
            "messages[1].content[0].value",
            "messages[1].content[0].path",
            "messages[1].content[0].level",
            "trace.messages",
            "trace.cost_usd",
            "trace_summary.events",
        ]
    );
}

#[test]
fn an_answer_that_nobody_read_is_an_error() {
    let unread = read(r#"{"criteria": "c", "output": null, "output_path": "/x"}"#);
    let error = unread.to_eval_input("m").unwrap_err();
    assert_eq!(
        error.to_string(),
        "output_path: the answer is in this file, which has not been read"
    );
    // Since 4.36 the transcript has the whole text as well.
    assert!(sample("output path").to_eval_input("m").is_ok());
}

#[test]
fn an_agent_of_which_nothing_is_known_has_no_turns() {
    let text = r#"{"criteria": "", "output": null, "input": [{"role": "user", "content": "q"}], "config": {"a": 1}}"#;
    let converted = read(text).to_eval_input("m").unwrap();
    assert_eq!(
        (converted.input.invocations.len(), converted.input.expected_invocations),
        (0, None)
    );
    assert_eq!(converted.dropped, ["input"]);
    let measured =
        r#"{"criteria": "", "output": null, "duration_ms": 5, "trace": {"event_count": 0}}"#;
    assert_eq!(read(measured).to_eval_input("m").unwrap().dropped, ["trace", "duration_ms"]);
    let unjudged = |text: &str| {
        let result = Document::read(text.as_bytes()).unwrap().unjudged()?;
        Reply::AgentV.answer(result).err().map(|why| why.reason)
    };
    let reason = "the document has neither an answer nor messages of the agent";
    assert_eq!(unjudged(text).as_deref(), Some(reason));
    for known in [
        r#"{"criteria": "", "output": ""}"#,
        r#"{"criteria": "", "output": null, "messages": []}"#,
        r#"{"criteria": "", "output": null, "output_path": "/x"}"#,
        r#"{"results": {}}"#,
    ] {
        assert_eq!(unjudged(known), None, "{known}");
    }
    // It is known to have said nothing.
    let silent =
        r#"{"criteria": "", "output": null, "messages": [{"role": "user", "content": "q"}]}"#;
    let turns = read(silent).to_eval_input("m").unwrap().input.invocations;
    assert_eq!(
        (turns.len(), turns[0].user_content.as_str(), &turns[0].final_response),
        (1, "q", &None)
    );
}

#[test]
fn every_sample_converts() {
    for (name, text) in SAMPLES {
        let document = Document::read(text.as_bytes()).unwrap();
        assert_eq!((document.reply(), document.metric_name()), (Reply::AgentV, None), "{name}");
        let converted = document.to_eval_input(name).unwrap();
        assert_eq!(converted.input.invocations.len(), 1, "{name}");
        assert!(converted.input.invocations[0].final_response.is_some(), "{name}");
    }
}
