//! Recordings as Vercel's AI SDK makes them, with the fewest spans that show each rule.

use serde_json::{Value, json};

use crate::{
    conversation::{
        Conversation, GroupBy, Turn, TurnPart, extract,
        testing::{Recording, answers, asks, says},
    },
    json::to_python,
};

fn conversation(recording: Recording) -> Conversation {
    extract(&[recording.trace()], GroupBy::Trace, false).remove(0)
}

/// Returns the only turn of a recording.
fn turn(recording: Recording) -> Turn {
    let mut conversation = conversation(recording);
    assert_eq!(conversation.errors, Vec::<String>::new());
    assert_eq!(conversation.turns.len(), 1, "{:?}", conversation.turns);
    conversation.turns.remove(0)
}

fn said(turn: &Turn) -> (Option<&str>, Option<&str>) {
    (turn.user_text.as_deref(), turn.final_text.as_deref())
}

fn tools(turn: &Turn) -> Vec<String> {
    let row = |call: &crate::conversation::ToolCall| {
        let (arguments, result) = (to_python(&call.arguments), to_python(call.result.value()));
        format!("{} {arguments} -> {result}", call.name)
    };
    turn.tool_calls.iter().map(row).collect()
}

/// Attributes of a span of this operation. Objects and lists are recorded as JSON text.
fn operation(id: &str, more: Value) -> Value {
    let mut attributes = json!({"ai.operationId": id, "ai.telemetry.functionId": "bot"});
    for (key, value) in more.as_object().expect("attributes") {
        let is_structure = (value.is_object() || value.is_array())
            && !matches!(&**key, "ai.prompt.tools" | "gen_ai.response.finish_reasons");
        attributes[key] =
            if is_structure { Value::String(value.to_string()) } else { value.clone() };
    }
    attributes
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

/// A message that requests the weather.
fn request(id: &str) -> Value {
    json!({"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": id, "toolName": "weather", "input": {"city": "Oslo"}}
    ]})
}

/// A message with the result of the tool.
fn result(id: &str, output: Value) -> Value {
    json!({"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": id, "toolName": "weather", "output": output}
    ]})
}

