//! What instrumentations record, with the fewest spans that show it.

mod answers;

use serde_json::{Value, json};

use crate::{
    conversation::{
        Conventions, GroupBy, ToolCall, Turn, extract,
        testing::{Recording, asks, says},
    },
    json::to_python,
};

/// Returns the only turn of a recording.
fn turn(recording: Recording) -> Turn {
    let mut conversations = extract(&[recording.trace()], GroupBy::Auto, false);
    assert_eq!(conversations.len(), 1);
    let conversation = conversations.remove(0);
    assert_eq!(conversation.errors, Vec::<String>::new());
    assert_eq!(conversation.turns.len(), 1, "{:?}", conversation.turns);
    conversation.turns.into_iter().next().expect("a turn")
}

/// Returns what the user and the agent said.
fn said(turn: &Turn) -> (Option<&str>, Option<&str>) {
    (turn.user_text.as_deref(), turn.final_text.as_deref())
}

/// Returns name, arguments, id and result of each call.
fn calls(turn: &Turn) -> Vec<(&str, String, &str, String)> {
    let show = |call: &'_ ToolCall| (to_python(&call.arguments), to_python(call.result.value()));
    let row = |call| {
        let (arguments, result) = show(call);
        let ToolCall { name, call_id, .. } = call;
        (name.as_str(), arguments, call_id.as_deref().unwrap_or_default(), result)
    };
    turn.tool_calls.iter().map(row).collect()
}

