//! Recordings that follow `OpenInference`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::support::{self, Directory, Ran};
use serde_json::{Value, json};

/// A span: number, parent, name, milliseconds, attributes.
type Span = (u64, u64, &'static str, (u64, u64), Value);

fn span_id(number: u64) -> String {
    format!("{number:016x}")
}

fn otlp(traces: &[(u64, Vec<Span>)]) -> String {
    let any = |value: &Value| match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other}),
    };
    let spans: Vec<Value> = traces
        .iter()
        .flat_map(|(trace, spans)| spans.iter().map(move |span| (trace, span)))
        .map(|(trace, (number, parent, name, (start, end), attributes))| {
            let attributes = attributes.as_object().unwrap().iter();
            json!({
                "traceId": format!("{trace:032x}"), "spanId": span_id(*number),
                "parentSpanId": if *parent == 0 { String::new() } else { span_id(*parent) },
                "name": name, "kind": 1, "status": {"code": 1},
                "startTimeUnixNano": (start * 1_000_000).to_string(),
                "endTimeUnixNano": (end * 1_000_000).to_string(),
                "attributes": attributes
                    .map(|(key, value)| json!({"key": key, "value": any(value)}))
                    .collect::<Value>(),
            })
        })
        .collect();
    let scope = json!({"name": "openinference.instrumentation.langchain", "version": "0.1.80"});
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "openinference.project.name", "value": {"stringValue": "p"}}]},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
    .to_string()
}

fn jaeger(traces: &[(u64, Vec<Span>)]) -> String {
    let data: Vec<Value> = traces
        .iter()
        .map(|(trace, spans)| {
            let trace_id = format!("{trace:032x}");
            let spans: Vec<Value> = spans
                .iter()
                .map(|(number, parent, name, (start, end), attributes)| {
                    let parent = json!({"refType": "CHILD_OF", "traceID": trace_id, "spanID": span_id(*parent)});
                    let tags = attributes.as_object().unwrap().iter().map(|(key, value)| {
                        let kind = if value.is_number() { "int64" } else { "string" };
                        json!({"key": key, "type": kind, "value": value})
                    });
                    json!({
                        "traceID": trace_id, "spanID": span_id(*number), "operationName": name,
                        "references": if parent["spanID"] == span_id(0) { json!([]) } else { json!([parent]) },
                        "startTime": start * 1000, "duration": (end - start) * 1000,
                        "tags": tags.collect::<Value>(), "logs": [], "processID": "p1",
                    })
                })
                .collect();
            json!({"traceID": trace_id, "spans": spans, "processes": {"p1": {"serviceName": "s"}}})
        })
        .collect();
    json!({"data": data}).to_string()
}