/// The tool calls of an answer, with arguments as JSON text.
fn requested(id: &str) -> Value {
    json!([{"toolCallId": id, "toolName": "weather", "input": r#"{"city": "Oslo"}"#}])
}

/// A call of the SDK with a model call that requests a tool, and one that answers; `of_root` are more attributes.
fn call(of_root: Value, of_tool: Value, output: Value) -> Recording {
    let mut root = json!({
        "ai.prompt": {"system": "Be brief.", "messages": [user("Oslo?")]},
        "ai.response.text": "It is cold.",
        "ai.usage.inputTokens": 110,
    });
    root.as_object_mut()
        .expect("an object")
        .extend(of_root.as_object().cloned().unwrap_or_default());
    let first = json!({
        "ai.prompt.messages": [user("Oslo?")],
        "ai.response.text": "Let me look.",
        "ai.response.toolCalls": requested("c"),
        "gen_ai.system": "openai.chat", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 10,
        "ai.usage.cachedInputTokens": 40, "ai.usage.inputTokenDetails.cacheWriteTokens": 3,
    });
    let mut tool = json!({"ai.toolCall.name": "weather", "ai.toolCall.id": "c"});
    tool.as_object_mut()
        .expect("an object")
        .extend(of_tool.as_object().cloned().unwrap_or_default());
    let last = json!({
        "ai.prompt.messages": [user("Oslo?"), request("c"), result("c", output)],
        "ai.response.text": "It is cold.",
        "gen_ai.system": "openai.chat", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 60, "gen_ai.usage.output_tokens": 5,
    });
    let step = |more| operation("ai.generateText.doGenerate", more);
    Recording::default()
        .with_scope("ai")
        .span((1, 0), "ai.generateText", (0, 90), operation("ai.generateText", root))
        .span((2, 1), "ai.generateText.doGenerate", (1, 10), step(first))
        .span((3, 1), "ai.toolCall", (20, 30), operation("ai.toolCall", tool))
        .span((4, 1), "ai.generateText.doGenerate", (40, 50), step(last))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "value": text})
}

#[test]
fn a_call_is_a_turn_with_its_model_calls_and_tools() {
    let of_tool = json!({"ai.toolCall.args": {"city": "Oslo"}, "ai.toolCall.result": "\"4C\""});
    let conversation = conversation(call(json!({}), of_tool, text("4C")));
    let turn = &conversation.turns[0];
    assert_eq!(said(turn), (Some("Oslo?"), Some("It is cold.")));
    assert_eq!(tools(turn), [r#"weather {"city": "Oslo"} -> "4C""#]);
    assert_eq!((turn.agent_name.as_deref(), turn.llm_calls.len()), (Some("bot"), 2));
    assert_eq!(turn.tool_calls[0].call_id.as_deref(), Some("c"));
    assert_eq!(turn.tool_calls[0].span, Some((20_000_000, 30_000_000)));
    let tokens = conversation.performance.expect("figures").tokens;
    assert_eq!((tokens.total_prompt, tokens.total_output), (110, 15));
    assert_eq!((tokens.cache_read_tokens, tokens.cache_creation_tokens), (40, 3));
    assert_eq!((conversation.warnings.len(), turn.unrecorded.len()), (0, 0));
}

#[test]
fn the_span_of_a_call_may_repeat_all_tool_calls() {
    let repeated = json!({"ai.response.toolCalls": requested("c")});
    let turn = turn(call(repeated, json!({}), text("4C")));
    assert_eq!(turn.final_source.map(|source| source.attribute), Some("ai.response.text"));
    assert_eq!(turn.tool_calls.len(), 1);
}

#[test]
fn outputs_of_tools_name_the_kind_of_their_value() {
    for (output, wanted) in [
        (text("4C"), r#""4C""#),
        (json!({"type": "json", "value": {"t": 4}}), r#"{"t": 4}"#),
        (json!({"type": "error-text", "value": "no such city"}), r#""no such city""#),
        (json!({"type": "content", "value": [{"type": "text", "text": "4C"}]}), r#""4C""#),
        (json!({"type": "execution-denied"}), r#"{"type": "execution-denied"}"#),
    ] {
        assert_eq!(
            tools(&turn(call(json!({}), json!({}), output))),
            [format!(r#"weather {{"city": "Oslo"}} -> {wanted}"#)]
        );
    }
    let older = json!([
        user("Oslo?"),
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c", "toolName": "weather", "args": {"city": "Oslo"}}
        ]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c", "toolName": "weather", "result": {"t": 4}}
        ]},
    ]);
    let calls = json!([{"toolCallId": "c", "toolName": "weather", "args": "{\"city\": \"Oslo\"}"}]);
    let step = |more| operation("ai.streamText.doStream", more);
    let recording = Recording::default()
        .span(
            (1, 0),
            "x",
            (0, 90),
            operation("ai.streamText", json!({"ai.prompt": {"prompt": "Oslo?"}})),
        )
        .span(
            (2, 1),
            "x",
            (1, 10),
            step(json!({"ai.response.text": "", "ai.response.toolCalls": calls})),
        )
        .span(
            (3, 1),
            "x",
            (20, 30),
            step(json!({"ai.prompt.messages": older, "ai.response.text": "4."})),
        );
    let turn = turn(recording);
    assert_eq!(said(&turn), (Some("Oslo?"), Some("4.")));
    assert_eq!(tools(&turn), [r#"weather {"city": "Oslo"} -> {"t": 4}"#]);
}

#[test]
fn a_call_after_tools_of_the_application_continues_the_turn() {
    let asked = json!({"messages": [{"role": "user", "content": "Oslo?"}]});
    let answered = json!({"messages": [{"role": "user", "content": "Oslo?"}, request("c"), result("c", text("4C"))]});
    let round = |number: u64, prompt: &Value, history: Value, more: Value| {
        let mut step = json!({"ai.prompt.messages": history});
        step.as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        let root = operation("ai.streamText", json!({"ai.prompt": prompt, "session.id": "s"}));
        let at = number * 100;
        Recording::default()
            .with_trace_id(number)
            .span((10 * number, 0), "ai.streamText", (at, at + 50), root)
            .span(
                (10 * number + 1, 10 * number),
                "ai.streamText.doStream",
                (at + 1, at + 40),
                operation("ai.streamText.doStream", step),
            )
            .trace()
    };
    let traces = [
        round(1, &asked, json!([user("Oslo?")]), json!({"ai.response.toolCalls": requested("c")})),
        round(
            2,
            &answered,
            json!([user("Oslo?"), request("c"), result("c", text("4C"))]),
            json!({"ai.response.text": "It is cold."}),
        ),
    ];
    let conversations = extract(&traces, GroupBy::Conversation, false);
    let [turn] = &conversations[0].turns[..] else { panic!("{conversations:?}") };
    assert_eq!(said(turn), (Some("Oslo?"), Some("It is cold.")));
    assert_eq!(tools(turn), [r#"weather {"city": "Oslo"} -> "4C""#]);
    assert_eq!(turn.agent_name.as_deref(), Some("bot"));
}

#[test]
fn such_a_call_continues_the_turn_in_the_genai_conventions_too() {
    let request = asks("c", "weather", json!({"city": "Oslo"}));
    let round = |number: u64, input: Value, output: Value| {
        let of = |operation: &str| {
            json!({
                "gen_ai.operation.name": operation, "gen_ai.conversation.id": "s",
                "gen_ai.input.messages": input.to_string(),
                "gen_ai.output.messages": json!([output]).to_string(),
            })
        };
        let at = number * 100;
        Recording::default()
            .with_trace_id(number)
            .with_scope("gen_ai")
            .span((10 * number, 0), "invoke_agent m", (at, at + 50), of("invoke_agent"))
            .span((10 * number + 1, 10 * number), "chat m", (at + 1, at + 40), of("chat"))
            .trace()
    };
    let asked = says("user", "Oslo?");
    let result = answers("c", json!("4C"));
    let traces = [
        round(1, json!([asked]), request.clone()),
        round(2, json!([asked, request, result]), says("assistant", "It is cold.")),
    ];
    let conversations = extract(&traces, GroupBy::Conversation, false);
    let [turn] = &conversations[0].turns[..] else { panic!("{conversations:?}") };
    assert_eq!(said(turn), (Some("Oslo?"), Some("It is cold.")));
    assert_eq!(tools(turn), [r#"weather {"city": "Oslo"} -> "4C""#]);
}

#[test]
fn an_object_is_the_answer() {
    let object = |id, object: Value| operation(id, json!({"ai.response.object": object}));
    let mut root = object("ai.streamObject", json!({"t": 4}));
    root["ai.prompt"] = json!({"prompt": "Oslo?"}).to_string().into();
    let recording = Recording::default().span((1, 0), "ai.streamObject", (0, 90), root).span(
        (2, 1),
        "x",
        (1, 10),
        object("ai.streamObject.doStream", json!({"t": 4})),
    );
    let turn = turn(recording);
    assert_eq!(said(&turn), (Some("Oslo?"), Some(r#"{"t":4}"#)));
    assert_eq!(turn.llm_calls.len(), 1);
}

#[test]
fn a_call_inside_of_a_tool_belongs_to_the_turn() {
    let inner = |id, more| operation(id, more);
    let recording = call(json!({}), json!({"ai.toolCall.result": "\"4C\""}), text("4C"))
        .span((5, 3), "x", (21, 29), inner("ai.generateText", json!({"ai.response.text": "4C"})))
        .span((6, 5), "x", (22, 28), inner("ai.generateText.doGenerate", json!({})));
    let turn = turn(recording);
    assert_eq!(said(&turn), (Some("Oslo?"), Some("It is cold.")));
    assert_eq!(turn.llm_calls.iter().filter(|call| call.delegated).count(), 1);
}

#[test]
fn what_is_switched_off_is_unknown() {
    let step =
        json!({"gen_ai.response.finish_reasons": ["tool-calls"], "gen_ai.request.model": "m"});
    let recording = Recording::default()
        .span((1, 0), "x", (0, 90), operation("ai.generateText", json!({})))
        .span((2, 1), "x", (1, 10), operation("ai.generateText.doGenerate", step));
    let turn = turn(recording);
    let unknown = |part| turn.unrecorded(part).expect("unknown");
    for (part, attribute) in [
        (TurnPart::User, "ai.prompt.messages"),
        (TurnPart::Answer, "ai.response.text"),
        (TurnPart::ToolCalls, "ai.response.text"),
    ] {
        assert_eq!(unknown(part).attribute, attribute);
        assert!(unknown(part).switch.is_some_and(|switch| switch.contains("recordOutputs: true")));
    }
    let release_7 = json!({"gen_ai.operation.name": "chat"});
    let recording =
        Recording::default().with_scope("gen_ai").span((1, 0), "chat", (0, 9), release_7);
    let turn = self::turn(recording);
    let switch = turn.unrecorded(TurnPart::Answer).and_then(|unknown| unknown.switch);
    assert!(switch.is_some_and(|switch| switch.starts_with("set telemetry: {recordInputs: true")));
}

#[test]
fn failures_are_failures_of_the_turn() {
    let root = || json!({"ai.prompt": {"prompt": "Oslo?"}});
    let failed = Recording::default()
        .span((1, 0), "ai.generateText", (0, 90), operation("ai.generateText", root()))
        .failed("Too many requests")
        .span((2, 1), "x", (1, 10), operation("ai.generateText.doGenerate", json!({})))
        .failed("Too many requests");
    assert_eq!(turn(failed).failure.expect("a failure").message, "Too many requests");

    let mut broken = root();
    broken["ai.response.finishReason"] = "error".into();
    broken["ai.response.text"] = "It is".into();
    let step = json!({"ai.response.finishReason": "error"});
    let broken = Recording::default()
        .span((1, 0), "ai.streamText", (0, 90), operation("ai.streamText", broken))
        .span((2, 1), "x", (1, 10), operation("ai.streamText.doStream", step));
    assert_eq!(turn(broken).failure.expect("a failure").span, "ai.streamText");
}

#[test]
fn json_that_was_cut_off_is_an_error() {
    for (key, text) in [
        ("ai.prompt.messages", r#"[{"role": "us"#),
        ("ai.response.toolCalls", r#"[{"toolCallId": "#),
    ] {
        let step = operation("ai.generateText.doGenerate", json!({key: text}));
        let errors = conversation(Recording::default().span((1, 0), "x", (0, 9), step)).errors;
        assert!(errors.len() == 1 && errors[0].contains(key), "{errors:?}");
    }
}

#[test]
fn attributes_of_openinference_on_the_same_spans_add_nothing() {
    let kind =
        |kind: &str, text: &str| json!({"openinference.span.kind": kind, "output.value": text});
    let of_tool = kind("TOOL", "other");
    let twice = turn(call(kind("AGENT", "other"), of_tool, text("4C")));
    assert_eq!(said(&twice), (Some("Oslo?"), Some("It is cold.")));
    assert_eq!((twice.tool_calls.len(), twice.llm_calls.len()), (1, 2));
}

#[test]
fn other_operations_are_no_calls() {
    let embedding = json!({"gen_ai.system": "openai", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 1});
    let recording = call(json!({}), json!({}), text("4C")).span(
        (7, 1),
        "ai.embed.doEmbed",
        (60, 70),
        operation("ai.embed.doEmbed", embedding),
    );
    assert_eq!(turn(recording).llm_calls.len(), 2);
}