/// Returns a call of the tool `weather` for Oslo.
fn oslo(id: &'static str, result: &str) -> (&'static str, String, &'static str, String) {
    ("weather", r#"{"city": "Oslo"}"#.to_owned(), id, result.to_owned())
}

fn operation(name: &str) -> Value {
    json!({"gen_ai.operation.name": name})
}

#[test]
fn events_may_hold_blocks_as_json_text() {
    let text = |text: &str| json!([{"text": text}]).to_string();
    let call =
        json!([{"toolUse": {"toolUseId": "c", "name": "weather", "input": {"city": "Oslo"}}}]);
    let result = json!([{"toolResult": {"toolUseId": "c", "content": [{"text": "4C"}]}}]);
    let strands = || Recording::default().with_scope("strands.telemetry.tracer");
    let recording = strands()
        .span((1, 0), "agent", (0, 90), operation("invoke_agent"))
        .event("gen_ai.user.message", json!({"content": text("Oslo?")}))
        .event("gen_ai.choice", json!({"message": "It is cold.\n"}))
        .span((2, 1), "chat", (1, 10), operation("chat"))
        .event("gen_ai.user.message", json!({"content": text("Oslo?")}))
        .event("gen_ai.choice", json!({"message": call.to_string()}));
    let next = |recording: Recording| {
        recording
            .span((4, 1), "chat", (30, 40), operation("chat"))
            .event("gen_ai.user.message", json!({"content": text("Oslo?")}))
            .event("gen_ai.assistant.message", json!({"content": call.to_string()}))
            .event("gen_ai.tool.message", json!({"content": result.to_string()}))
            .event("gen_ai.choice", json!({"message": text("It is cold.")}))
    };
    let from_messages = turn(next(recording));
    assert_eq!(said(&from_messages), (Some("Oslo?"), Some("It is cold.\n")));
    assert_eq!(calls(&from_messages), [oslo("c", r#""4C""#)]);

    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"});
    let recording = strands()
        .span((1, 0), "agent", (0, 90), operation("invoke_agent"))
        .span((3, 1), "tool", (20, 30), tool)
        .event("gen_ai.tool.message", json!({"content": r#"{"city": "Oslo"}"#}))
        .event("gen_ai.choice", json!({"message": text("4C")}));
    assert_eq!(calls(&turn(recording)), [oslo("", r#""4C""#)]);
}

#[test]
fn text_that_looks_like_json_stays_text_unless_it_is_a_list_of_blocks() {
    for text in [r#"["a"]"#, "[1, 2]", r#"[{"name": "x"}]"#, "[not json", "[]"] {
        let recording = Recording::default()
            .with_scope("strands.telemetry.tracer")
            .span((1, 0), "chat", (0, 9), operation("chat"))
            .event("gen_ai.user.message", json!({"content": text}));
        assert_eq!(turn(recording).user_text.as_deref(), Some(text));
    }
    let blocks = r#"[{"text": "hi"}]"#;
    let recording = Recording::default()
        .span((1, 0), "chat", (0, 9), operation("chat"))
        .event("gen_ai.user.message", json!({"content": blocks}));
    assert_eq!(turn(recording).user_text.as_deref(), Some(blocks));
}

#[test]
fn pydantic_ai_has_names_of_its_own_in_older_formats() {
    let events = |more: Value| {
        let user = json!({"event.name": "gen_ai.user.message", "content": "Oslo?"});
        let mut all = vec![user];
        all.extend(more.as_array().expect("events").clone());
        Value::Array(all).to_string()
    };
    let request = json!({"role": "assistant", "tool_calls": [
        {"id": "c", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
    ]});
    let choice = |message: &Value| json!({"event.name": "gen_ai.choice", "message": message});
    let chat = |events: String| json!({"gen_ai.operation.name": "chat", "events": events});
    let run = || {
        Recording::default().with_scope("pydantic-ai").span(
            (1, 0),
            "agent run",
            (0, 90),
            json!({"agent_name": "bot", "final_result": "Cold."}),
        )
    };
    let tool = json!({
        "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c",
        "tool_arguments": r#"{"city": "Oslo"}"#, "tool_response": "4C",
    });
    let recording = run()
        .span((2, 1), "chat", (1, 10), chat(events(json!([choice(&request)]))))
        .span((3, 1), "running tool", (20, 30), tool);
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("Cold.")));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);
    assert_eq!(found.agent_name.as_deref(), Some("bot"));

    // Without model calls, the messages of the run are all there is.
    let messages = json!([
        says("user", "earlier"), says("assistant", "answer"), says("user", "Oslo?"),
        asks("c", "weather", json!({"city": "Oslo"})),
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "result": "4C"}]},
        says("assistant", "Cold."),
    ]);
    let alone = json!({
        "agent_name": "bot", "final_result": "Cold.",
        "pydantic_ai.all_messages": messages.to_string(),
    });
    let recording = Recording::default().with_scope("pydantic-ai").span(
        (1, 0),
        "invoke_agent bot",
        (0, 90),
        alone,
    );
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("Cold.")));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);
}

#[test]
fn logfire_records_the_agents_sdk_as_functions_and_lists_of_events() {
    let events = json!([
        {"event.name": "gen_ai.user.message", "content": "Oslo?"},
        {"event.name": "gen_ai.assistant.message", "tool_calls": [
            {"id": "c", "function": {"name": "weather", "arguments": r#"{"city": "Oslo"}"#}}
        ]},
    ]);
    let named =
        |template: &str, name: &str| json!({"logfire.msg_template": template, "name": name});
    let mut function = named("Function: {name}", "weather");
    function["input"] = json!(r#"{"city": "Oslo"}"#);
    function["output"] = json!("4C");
    let traced = |tasks: &[u64]| {
        let mut recording = Recording::default().with_scope("logfire.openai_agents").span(
            (1, 0),
            "OpenAI Agents trace: {name}",
            (0, 99),
            json!({"group_id": "null", "agent_trace_id": "t"}),
        );
        for &task in tasks {
            let span = json!({"sdk_span_type": "task"});
            recording = recording.span((task, 1), "Task", (task, task + 20), span);
        }
        recording
    };
    let recording = traced(&[])
        .span((2, 1), "Agent run: {name!r}", (0, 90), named("Agent run: {name!r}", "bot"))
        .span(
            (3, 2),
            "Responses API",
            (1, 10),
            json!({"gen_ai.operation.name": "chat", "events": events.to_string()}),
        )
        .span((4, 2), "Function: {name}", (20, 30), function);
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), None));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);

    // With tasks, each is a turn, and the trace around them is not.
    let recording = traced(&[10, 40])
        .span((11, 10), "Agent run", (11, 12), named("Agent run: {name!r}", "bot"))
        .span((41, 40), "Agent run", (41, 42), named("Agent run: {name!r}", "bot"));
    let conversations = extract(&[recording.trace()], GroupBy::Auto, false);
    assert_eq!(conversations[0].turns.len(), 2);
}

#[test]
fn name_arguments_and_id_come_from_the_message_and_the_result_from_the_span() {
    let ask = |id: &str, city: &str| asks(id, "weather", json!({"city": city}));
    let of = |arguments: Value, result: &str| {
        json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
            "gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": result,
        })
    };
    let input = json!([says("user", "Oslo and Lima?")]);
    let recording = Recording::default()
        .span((1, 0), "agent", (0, 90), operation("invoke_agent"))
        .chat((2, 1), (1, 10), input, json!([ask("c1", "Oslo"), ask("c2", "Lima")]))
        // The tools end in another order than they were requested.
        .span((3, 1), "tool", (20, 30), of(json!(r#"{"city": "Lima"}"#), "19C"))
        .span((4, 1), "tool", (21, 30), of(json!(r#"{"wrapped": "Oslo"}"#), "4C"));
    let found = turn(recording);
    let lima = ("weather", r#"{"city": "Lima"}"#.to_owned(), "c2", r#""19C""#.to_owned());
    assert_eq!(calls(&found), [lima, oslo("c1", r#""4C""#)]);
    let sources = &found.tool_calls[1].sources;
    let attribute = |source: &Option<crate::conversation::Source>| {
        source.as_ref().map(|source| source.attribute)
    };
    assert_eq!(attribute(&sources.arguments), Some("gen_ai.output.messages"));
    assert_eq!(attribute(&sources.result), Some("gen_ai.tool.call.result"));
}

#[test]
fn arguments_of_python_functions_are_taken_out_of_their_wrappers() {
    let arguments = |input: Value| {
        let recording = Recording::default()
            .span((1, 0), "agent", (0, 90), json!({"openinference.span.kind": "AGENT"}))
            .span(
                (2, 1),
                "weather.__call__",
                (1, 9),
                json!({"openinference.span.kind": "TOOL", "input.value": input.to_string()}),
            );
        let found = turn(recording);
        assert_eq!(found.tool_calls[0].name, "weather");
        to_python(&found.tool_calls[0].arguments)
    };
    let city = r#"{"city": "Oslo"}"#;
    assert_eq!(arguments(json!({"kwargs": {"city": "Oslo"}})), city);
    assert_eq!(arguments(json!({"args": [], "flag": true, "kwargs": {"city": "Oslo"}})), city);
    assert_eq!(arguments(json!({"args": ["Oslo"], "kwargs": {}})), "\"Oslo\"");
    let both = json!({"args": ["Oslo"], "kwargs": {"days": 3}});
    assert_eq!(arguments(both), r#"{"args": ["Oslo"], "kwargs": {"days": 3}}"#);
    assert_eq!(arguments(json!({"kwargs": {}, "n": 1})), r#"{"kwargs": {}, "n": 1}"#);
    // A callback of LangChain.
    let input = json!({"input_str": "{'city': 'Oslo'}", "tags": [], "metadata": {"step": 5}});
    let output = json!({"output": {"lc": 1, "kwargs": {"content": "4C", "tool_call_id": "c"}}});
    let recording =
        Recording::default().span((1, 0), "agent", (0, 90), operation("invoke_agent")).span(
            (2, 1),
            "tool",
            (1, 9),
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
                "traceloop.span.kind": "tool", "gen_ai.tool.call.arguments": input.to_string(),
                "gen_ai.tool.call.result": output.to_string(),
            }),
        );
    assert_eq!(calls(&turn(recording)), [oslo("c", r#""4C""#)]);
}

#[test]
fn a_call_that_two_instrumentations_record_counts_once_with_its_content() {
    let with_content = json!({
        "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "llm.output_messages.0.message.content": "hello", "llm.token_count.prompt": 1,
    });
    let empty = json!({
        "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5,
        "gen_ai.input.messages": "[]", "gen_ai.output.messages": "<REDACTED>",
    });
    let below = Recording::default().span((1, 0), "llm", (0, 50), with_content.clone()).span(
        (2, 1),
        "chat",
        (1, 49),
        empty.clone(),
    );
    let above = Recording::default().span((1, 0), "chat", (0, 50), empty.clone()).span(
        (2, 1),
        "llm",
        (1, 49),
        with_content.clone(),
    );
    let beside = Recording::default()
        .span((3, 0), "GET", (0, 99), json!({}))
        .span((1, 3), "llm", (0, 50), with_content.clone())
        .span((2, 3), "chat", (1, 49), empty.clone());
    for (recording, tokens) in [(below, 5), (above, 1), (beside, 1)] {
        let found = turn(recording);
        assert_eq!(said(&found), (Some("hi"), Some("hello")));
        let counts: Vec<_> =
            found.llm_calls.iter().map(|call| call.usage.unwrap().input_tokens).collect();
        assert_eq!(counts, [tokens]);
    }
    // Attempts without content below a call with content, from two libraries.
    let attempts = json!({
        "resourceSpans": [{"scopeSpans": [
            {"scope": {"name": "framework"}, "spans": [span(1, "", (0, 50), &with_content)]},
            {"scope": {"name": "client"}, "spans": [
                span(2, "0000000000000001", (1, 10), &empty),
                span(3, "0000000000000001", (20, 40), &empty),
            ]},
        ]}],
    });
    let formats = crate::trace::TraceFormats::default();
    let loaded = crate::trace::load_text(&attempts.to_string(), "t.json".as_ref(), &formats);
    let conversations = extract(&loaded.expect("a trace").traces, GroupBy::Auto, false);
    assert_eq!(conversations[0].turns[0].llm_calls.len(), 1);
}

fn span(number: u64, parent: &str, (start, end): (u64, u64), attributes: &Value) -> Value {
    let entry = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Number(number) => json!({"intValue": number}),
            other => json!({"stringValue": other}),
        };
        json!({"key": key, "value": value})
    };
    let attributes = attributes.as_object().expect("attributes");
    json!({
        "traceId": "0123456789abcdef0123456789abcdef", "spanId": format!("{number:016x}"),
        "parentSpanId": parent, "name": "span", "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes.iter().map(entry).collect::<Value>(),
    })
}

#[test]
fn the_error_of_a_tool_is_its_response_unless_there_is_another() {
    let tool = json!({"openinference.span.kind": "TOOL", "tool.name": "weather"});
    let run = || {
        Recording::default()
            .span((1, 0), "agent", (0, 90), operation("invoke_agent"))
            .span((2, 1), "tool", (20, 30), tool.clone())
            .failed("NoSuchCity: no such city")
    };
    let result = |recording| to_python(turn(recording).tool_calls[0].result.value());
    assert_eq!(result(run()), "\"NoSuchCity: no such city\"");
    let exception = json!({"exception.type": "E", "exception.message": "no such city"});
    assert_eq!(result(run().event("exception", exception.clone())), "\"no such city\"");
    let told = json!([
        says("user", "hi"),
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "try again"}]},
    ]);
    let output = json!([asks("c", "weather", json!({}))]);
    let recording = run()
        .event("exception", exception)
        .chat((3, 1), (1, 10), json!([says("user", "hi")]), output)
        .chat((4, 1), (40, 50), told, json!(null));
    assert_eq!(result(recording), "\"try again\"");
}

#[test]
fn langfuse_records_functions_and_the_calls_of_client_libraries() {
    let of = |kind: &str, input: Value, output: Value| {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        json!({
            "langfuse.observation.type": kind, "langfuse.observation.input": text(input),
            "langfuse.observation.output": text(output),
            "langfuse.observation.usage_details": r#"{"prompt_tokens": 7}"#,
        })
    };
    let messages = json!({"tools": [], "messages": [
        {"role": "system", "content": "be nice"}, {"role": "user", "content": "Oslo?"}
    ]});
    let request = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "function": {"name": "weather", "arguments": r#"{"city": "Oslo"}"#}}
    ]});
    let function = |city: &str| json!({"args": [], "kwargs": {"city": city}});
    let question = json!({"args": ["Oslo?"], "kwargs": {}});
    let recording = Recording::default()
        .span((1, 0), "run", (0, 90), of("agent", question, json!("Cold.")))
        .span((2, 1), "generation", (1, 10), of("generation", messages, request))
        .span((3, 1), "weather", (20, 30), of("tool", function("Oslo"), json!("4C")));
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("Cold.")));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);
    assert_eq!(found.llm_calls[0].usage.unwrap().input_tokens, 7);
}

#[test]
fn what_python_shows_of_objects_holds_messages_or_nothing() {
    let user = "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Oslo?')], _name=None)";
    let request = "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ToolCall(\
                   tool_name='weather', arguments={'city': 'Oslo'}, id='c', extra=None)])";
    let result = "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='4C', \
                  origin=ToolCall(tool_name='weather', arguments={'city': 'Oslo'}, id='c'), error=False)])";
    let answer = "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text=\"It's cold\")])";
    let recording = Recording::default().span((1, 0), "Pipeline.run", (0, 90), json!({
        "openinference.span.kind": "CHAIN",
        "input.value": json!({"data": {"agent": {"messages": [user]}}}).to_string(),
        "output.value": json!({"agent": {"messages": [user, request, result, answer]}}).to_string(),
    }));
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("It's cold")));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);

    let ended = |output: &str| {
        let recording = Recording::default()
            .span(
                (1, 0),
                "Agent.run",
                (0, 90),
                json!({
                    "openinference.span.kind": "CHAIN",
                    "output.value": output, "output.mime_type": "text/plain",
                }),
            )
            .span(
                (2, 1),
                "llm",
                (1, 9),
                json!({
                    "openinference.span.kind": "LLM",
                    "llm.output_messages.0.message.content": "of the model",
                }),
            );
        turn(recording).final_text.unwrap_or_default()
    };
    let whole = "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, \
                 blocks=[TextBlock(block_type='text', text='whole')]), raw=None))";
    assert_eq!(ended(whole), "whole");
    assert_eq!(ended(&format!("{}...", &whole[..90])), "of the model");
    assert_eq!(ended("f(x) = 2x"), "f(x) = 2x");
}