/// A turn about the weather as a framework records it: a chain, an agent in it, two calls of a model, and a tool.
fn weather(session: &str, city: &str, offset: u64) -> Vec<Span> {
    let question = format!("Weather in {city}?");
    let arguments = json!({"city": city}).to_string();
    let (input, output) = ("llm.input_messages", "llm.output_messages");
    let asks = json!({
        "openinference.span.kind": "LLM", "session.id": session,
        "llm.model_name": "gpt-4o-mini", "llm.provider": "openai", "llm.system": "openai",
        "llm.invocation_parameters": "{\"temperature\": 0}",
        "llm.token_count.prompt": 100, "llm.token_count.completion": 20, "llm.token_count.total": 120,
        "llm.token_count.prompt_details.cache_read": 64,
        format!("{input}.0.message.role"): "system",
        format!("{input}.0.message.content"): "You know the weather.",
        format!("{input}.1.message.role"): "user",
        format!("{input}.1.message.contents.0.message_content.type"): "text",
        format!("{input}.1.message.contents.0.message_content.text"): question,
        format!("{output}.0.message.role"): "assistant",
        format!("{output}.0.message.tool_calls.0.tool_call.id"): "call_1",
        format!("{output}.0.message.tool_calls.0.tool_call.function.name"): "get_weather",
        format!("{output}.0.message.tool_calls.0.tool_call.function.arguments"): arguments,
    });
    let mut answers = asks.clone();
    let object = answers.as_object_mut().unwrap();
    object.retain(|key, _| !key.starts_with(output));
    for (key, value) in [
        (format!("{input}.2.message.role"), json!("assistant")),
        (format!("{input}.2.message.tool_calls.0.tool_call.id"), json!("call_1")),
        (format!("{input}.2.message.tool_calls.0.tool_call.function.name"), json!("get_weather")),
        (format!("{input}.3.message.role"), json!("tool")),
        (format!("{input}.3.message.tool_call_id"), json!("call_1")),
        (format!("{input}.3.message.name"), json!("get_weather")),
        (format!("{input}.3.message.content"), json!("{\"sky\": \"clear\"}")),
        (format!("{output}.0.message.role"), json!("assistant")),
        (format!("{output}.0.message.content"), json!(format!("Clear in {city}."))),
        ("llm.token_count.prompt".to_owned(), json!(150)),
        ("llm.token_count.completion".to_owned(), json!(10)),
    ] {
        object.insert(key, value);
    }
    let history = json!({"messages": [{"type": "human", "content": question}]}).to_string();
    let at = |start: u64, end: u64| (offset + start, offset + end);
    vec![
        (
            offset + 1,
            0,
            "LangGraph",
            at(0, 100),
            json!({
                "openinference.span.kind": "CHAIN", "session.id": session,
                "input.value": history, "input.mime_type": "application/json",
                "output.value": json!({"messages": [{"type": "human", "content": question},
                    {"type": "ai", "content": format!("Clear in {city}.")}]}).to_string(),
                "output.mime_type": "application/json",
            }),
        ),
        (
            offset + 2,
            offset + 1,
            "agent",
            at(1, 30),
            json!({
                "openinference.span.kind": "AGENT", "agent.name": "forecaster", "input.value": history,
            }),
        ),
        (offset + 3, offset + 2, "ChatOpenAI", at(2, 28), asks),
        (
            offset + 4,
            offset + 1,
            "get_weather",
            at(31, 41),
            json!({
                "openinference.span.kind": "TOOL", "tool.name": "get_weather",
                "input.value": format!("{{'city': '{city}'}}"),
                "output.value": json!({"type": "tool", "content": "{\"sky\": \"clear\"}",
                    "tool_call_id": "call_1", "name": "get_weather"}).to_string(),
            }),
        ),
        (
            offset + 5,
            offset + 1,
            "retrieve",
            at(42, 43),
            json!({
                "openinference.span.kind": "RETRIEVER", "input.value": "climate",
            }),
        ),
        (offset + 6, offset + 1, "agent", at(44, 90), json!({"openinference.span.kind": "AGENT"})),
        (offset + 7, offset + 6, "ChatOpenAI", at(45, 89), answers),
    ]
}

const GOLDEN: &str = r#"{"eval_set_id": "weather", "eval_cases": [{"eval_id": "paris", "conversation": [{
    "user_content": {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
    "final_response": {"role": "model", "parts": [{"text": "Clear in Paris."}]},
    "intermediate_data": {"tool_uses": [{"name": "get_weather", "args": {"city": "Paris"}}]}
}]}]}"#;

/// Shows what an evaluator is given.
const ECHO: &str =
    "import json, sys\nprint(json.dumps({'score': 1, 'details': json.load(sys.stdin)}))\n";

fn echo(directory: &Directory, args: &[&str]) -> Ran {
    directory.file("echo.py", ECHO);
    directory.file("c.yaml", "evaluators:\n  - {name: echo, type: code, path: echo.py}\n");
    directory.run(&[args, &["-c", "c.yaml", "-o", "json"]].concat())
}

