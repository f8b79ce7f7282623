//! Answers without text, texts before answers, and what is known of agents, in the ways of each convention.

use serde_json::{Value, json};

use crate::conversation::{
    GroupBy, Turn, TurnPart, extract,
    testing::{Recording, answers, asks, says},
};

fn turn(recording: Recording) -> Turn {
    let mut turns = extract(&[recording.trace()], GroupBy::Auto, false).remove(0).turns;
    assert_eq!(turns.len(), 1, "{turns:?}");
    turns.remove(0)
}

/// Returns the attributes of a model call of which only the answer differs.
fn chat(more: Value) -> Recording {
    let mut attributes = json!({"gen_ai.operation.name": "chat"});
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Recording::default().span((1, 0), "chat", (0, 9), attributes)
}

fn messages(output: Value) -> Recording {
    let input = json!([says("user", "hi")]).to_string();
    chat(json!({"gen_ai.input.messages": input, "gen_ai.output.messages": output.to_string()}))
}

fn events(choice: Value) -> Recording {
    chat(json!({}))
        .event("gen_ai.user.message", json!({"content": "hi"}))
        .event("gen_ai.choice", choice)
}

fn strands(choice: Value) -> Recording {
    Recording::default()
        .with_scope("strands.telemetry.tracer")
        .span((1, 0), "chat", (0, 9), json!({"gen_ai.operation.name": "chat"}))
        .event("gen_ai.user.message", json!({"content": r#"[{"text": "hi"}]"#}))
        .event("gen_ai.choice", choice)
}

fn adk(response: Value) -> Recording {
    let request = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).to_string();
    Recording::default().with_scope("gcp.vertex.agent").span(
        (1, 0),
        "call_llm",
        (0, 9),
        json!({
            "gcp.vertex.agent.llm_request": request,
            "gcp.vertex.agent.llm_response": response.to_string(),
        }),
    )
}

fn traceloop(completion: Value) -> Recording {
    let mut attributes = json!({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"});
    for (key, value) in completion.as_object().unwrap() {
        attributes[format!("gen_ai.completion.0.{key}")] = value.clone();
    }
    chat(attributes)
}

fn openinference(more: Value) -> Recording {
    let mut attributes = json!({
        "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
    });
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Recording::default().span((1, 0), "model", (0, 9), attributes)
}

fn pydantic(answer: Value) -> Recording {
    let user = json!({"event.name": "gen_ai.user.message", "content": "hi"});
    chat(json!({"events": json!([user, answer]).to_string()})).with_scope("pydantic-ai")
}

fn langfuse(output: Value) -> Recording {
    Recording::default().span(
        (1, 0),
        "model",
        (0, 9),
        json!({
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json!([{"role": "user", "content": "hi"}]).to_string(),
            "langfuse.observation.output": output,
        }),
    )
}

#[test]
fn an_empty_answer_is_an_answer() {
    let part = |content: &str| json!([{"role": "assistant", "parts": [{"type": "text", "content": content}]}]);
    let assistant = json!({"role": "assistant"});
    for (name, recording) in [
        ("empty text", messages(part(""))),
        ("blank text", messages(part(" \n"))),
        (
            "no parts",
            messages(json!([{"role": "assistant", "parts": [], "finish_reason": "length"}])),
        ),
        ("a reason", messages(json!([{"role": "assistant", "finish_reason": "length"}]))),
        ("only a reason", messages(json!([{"finish_reason": "length"}]))),
        ("null", messages(json!([{"role": "assistant", "content": null}]))),
        (
            "reasoning",
            messages(
                json!([{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]}]),
            ),
        ),
        ("choice", events(json!({"message": assistant, "finish_reason": "stop"}))),
        ("choice with text", events(json!({"message": {"role": "assistant", "content": ""}}))),
        ("choice with content", events(json!({"content": ""}))),
        ("no blocks", strands(json!({"message": "[]"}))),
        ("an empty block", strands(json!({"message": r#"[{"text": ""}]"#}))),
        ("ADK's reason", adk(json!({"finish_reason": "MAX_TOKENS"}))),
        ("ADK's content", adk(json!({"content": {"role": "model", "parts": [{"text": ""}]}}))),
        ("a role", traceloop(json!({"role": "assistant", "finish_reason": "length"}))),
        ("indexed text", traceloop(json!({"role": "assistant", "content": ""}))),
        ("quotes", traceloop(json!({"role": "assistant", "content": "\"\""}))),
        (
            "flattened role",
            openinference(json!({"llm.output_messages.0.message.role": "assistant"})),
        ),
        (
            "flattened text",
            openinference(json!({
                "llm.output_messages.0.message.content": "", "output.value": "assistant: ",
            })),
        ),
        (
            "list of events",
            pydantic(json!({"event.name": "gen_ai.assistant.message", "content": ""})),
        ),
        ("object", langfuse(json!(r#"{"role": "assistant", "content": ""}"#))),
    ] {
        let turn = turn(recording);
        assert_eq!(turn.user_text.as_deref(), Some("hi"), "{name}");
        assert_eq!(turn.final_text.as_deref(), Some(""), "{name}");
        assert!(turn.unrecorded.is_empty() && turn.final_source.is_some(), "{name}: {turn:?}");
    }
}

#[test]
fn an_answer_that_was_withheld_is_unknown() {
    let text = |content: Value| json!([{"role": "assistant", "parts": [{"type": "text", "content": content}]}]);
    let silent = chat(json!({}))
        .event("gen_ai.user.message", json!({}))
        .event("gen_ai.choice", json!({"message": {"role": "assistant"}, "finish_reason": "stop"}));
    for (name, recording) in [
        ("no message", messages(json!([]))),
        ("placeholder", messages(text(json!("<REDACTED>")))),
        ("no text", messages(text(Value::Null))),
        ("events without content", silent),
        ("ADK without content", adk(json!({}))),
        (
            "hidden text",
            openinference(json!({
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "__REDACTED__",
            })),
        ),
    ] {
        let turn = turn(recording);
        assert_eq!(turn.final_text, None, "{name}");
        assert!(turn.unrecorded(TurnPart::Answer).is_some(), "{name}: {turn:?}");
    }
}

#[test]
fn the_turn_says_whether_its_answer_is_empty() {
    let agent = |output: Value| {
        let attributes = json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": output.to_string(),
        });
        Recording::default().span((1, 0), "agent", (0, 90), attributes)
    };
    let user = || json!([says("user", "hi")]);
    let look = || {
        json!([{"role": "assistant", "parts": [
            {"type": "text", "content": "Let me look."},
            {"type": "tool_call", "id": "c", "name": "t", "arguments": {}},
        ]}])
    };
    let answer = |recording: Recording| turn(recording).final_text;
    // The text before a tool call is no answer if there is one, even an empty one.
    let called = agent(json!([])).chat((2, 1), (1, 9), user(), look());
    let empty = called.chat((3, 1), (10, 19), user(), json!([says("assistant", "")]));
    assert_eq!(answer(empty).as_deref(), Some(""));
    assert_eq!(
        answer(agent(json!([])).chat((2, 1), (1, 9), user(), look())).as_deref(),
        Some("Let me look.")
    );
    // An agent that says nothing of itself leaves the answer to its model.
    let model = || json!([says("assistant", "Cold.")]);
    assert_eq!(
        answer(agent(json!([])).chat((2, 1), (1, 9), user(), model())).as_deref(),
        Some("Cold.")
    );
    let said_nothing = agent(json!([says("assistant", "")])).chat((2, 1), (1, 9), user(), model());
    assert_eq!(answer(said_nothing).as_deref(), Some(""));
    // What failed has not answered.
    let failed = Recording::default()
        .chat((1, 0), (0, 9), user(), json!([{"role": "assistant", "parts": []}]))
        .failed("boom");
    let failed = turn(failed);
    assert_eq!(failed.final_text, None);
    assert_eq!(failed.failure.unwrap().message, "boom");
}

#[test]
fn without_any_content_tool_calls_are_unknown_and_the_library_decides_the_hint() {
    let silent = |scope| {
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 5});
        turn(Recording::default().with_scope(scope).span((1, 0), "chat", (0, 9), attributes))
    };
    let parts: Vec<TurnPart> = silent("x").unrecorded.iter().map(|it| it.part).collect();
    assert_eq!(parts, [TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls]);
    for (scope, switch) in [
        ("some.library", None),
        ("opentelemetry.instrumentation.anthropic", Some("set TRACELOOP_TRACE_CONTENT=true")),
        (
            "opentelemetry.instrumentation.openai_v2",
            Some(
                "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and \
                 OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
            ),
        ),
    ] {
        assert_eq!(silent(scope).unrecorded[0].switch, switch, "{scope}");
    }
    // An agent records its tools, so the reasons of its model are reliable.
    let stopped =
        json!({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]});
    let agent = Recording::default()
        .span((1, 0), "agent", (0, 90), json!({"gen_ai.operation.name": "invoke_agent"}))
        .span((2, 1), "chat", (1, 9), stopped.clone());
    assert!(turn(agent).unrecorded(TurnPart::ToolCalls).is_none());
    let client = Recording::default().span((1, 0), "chat", (1, 9), stopped);
    assert!(turn(client).unrecorded(TurnPart::ToolCalls).is_some());
}

/// Returns the texts before the answer, each with the number of tool calls before it.
fn texts(turn: &Turn) -> Vec<(&str, usize)> {
    turn.texts.iter().map(|text| (text.text.as_str(), text.after_calls)).collect()
}

#[test]
fn texts_before_tool_calls_are_part_of_the_turn() {
    let look = |text: &str, id: &str| {
        json!({"role": "assistant", "parts": [
            {"type": "text", "content": text},
            {"type": "tool_call", "id": id, "name": "t", "arguments": {}},
        ]})
    };
    let user = || json!([says("user", "hi")]);
    let expected = [("Let me look.", 0), ("And there.", 1)];
    let run = || {
        Recording::default()
            .span((1, 0), "agent", (0, 90), json!({"gen_ai.operation.name": "invoke_agent"}))
            .chat((2, 1), (1, 9), user(), json!([look("Let me look.", "a")]))
            .chat(
                (3, 1),
                (20, 29),
                json!([answers("a", json!(1))]),
                json!([look("And there.", "b")]),
            )
            .chat(
                (4, 1),
                (40, 49),
                json!([answers("b", json!(2))]),
                json!([says("assistant", "In Lund.")]),
            )
    };
    let found = turn(run());
    assert_eq!(texts(&found), expected);
    assert_eq!(found.final_text.as_deref(), Some("In Lund."));
    assert_eq!(found.texts[0].source.as_ref().unwrap().attribute, "gen_ai.output.messages");
    // With spans of tools that have no id, the time decides.
    let tool = |recording: Recording, number, start| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"});
        recording.span((number, 1), "t", (start, start + 5), attributes)
    };
    assert_eq!(texts(&turn(tool(tool(run(), 5, 10), 6, 30))), expected);
    // Only the agent has messages, of its whole run.
    let whole = json!([
        look("Let me look.", "a"),
        answers("a", json!(1)),
        look("And there.", "b"),
        answers("b", json!(2)),
        says("assistant", "In Lund."),
    ]);
    let attributes = json!({
        "gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": whole.to_string(),
    });
    let found = turn(Recording::default().span((1, 0), "agent", (0, 90), attributes));
    assert_eq!(found.final_text.as_deref(), Some("In Lund."));
    assert_eq!(texts(&found), [("Let me look.", 0), ("And there.", 0)]);
    // What a tool's own model says, and the answer itself, are not before the answer.
    let found = turn(
        Recording::default()
            .span((1, 0), "agent", (0, 90), json!({"gen_ai.operation.name": "invoke_agent"}))
            .chat((2, 1), (1, 9), user(), json!([look("Last words.", "a")])),
    );
    assert_eq!((found.final_text.as_deref(), texts(&found)), (Some("Last words."), Vec::new()));
}

#[test]
fn instructions_and_tools_are_read_from_every_convention() {
    let schema = json!({"type": "object"});
    let declared = json!({"name": "t", "description": "d", "parameters": schema});
    let list = |item: Value| json!([item]).to_string();
    let with_system = json!([says("system", "Be kind."), says("user", "hi")]).to_string();
    let request = json!({
        "contents": [], "config": {"system_instruction": "Be kind.", "tools": [{"function_declarations": [declared]}]},
    });
    let of_pydantic = json!({"function_tools": [{"name": "t", "description": "d", "parameters_json_schema": schema}]});
    let parts = json!([{"type": "text", "content": "Be kind."}]).to_string();
    let with_wrapped = json!([{"role": "system", "content": "Be kind."}]);
    for (name, recording) in [
        ("genai", chat(json!({
            "gen_ai.system_instructions": parts, "gen_ai.tool.definitions": list(declared.clone()),
        }))),
        ("event", chat(json!({})).event("gen_ai.client.inference.operation.details", json!({
            "gen_ai.system_instructions": parts,
            "gen_ai.tool.definitions": list(json!({"type": "function", "function": declared})),
        }))),
        ("system message", chat(json!({
            "gen_ai.input.messages": with_system,
            "gen_ai.tool.definitions": list(json!({"name": "t", "description": "d", "input_schema": schema})),
        }))),
        ("bedrock", chat(json!({
            "gen_ai.input.messages": with_system,
            "gen_ai.tool.definitions": list(json!({"toolSpec": {"name": "t", "description": "d", "inputSchema": {"json": schema}}})),
        }))),
        ("adk", Recording::default().with_scope("gcp.vertex.agent").span((1, 0), "call_llm", (0, 9), json!({
            "gcp.vertex.agent.llm_request": request.to_string(),
        }))),
        ("traceloop", chat(json!({
            "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be kind.",
            "llm.request.functions.0.name": "t", "llm.request.functions.0.description": "d",
            "llm.request.functions.0.parameters": schema.to_string(),
        }))),
        ("openinference", openinference(json!({
            "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be kind.",
            "llm.tools.0.tool.json_schema": declared.to_string(),
        }))),
        ("parameters", openinference(json!({
            "llm.invocation_parameters": json!({"instructions": "Be kind.", "tools": [declared]}).to_string(),
        }))),
        ("pydantic-ai", chat(json!({
            "events": json!([{"event.name": "gen_ai.system.message", "content": "Be kind."}]).to_string(),
            "model_request_parameters": of_pydantic.to_string(),
        })).with_scope("pydantic-ai")),
        ("logfire", chat(json!({
            "request_data": json!({"instructions": "Be kind.", "tools": [declared]}).to_string(),
        })).with_scope("logfire.openai_agents")),
        ("vercel-ai", Recording::default().span((1, 0), "ai.generateText.doGenerate", (0, 9), json!({
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt": json!({"system": "Be kind.", "prompt": "hi"}).to_string(),
            "ai.prompt.tools": [json!({"type": "function", "name": "t", "description": "d", "inputSchema": schema}).to_string()],
        }))),
        ("langfuse", Recording::default().span((1, 0), "model", (0, 9), json!({
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json!({"messages": with_wrapped, "tools": [declared]}).to_string(),
        }))),
    ] {
        let turn = turn(recording);
        let [agent] = &turn.agents[..] else { panic!("{name}: {turn:?}") };
        assert_eq!(agent.instructions.as_deref(), Some("Be kind."), "{name}");
        let [tool] = &agent.tools[..] else { panic!("{name}: {agent:?}") };
        let parameters = crate::json::to_python(&tool.parameters);
        assert_eq!(
            (tool.name.as_str(), tool.description.as_deref(), parameters.as_str()),
            ("t", Some("d"), r#"{"type": "object"}"#),
            "{name}"
        );
        assert!(agent.instructions_source.is_some() && agent.tools_source.is_some(), "{name}");
    }
}

#[test]
fn each_agent_has_instructions_of_its_own_and_tools_have_none() {
    let agent =
        |name: &str| json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name});
    let input = |text: &str| json!([says("system", text), says("user", "hi")]);
    let recording = Recording::default()
        .span((1, 0), "run", (0, 90), json!({"gen_ai.operation.name": "invoke_workflow"}))
        .span((2, 1), "agent", (0, 40), agent("one"))
        .chat((3, 2), (1, 9), input("Be kind."), json!([asks("c", "t", json!({}))]))
        .span(
            (4, 2),
            "t",
            (10, 30),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}),
        )
        .chat((5, 4), (11, 20), input("You are a tool."), json!([says("assistant", "1")]))
        .chat((6, 2), (31, 39), input("Be kind, again."), json!([says("assistant", "2")]))
        .span((7, 1), "agent", (50, 80), agent("two"))
        .chat((8, 7), (51, 60), input("Be short."), json!([says("assistant", "3")]));
    let turn = turn(recording);
    let agents: Vec<_> = turn
        .agents
        .iter()
        .map(|it| (it.name.as_deref().unwrap(), it.instructions.as_deref().unwrap()))
        .collect();
    assert_eq!(agents, [("one", "Be kind."), ("two", "Be short.")]);
}