#[test]
fn a_crew_is_asked_by_its_tasks_and_answers_in_text() {
    let output = json!({"raw": "Cold.", "pydantic": null, "json_dict": null, "tasks_output": [
        {"raw": "Cold.", "messages": [{"role": "user", "content": "Current Task: Oslo?"}]}
    ]});
    let recording = Recording::default()
        .span(
            (1, 0),
            "Crew.kickoff",
            (0, 90),
            json!({
                "openinference.span.kind": "CHAIN", "output.value": output.to_string(),
                "crew_tasks": json!([{"description": "Oslo?", "agent_role": "expert"}]).to_string(),
            }),
        )
        .span((2, 1), "expert", (1, 80), json!({"openinference.span.kind": "AGENT"}));
    assert_eq!(said(&turn(recording)), (Some("Oslo?"), Some("Cold.")));
}

#[test]
fn results_that_only_the_run_records_complete_the_calls_of_the_model() {
    let user = json!({"role": "user", "content": "Oslo?"});
    let request = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "function": {"name": "weather", "arguments": r#"{"city": "Oslo"}"#}}
    ]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "4C"});
    let answer = json!({"role": "assistant", "content": "Cold."});
    let recording = Recording::default()
        .span(
            (1, 0),
            "run",
            (0, 90),
            json!({
                "openinference.span.kind": "CHAIN",
                "output.value": json!({"messages": [user, request, result, answer]}).to_string(),
            }),
        )
        .span(
            (2, 1),
            "llm",
            (1, 9),
            json!({
                "openinference.span.kind": "LLM",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":
                    r#"{"city": "Oslo"}"#,
            }),
        );
    let found = turn(recording);
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);
    assert_eq!(found.final_text.as_deref(), Some("Cold."));
}