#[test]
fn every_export_of_a_run_gives_the_same_turn() {
    let traces = [(7, weather("s", "Paris", 0))];
    for (name, text) in [("otlp.json", otlp(&traces)), ("jaeger.json", jaeger(&traces))] {
        let directory = Directory::new();
        directory.file(name, text);
        directory.file("golden.json", GOLDEN);
        let metrics = ["-m", "tool_trajectory_avg_score", "-m", "response_match_score"];
        let args = [&[name, "-e", "golden.json", "-o", "json", "-t", "1"], &metrics[..]].concat();
        let ran = directory.run(&args).exits(0);
        assert_eq!(
            ran.evaluations(0),
            ["tool_trajectory_avg_score PASSED", "response_match_score PASSED"]
        );
        let report = ran.json();
        let trace = &report["traces"][0];
        assert_eq!(trace["conversion_warnings"], json!([]));
        let performance = &trace["performance_metrics"];
        assert_eq!(
            performance["counts"],
            json!({"llm_calls": 2, "tool_calls": 1, "invocations": 1})
        );
        assert_eq!(performance["models"], json!(["gpt-4o-mini"]));
        assert_eq!(performance["tool_names"], json!(["get_weather"]));
        assert_eq!(performance["tokens"]["total_prompt"], 250);
        assert_eq!(performance["tokens"]["total_output"], 30);
        assert_eq!(performance["tokens"]["cache_read_tokens"], 128);
        assert_eq!(performance["latency"]["overall"]["median"], 100.0);
        assert_eq!(performance["latency"]["llm_calls"]["median"], 35.0);
        assert_eq!(performance["latency"]["tool_executions"]["median"], 10.0);
    }
}

#[test]
fn traces_of_a_session_are_turns_of_a_conversation() {
    if !support::has("python3") {
        return;
    }
    let directory = Directory::new();
    let traces = [
        (1, weather("one", "Paris", 0)),
        (2, weather("two", "Oslo", 300)),
        (3, weather("one", "Rome", 600)),
    ];
    directory.file("t.json", otlp(&traces));
    let ran = echo(&directory, &["t.json", "--group-by", "conversation"]).exits(0);
    let report = ran.json();
    let conversations = report["traces"].as_array().unwrap();
    assert_eq!(conversations.len(), 2);
    let turns: Vec<Value> = conversations[0]["metrics"][0]["details"]["invocations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| {
            let steps = &turn["intermediate_steps"];
            json!([
                turn["invocation_id"],
                turn["user_content"],
                turn["final_response"],
                steps["tool_calls"][0],
                steps["tool_responses"][0]["response"],
            ])
        })
        .collect();
    let expected = |id: u64, city: &str| {
        json!([
            span_id(id), format!("Weather in {city}?"), format!("Clear in {city}."),
            {"name": "get_weather", "args": {"city": city}, "id": "call_1"}, {"sky": "clear"},
        ])
    };
    assert_eq!(turns, [expected(1, "Paris"), expected(601, "Rome")]);
    assert_eq!(echo(&directory, &["t.json"]).json()["traces"].as_array().unwrap().len(), 3);
}

#[test]
fn spans_that_say_it_twice_are_counted_once() {
    let mut spans = weather("s", "Paris", 0);
    for (.., attributes) in &mut spans {
        let operation = match attributes["openinference.span.kind"].as_str().unwrap() {
            "LLM" => "chat",
            "TOOL" => "execute_tool",
            "CHAIN" => "invoke_workflow",
            _ => continue,
        };
        attributes["gen_ai.operation.name"] = json!(operation);
    }
    spans[2].4["gen_ai.usage.input_tokens"] = json!(1);
    let directory = Directory::new();
    directory.file("t.json", otlp(&[(1, spans)]));
    let performance =
        directory.run(&["t.json", "--no-config", "-o", "json"]).exits(1).json()["traces"][0]["performance_metrics"]
            .clone();
    assert_eq!(performance["counts"], json!({"llm_calls": 2, "tool_calls": 1, "invocations": 1}));
    // The first call has its own count of one convention, and what that leaves open of the other.
    assert_eq!(performance["tokens"]["total_prompt"], 151);
    assert_eq!(performance["tokens"]["total_output"], 30);
}