#[test]
fn tool_calls_next_to_the_parts_of_a_message_count() {
    let input = json!([
        says("user", "Oslo?"),
        {"role": "assistant", "parts": [], "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "parts": [{"type": "text", "content": "4C"}]},
    ]);
    let recording = Recording::default()
        .span((1, 0), "GET", (0, 90), json!({}))
        .span(
            (2, 1),
            "chat",
            (1, 10),
            json!({
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json!([says("user", "Oslo?")]).to_string(),
                "gen_ai.output.messages": json!([{"role": "assistant", "parts": []}]).to_string(),
                "gen_ai.completion.0.function_call.name": "weather",
                "gen_ai.completion.0.function_call.arguments": r#"{"city": "Oslo"}"#,
            }),
        )
        .chat((3, 1), (20, 30), input, json!([says("assistant", "Cold.")]));
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("Cold.")));
    assert_eq!(calls(&found), [oslo("", r#""4C""#)]);
}

#[test]
fn an_id_that_the_next_turn_uses_again_has_its_own_result() {
    let ask = |city: &str| asks("call_0", "weather", json!({"city": city}));
    let answer = |text: &str| {
        json!({"role": "user", "parts": [
            {"type": "tool_call_response", "id": "call_0", "response": text}
        ]})
    };
    let earlier = [says("user", "Lima?"), ask("Lima"), answer("19C"), says("assistant", "Warm.")];
    let history = |more: &[Value]| {
        let all: Vec<Value> =
            earlier.iter().chain([&says("user", "Oslo?")]).chain(more).cloned().collect();
        json!(all)
    };
    let recording = Recording::default()
        .span((1, 0), "GET", (0, 90), json!({}))
        .chat((2, 1), (1, 10), history(&[]), json!([ask("Oslo")]))
        .chat(
            (3, 1),
            (20, 30),
            history(&[ask("Oslo"), answer("4C")]),
            json!([says("assistant", "Cold.")]),
        );
    assert_eq!(calls(&turn(recording)), [oslo("call_0", r#""4C""#)]);
}

#[test]
fn what_a_producer_did_not_record_is_unknown() {
    use crate::conversation::TurnPart;
    let unknown = |recording: Recording| {
        let found = turn(recording);
        found.unrecorded.iter().map(|unknown| unknown.part).collect::<Vec<_>>()
    };
    let agent = || Recording::default().span((1, 0), "agent", (0, 90), operation("invoke_agent"));
    let silent = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 5});
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"});
    let without_content = agent().span((2, 1), "chat", (1, 9), silent.clone());
    assert_eq!(unknown(without_content), [TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls]);
    let with_tool = agent().span((2, 1), "tool", (1, 9), tool);
    assert_eq!(unknown(with_tool), [TurnPart::User, TurnPart::Answer, TurnPart::Arguments]);
    let mut asked = silent.clone();
    asked["gen_ai.response.finish_reasons"] = json!(["tool_calls"]);
    let requested = agent().span((2, 1), "chat", (1, 9), asked);
    assert_eq!(unknown(requested), [TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls]);
    // An agent that failed has no answer, and one that said nothing is known to have said nothing.
    let failed = agent().span((2, 1), "chat", (1, 9), silent).failed("boom");
    assert_eq!(unknown(failed), [TurnPart::User]);
    let input = json!([says("user", "hi")]);
    let quiet = agent().chat((2, 1), (1, 9), input, json!([asks("c", "t", json!({}))]));
    assert_eq!(unknown(quiet), []);
    let text = |recording: Recording| turn(recording).unrecorded[0].to_string();
    let missing = "the text of the user was not recorded: there is no gen_ai.input.messages";
    assert_eq!(text(agent()), missing);
    assert_eq!(
        text(agent().with_scope("agent_framework")),
        format!("{missing}; to record content, set ENABLE_SENSITIVE_DATA=true")
    );
}

#[test]
fn langsmith_records_arguments_and_results_of_langchain() {
    let of = |operation: &str, kind: &str, input: Value, output: Value| {
        json!({
            "gen_ai.operation.name": operation, "langsmith.span.kind": kind,
            "gen_ai.prompt": input.to_string(), "gen_ai.completion": output.to_string(),
        })
    };
    let message = |kind: &str, members: Value| json!({"lc": 1, "id": [kind], "kwargs": members});
    let asked = message("HumanMessage", json!({"type": "human", "content": "Oslo?"}));
    let request = message(
        "AIMessage",
        json!({"type": "ai", "content": "", "tool_calls": [
            {"name": "weather", "args": {"city": "Oslo"}, "id": "c", "type": "tool_call"}
        ]}),
    );
    let answer = json!({"type": "ai", "content": "Cold."});
    let result = json!({"type": "tool", "content": "4C", "tool_call_id": "c"});
    let generations = json!({"generations": [[{"text": "", "message": request}]]});
    let recording = Recording::default()
        .span(
            (1, 0),
            "bot",
            (0, 90),
            of(
                "chain",
                "chain",
                json!({"messages": [{"role": "user", "content": "Oslo?"}]}),
                json!({"messages": [{"type": "human", "content": "Oslo?"}, answer]}),
            ),
        )
        .span(
            (2, 1),
            "model",
            (1, 9),
            of("chat", "llm", json!({"messages": [[asked]]}), generations),
        )
        .span(
            (3, 1),
            "weather",
            (20, 30),
            of("execute_tool", "tool", json!({"city": "Oslo"}), json!({"output": result})),
        );
    let found = turn(recording);
    assert_eq!(said(&found), (Some("Oslo?"), Some("Cold.")));
    assert_eq!(calls(&found), [oslo("c", r#""4C""#)]);
}

#[test]
fn a_registered_convention_precedes_the_built_in_ones() {
    use std::borrow::Cow;

    use crate::{
        conversation::{Convention, Group, Kind, Message, SpanDraft, extract_group},
        trace::Span,
    };

    #[derive(Debug)]
    struct Own;

    impl Convention for Own {
        fn name(&self) -> &'static str {
            "own"
        }

        fn kind(&self, span: &Span) -> Option<Kind> {
            (span.name == "own run").then_some(Kind::Agent)
        }

        fn read(&self, draft: &mut SpanDraft<'_>) {
            if let Some(asked) = draft.span().attributes.get("own.question") {
                let text = asked.as_str().unwrap_or_default();
                draft.set_input(vec![Message::text("user", text)], "own.question");
                draft.fill("gen_ai.agent.name", Cow::Borrowed(asked), "own.question");
            }
        }
    }

    let mut conventions = Conventions::default();
    conventions.register(Own);
    let attributes = json!({"own.question": "hi", "gen_ai.operation.name": "chat"});
    let trace = Recording::default().span((1, 0), "own run", (0, 9), attributes).trace();
    let turn = extract_group(&Group::new(vec![&trace]), &conventions).turns.remove(0);
    assert_eq!(said(&turn), (Some("hi"), None));
    assert!(!turn.root_anchored);
    assert_eq!(turn.user_source.map(|source| source.attribute), Some("own.question"));
}
