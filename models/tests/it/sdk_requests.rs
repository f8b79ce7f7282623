//! The interfaces of OpenAI and Anthropic, asked over their connections.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::Arc,
};

use evaluator_models::{
    Broker, BrokeredModel, Cassette, Endpoint, Fake, Finish, Limits, Mode, Offer, Providers,
    ProxiedModel, Proxy, ProxyServer, Redactor, Reply, Settings, Usage,
};
use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::{
    proxy::send,
    server::{DECOY, connect},
};

/// A proxy whose models share a broker.
struct Asked {
    _server: ProxyServer,
    proxy: Proxy,
}

fn offered(broker: Broker, models: Vec<(&str, Arc<dyn Endpoint>)>) -> Offer {
    let broker = Arc::new(broker);
    let model = |(name, endpoint): (&str, Arc<dyn Endpoint>)| {
        let model = BrokeredModel::new(Arc::clone(&broker), endpoint);
        (name.to_owned(), Arc::new(model) as Arc<dyn ProxiedModel>)
    };
    Offer::new("quality", models.into_iter().map(model).collect())
}

fn open(offer: Offer) -> Asked {
    let server = ProxyServer::start().unwrap();
    let proxy = server.open(Arc::new(offer)).unwrap();
    Asked { _server: server, proxy }
}

/// Broker with a cassette. It is saved with every reply.
fn recording(path: &Path, mode: Mode) -> Broker {
    let cassette = Cassette::open(path, mode, Redactor::default()).unwrap();
    Broker::new(Limits::default()).with_cassette(cassette)
}

fn request(line: &str, headers: &[String], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let headers = format!("Host: x\r\nConnection: close\r\n{headers}Content-Length: {length}");
    format!("{line} HTTP/1.1\r\n{headers}\r\n\r\n{body}").into_bytes()
}

impl Asked {
    fn raw(&self, line: &str, headers: &[String], body: &str) -> (u16, String, String) {
        send(&self.proxy.url(), &request(line, headers, body)).unwrap()
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.proxy.token())
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, _, answer) =
            self.raw(&format!("POST /v1{path}"), &[self.bearer()], &body.to_string());
        (status, serde_json::from_str(&answer).unwrap())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, answer) = self.raw(&format!("GET /v1{path}"), &[self.bearer()], "");
        (status, serde_json::from_str(&answer).unwrap())
    }

    /// The data of the events of a stream.
    fn events(&self, path: &str, body: &Value) -> Vec<Value> {
        let (status, head, answer) =
            self.raw(&format!("POST /v1{path}"), &[self.bearer()], &body.to_string());
        assert_eq!(status, 200, "{answer}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        assert!(answer.ends_with("\n\n"));
        let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
    }
}

/// A chat whose answer has more than a text, as a provider gives it.
fn whole_chat(number: usize) -> Value {
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1_700_000_000, "model": "gpt-4o-mini-2024-07-18",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes", "refusal": null},
             "logprobs": {"content": [{"token": "Yes", "logprob": -0.125, "bytes": [89], "top_logprobs": []}]}},
            {"index": 1, "finish_reason": "tool_calls", "logprobs": null, "message": {"role": "assistant", "content": null,
             "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]}},
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52},
        "system_fingerprint": "fp_1",
    })
}

fn whole_response() -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "gpt-4o-mini-2024-07-18", "status": "completed",
        "error": null,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Yes", "annotations": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}", "status": "completed"},
        ],
        "usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 5,
                  "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 12},
    })
}

fn whole_message() -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-3-5-haiku-20241022",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Yes"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 6},
    })
}

fn whole_embeddings() -> Value {
    json!({
        "object": "list", "model": "text-embedding-3-small",
        "data": [{"object": "embedding", "index": 0, "embedding": "AACAPwAAAEA="}],
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    })
}

/// A server of all interfaces. Each chat has a number of its own.
fn provider() -> Server {
    let chats = std::sync::atomic::AtomicUsize::new(0);
    Server::start(move |request, stream| {
        let answer = match &*request.path {
            "/chat/completions" => {
                whole_chat(chats.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
            }
            "/responses" => whole_response(),
            "/embeddings" => whole_embeddings(),
            "/v1/messages" => whole_message(),
            other => panic!("{other}"),
        };
        stream.write_all(&response("200 OK", &[], answer.to_string()))
    })
}

/// The requests that are passed on, with their answers.
fn exchanges() -> Vec<(&'static str, &'static str, Value, Value)> {
    let image = json!([
        {"type": "text", "text": "Is it a cat?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]);
    let chat = json!({
        "model": "judge", "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": image}],
        "logprobs": true, "top_logprobs": 5, "n": 2, "seed": 7, "temperature": 0.1, "max_tokens": 9,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "response_format": {"type": "json_object"}, "new_key": {"of": ["a", "later", "version"]},
    });
    let response = json!({
        "model": "judge", "input": [{"role": "user", "content": "Is it?"}], "text": {"format": {"type": "text"}},
        "tools": [{"type": "function", "name": "look", "parameters": {}}], "reasoning": {"effort": "low", "summary": "auto"},
    });
    let embeddings = json!({"model": "judge", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 2});
    let message = json!({
        "model": "claude", "max_tokens": 9, "system": [{"type": "text", "text": "Judge.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Is it?"}]}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    });
    vec![
        ("/chat/completions", "/chat/completions", chat, whole_chat(0)),
        ("/responses", "/responses", response, whole_response()),
        ("/embeddings", "/embeddings", embeddings, whole_embeddings()),
        ("/messages", "/v1/messages", message, whole_message()),
    ]
}

#[test]
fn requests_pass_through_whole_and_are_replayed_without_server_and_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let upstream = provider();
    let models = vec![
        ("judge", connect(&upstream, "openai/gpt-4o-mini")),
        ("claude", connect(&upstream, "anthropic/claude-3-5-haiku")),
    ];
    let asked = open(offered(recording(&path, Mode::Record), models));
    for (line, sent_to, body, answer) in exchanges() {
        upstream.clear();
        assert_eq!(asked.post(line, &body), (200, answer), "{line}");
        let requests = upstream.requests();
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!(request.path, sent_to);
        let sent: Value = serde_json::from_slice(&request.body).unwrap();
        let mut expected = body;
        let name = if line == "/messages" { "claude-3-5-haiku" } else { "gpt-4o-mini" };
        expected["model"] = name.into();
        assert_eq!(sent, expected, "{line}");
        let key = ["authorization", "x-api-key"].map(|name| request.headers.get(name).cloned());
        assert!(key.iter().flatten().any(|key| key.contains(DECOY)), "{key:?}");
    }
    // The second sample of an equal request, even if its keys are in another order.
    let (_, _, chat, _) = exchanges().swap_remove(0);
    assert_eq!(asked.post("/chat/completions", &chat).1["id"], "chatcmpl-1");
    let usage = asked.proxy.close();
    assert_eq!((usage.calls, usage.failed, usage.recordings.len()), (5, 0, 5));
    assert_eq!(usage.tokens, Usage { input: 104, output: 35, cached: 6, reasoning: 3 });
    let cassette = std::fs::read_to_string(&path).unwrap();
    assert!(!cassette.contains(DECOY) && cassette.contains("logprob"), "{cassette}");

    let offline = |model: &str| {
        let mut settings = Settings::new(|_| None);
        settings.is_offline = true;
        Providers::default().connect(model, &settings).unwrap()
    };
    let models = vec![
        ("judge", offline("openai/gpt-4o-mini")),
        ("claude", offline("anthropic/claude-3-5-haiku")),
    ];
    let asked = open(offered(recording(&path, Mode::Replay), models));
    for (line, _, body, answer) in exchanges() {
        assert_eq!(asked.post(line, &body), (200, answer), "{line}");
    }
    assert_eq!(asked.post("/chat/completions", &chat).1["id"], "chatcmpl-1");
    // A third sample is not recorded, which is no error that passes.
    let (status, head, body) =
        asked.raw("POST /v1/chat/completions", &[asked.bearer()], &chat.to_string());
    assert_eq!(status, 400, "{body}");
    assert!(head.contains("x-should-retry: false"), "{head}");
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(error["error"]["code"], "not_in_cassette");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("the same request with 2 recorded samples"), "{message}");
    let missing = asked.proxy.close().not_recorded.unwrap();
    assert!(missing.contains("sample 2 of request"), "{missing}");
}

#[test]
fn a_recording_without_texts_replays_and_names_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let upstream = provider();
    let ask = |mode: Mode, body: &Value| {
        let cassette = Cassette::open(&path, mode, Redactor::default()).unwrap().without_text();
        let broker = Broker::new(Limits::default()).with_cassette(cassette);
        let asked = open(offered(broker, vec![("judge", connect(&upstream, "openai/m"))]));
        asked.post("/chat/completions", body)
    };
    let (_, _, mut chat, answer) = exchanges().swap_remove(0);
    assert_eq!(ask(Mode::Record, &chat), (200, answer.clone()));
    let cassette = std::fs::read_to_string(&path).unwrap();
    assert!(!cassette.contains("Is it a cat?") && cassette.contains("sha256:"), "{cassette}");
    assert_eq!(ask(Mode::Replay, &chat), (200, answer));
    chat["seed"] = 8.into();
    let (status, error) = ask(Mode::Replay, &chat);
    let message = error["error"]["message"].as_str().unwrap();
    assert!(status == 400 && message.contains("nearest record: params.seed 7 -> 8;"), "{message}");
}

#[test]
fn streams_are_whole_answers_in_events() {
    let upstream = provider();
    let models = vec![
        ("judge", connect(&upstream, "openai/gpt-4o-mini")),
        ("claude", connect(&upstream, "anthropic/claude-3-5-haiku")),
    ];
    let asked = open(offered(Broker::new(Limits::default()), models));
    let streamed = |index: usize, options: Value| {
        let (line, _, mut body, _) = exchanges().swap_remove(index);
        body["stream"] = true.into();
        if !options.is_null() {
            body["stream_options"] = options;
        }
        asked.events(line, &body)
    };
    let chunks = streamed(0, json!({"include_usage": true}));
    let choices: Vec<Value> = chunks.iter().map(|chunk| chunk["choices"].clone()).collect();
    let whole = whole_chat(0);
    let call = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]);
    let [first, second] = [0, 1].map(|at| whole["choices"][at]["message"].clone());
    let mut second = second;
    second["tool_calls"] = call;
    let part = |index: u64, delta: &Value, logprobs: &Value, reason: Value| json!([{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}]);
    let nothing = json!({});
    assert_eq!(
        choices,
        [
            part(0, &first, &whole["choices"][0]["logprobs"], Value::Null),
            part(0, &nothing, &Value::Null, "stop".into()),
            part(1, &second, &Value::Null, Value::Null),
            part(1, &nothing, &Value::Null, "tool_calls".into()),
            json!([]),
            Value::Null,
        ]
    );
    assert_eq!((&chunks[4]["usage"], &chunks[0]["usage"]), (&whole["usage"], &Value::Null));
    assert_eq!(
        (&chunks[0]["object"], &chunks[5]),
        (&json!("chat.completion.chunk"), &json!("[DONE]"))
    );
    assert!(streamed(0, Value::Null).iter().all(|chunk| chunk.get("usage").is_none()));

    let kinds = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    };
    let events = streamed(1, Value::Null);
    let expected = "created in_progress output_item.added output_item.done output_item.added content_part.added \
                    output_text.delta output_text.done content_part.done output_item.done output_item.added \
                    function_call_arguments.delta function_call_arguments.done output_item.done completed";
    let expected: Vec<String> =
        expected.split(' ').map(|kind| format!("response.{kind}")).collect();
    assert_eq!(kinds(&events), expected);
    assert_eq!(events.last().unwrap()["response"], whole_response());
    assert!(events.iter().enumerate().all(|(number, event)| event["sequence_number"] == number));
    assert_eq!((&events[6]["delta"], &events[6]["content_index"]), (&json!("Yes"), &json!(0)));

    let events = streamed(3, Value::Null);
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let thinking = [block[0], block[1], block[1], block[2]];
    let around =
        [&["message_start"][..], &thinking, &block, &block, &["message_delta", "message_stop"]];
    assert_eq!(kinds(&events), around.concat());
    assert_eq!(events[6]["delta"], json!({"type": "text_delta", "text": "Yes"}));
    assert_eq!(
        events[9]["delta"],
        json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"})
    );
    assert_eq!(events[11]["delta"], json!({"stop_reason": "tool_use", "stop_sequence": null}));
}

/// A model without these interfaces. It answers with what it is asked.
fn echo() -> Arc<dyn Endpoint> {
    Arc::new(Fake::answering(|request| {
        let messages: Vec<String> =
            request.messages.iter().map(|it| format!("{:?} {}", it.role, it.content)).collect();
        let usage = Some(Usage { input: 8, output: 2, cached: 3, reasoning: 1 });
        let finish = match request.params.max_output_tokens {
            Some(1) => Finish::Length,
            _ => Finish::Stop,
        };
        let params = &request.params;
        let text = format!(
            "{} {:?} {:?}",
            messages.join("|"),
            params.temperature,
            params.json_schema.as_ref().map(|it| &it.schema)
        );
        Ok(Reply { text, usage, finish, ..Reply::default() })
    }))
}

#[test]
fn the_common_part_is_translated_for_other_models() {
    let asked = open(offered(Broker::new(Limits::default()), vec![("judge", echo())]));
    let schema = json!({"type": "object"});
    let chat = json!({
        "model": "judge", "n": 1, "logprobs": false, "tools": [], "frequency_penalty": 0, "user": "me", "temperature": 0.5,
        "messages": [{"role": "developer", "content": "D", "name": null}, {"role": "user", "content": [{"type": "text", "text": "U"}]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}},
    });
    let text = r#"Developer D|User U Some(0.5) Some(Object {"type": String("object")})"#;
    let (status, answer) = asked.post("/chat/completions", &chat);
    assert_eq!(
        (status, &answer["choices"][0]["message"]["content"]),
        (200, &json!(text)),
        "{answer}"
    );
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&answer["usage"]["prompt_tokens"], &answer["usage"]["total_tokens"]),
        (&json!(8), &json!(10))
    );

    // A value that asks for nothing elsewhere is of the wrong type here.
    for (key, value) in
        [("temperature", json!(false)), ("max_tokens", json!([])), ("seed", json!({}))]
    {
        let mut wrong = chat.clone();
        wrong[key] = value;
        let (status, answer) = asked.post("/chat/completions", &wrong);
        assert_eq!((status, &answer["error"]["param"]), (400, &json!(key)), "{answer}");
    }

    let body = json!({
        "model": "judge", "instructions": "D", "input": "U", "temperature": 0.5, "max_output_tokens": 1, "store": true,
        "text": {"format": {"type": "json_schema", "name": "s", "schema": schema, "strict": true}},
    });
    let (_, answer) = asked.post("/responses", &body);
    let text = text.replace("Developer", "System");
    assert_eq!(answer["output"][0]["content"][0]["text"], text);
    let ended = (&answer["status"], &answer["incomplete_details"]["reason"]);
    assert_eq!(ended, (&json!("incomplete"), &json!("max_output_tokens")));

    let body = json!({
        "model": "judge", "system": "D", "messages": [{"role": "user", "content": "U"}], "temperature": 0.5, "max_tokens": 9,
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    });
    let (_, answer) = asked.post("/messages", &body);
    assert_eq!(answer["content"], json!([{"type": "text", "text": text}]));
    assert_eq!(
        answer["usage"],
        json!({"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 2})
    );
    assert_eq!(answer["stop_reason"], "end_turn");
}

#[test]
fn what_a_model_does_not_have_is_named() {
    let upstream = provider();
    let models = vec![("judge", echo()), ("claude", connect(&upstream, "anthropic/claude"))];
    let asked = open(offered(Broker::new(Limits::default()), models));
    let chat = |key: &str, value: Value| {
        let mut body = json!({"model": "judge", "messages": [{"role": "user", "content": "U"}]});
        body[key] = value;
        ("/chat/completions", body)
    };
    let image =
        json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]);
    let tool = json!([{"role": "tool", "content": "x", "tool_call_id": "1"}]);
    let calls = json!([{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}]);
    let seed =
        json!({"model": "claude", "seed": 1, "messages": [{"role": "user", "content": "U"}]});
    let stateful = json!({"model": "judge", "input": "U", "previous_response_id": "resp_1"});
    for ((path, body), param) in [
        (chat("logprobs", json!(true)), "logprobs"),
        (chat("n", json!(2)), "n"),
        (chat("tools", json!([{"type": "function"}])), "tools"),
        (chat("frequency_penalty", json!(0.5)), "frequency_penalty"),
        (chat("response_format", json!({"type": "grammar"})), "response_format"),
        (chat("messages", image), "messages[0].content"),
        (chat("messages", tool), "messages[0].role"),
        (chat("messages", calls), "messages[0].tool_calls"),
        (("/responses", stateful), "previous_response_id"),
        (("/embeddings", json!({"model": "judge", "input": "U"})), "model"),
        // The provider of the model says it.
        (("/chat/completions", seed), "seed"),
    ] {
        let (status, answer) = asked.post(path, &body);
        let error = &answer["error"];
        assert_eq!((status, &error["param"]), (400, &json!(param)), "{answer}");
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("invalid_request_error"), &json!("unsupported_parameter"))
        );
    }
    let headers = [asked.bearer(), "anthropic-beta: some-2025-01-01".to_owned()];
    let (status, _, body) = asked.raw("POST /v1/messages", &headers, "{}");
    assert!(status == 400 && body.contains("anthropic-beta: `some-2025-01-01`"), "{body}");
    assert!(upstream.requests().is_empty());
    assert_eq!(asked.proxy.close().refused, 11);
}

#[test]
fn each_mistake_is_an_error_that_the_sdk_knows_and_does_not_repeat() {
    let mut offer =
        offered(Broker::new(Limits::default()), vec![("judge", echo()), ("other", echo())]);
    offer.max_calls = 1;
    let asked = open(offer);
    let good =
        json!({"model": "judge", "messages": [{"role": "user", "content": "U"}]}).to_string();
    let (bearer, wrong) = (asked.bearer(), format!("Authorization: Bearer {}", "0".repeat(64)));
    let chat = "POST /v1/chat/completions";
    let check = |line: &str, header: &str, body: &str, status: u16, kind: &str, code: Value| {
        let (got, head, body) = asked.raw(line, &[header.to_owned()], body);
        let answer: Value = serde_json::from_str(&body).unwrap();
        let error = &answer["error"];
        assert_eq!(
            (got, error["type"].as_str(), &error["code"]),
            (status, Some(kind), &code),
            "{line} {body}"
        );
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(head.contains("x-should-retry: false"), "{head}");
    };
    let invalid = "invalid_request_error";
    for (line, header, body, status, code) in [
        (chat, &*wrong, good.clone(), 401, json!("invalid_api_key")),
        (chat, "X: y", good.clone(), 401, json!("invalid_api_key")),
        (chat, &bearer, good.replace("judge", "gpt-4o"), 404, json!("model_not_found")),
        (chat, &bearer, good.replace("model", "modle"), 400, Value::Null),
        (chat, &bearer, "[]".to_owned(), 400, Value::Null),
        (chat, &bearer, "{".to_owned(), 400, Value::Null),
        (chat, &bearer, r#"{"model": "judge", "model": "other"}"#.to_owned(), 400, Value::Null),
        (chat, &bearer, good.replace("messages", "massages"), 400, json!("unsupported_parameter")),
        (
            chat,
            &bearer,
            good.replace(r#""U""#, &json!("x".repeat(9 << 20)).to_string()),
            413,
            json!("request_too_large"),
        ),
        ("POST /v1/completions", &bearer, good.clone(), 404, json!("unknown_url")),
        ("DELETE /v1/models", &bearer, String::new(), 404, json!("unknown_url")),
        ("GET /v1/models/gpt-4o", &bearer, String::new(), 404, json!("model_not_found")),
    ] {
        check(line, header, &body, status, invalid, code);
    }
    // The form of the other SDK, and its header for the token.
    let key = format!("X-Api-Key: {}", asked.proxy.token());
    let refused = |header: &str, body: &str, status: u16, kind: &str| {
        let (got, head, body) = asked.raw("POST /v1/messages", &[header.to_owned()], body);
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (got, &answer["type"], &answer["error"]["type"]),
            (status, &json!("error"), &json!(kind)),
            "{body}"
        );
        assert!(head.contains("x-should-retry: false"), "{head}");
    };
    let long = good.replace(r#""U""#, &json!("x".repeat(9 << 20)).to_string());
    refused(&wrong, &good, 401, "authentication_error");
    refused("X: y", &good, 401, "authentication_error");
    refused(&key, &good.replace("judge", "claude-opus"), 404, "not_found_error");
    refused(&key, &long, 413, "request_too_large");
    refused(&key, "{", 400, "invalid_request_error");
    assert_eq!(asked.raw(chat, std::slice::from_ref(&bearer), &good).0, 200);
    check(chat, &bearer, &good, 429, "insufficient_quota", json!("insufficient_quota"));
    refused(&key, &good, 429, "rate_limit_error");
    assert_eq!(asked.proxy.close().calls, 1);
}

#[test]
fn failures_of_a_server_say_whether_waiting_would_help() {
    let (limits, chat) = (Limits::default(), json!({"model": "judge", "messages": []}));
    for (line, headers, body, status, code, wait) in [
        (
            "429 Too Many Requests",
            &["retry-after: 90"][..],
            r#"{"error": {"code": "rate_limit_exceeded", "message": "slow"}}"#,
            429,
            json!("rate_limit_exceeded"),
            true,
        ),
        (
            "429 Too Many Requests",
            &[],
            r#"{"error": {"code": "credit_balance_exhausted", "message": "spent"}}"#,
            429,
            json!("insufficient_quota"),
            false,
        ),
        (
            "404 Not Found",
            &[],
            r#"{"error": {"code": "model_deprecated", "message": "gone"}}"#,
            404,
            json!("model_not_found"),
            false,
        ),
        (
            "422 Unprocessable Entity",
            &[],
            r#"{"error": {"code": "bad_tool", "message": "no"}}"#,
            422,
            json!("bad_tool"),
            false,
        ),
        (
            "400 Bad Request",
            &[],
            r#"{"error": {"code": "", "param": " ", "message": "no"}}"#,
            400,
            json!(null),
            false,
        ),
        (
            "429 Too Many Requests",
            &[],
            r#"{"error": {"code": "insufficient_quota", "message": "spent"}}"#,
            429,
            json!("insufficient_quota"),
            false,
        ),
        ("422 Unprocessable", &[], r#"{"error": {"message": "no"}}"#, 422, Value::Null, false),
        (
            "400 Bad Request",
            &[],
            r#"{"error": {"code": "context_length_exceeded", "message": "long"}}"#,
            400,
            json!("context_length_exceeded"),
            false,
        ),
        // Its own token is right: the key of the host is not.
        (
            "401 Unauthorized",
            &[],
            r#"{"error": {"message": "bad key", "code": "invalid_api_key"}}"#,
            502,
            json!("unauthorized"),
            false,
        ),
        ("200 OK", &[], r#"{"choices": null}"#, 502, json!("bad_answer"), false),
    ] {
        let upstream = Server::always(response(line, headers, body));
        let asked = open(offered(
            Broker::new(limits.clone()).with_clock(evaluator_models::VirtualClock::default()),
            vec![("judge", connect(&upstream, "openai/m"))],
        ));
        let (got, head, answer) =
            asked.raw("POST /v1/chat/completions", &[asked.bearer()], &chat.to_string());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((got, &answer["error"]["code"]), (status, &code), "{line}: {answer}");
        assert_eq!(head.contains("retry-after: 90"), wait, "{head}");
        assert!(!answer.to_string().contains(DECOY));
    }
}

#[test]
fn code_and_parameter_of_a_refusal_are_those_of_the_provider() {
    let refusal = json!({"error": {
        "message": "Unsupported value: 'temperature' does not support 0.1 with this model.", "type": "invalid_request_error",
        "param": "temperature", "code": "unsupported_value",
    }});
    let upstream = Server::always(response("400 Bad Request", &[], refusal.to_string()));
    let azure = connect(&upstream, "azure/m");
    let models = vec![("judge", connect(&upstream, "openai/m")), ("azure", azure)];
    let asked = open(offered(Broker::new(Limits::default()), models));
    let (_, _, chat, _) = exchanges().swap_remove(0);
    let (status, answer) = asked.post("/chat/completions", &chat);
    let error = &answer["error"];
    assert_eq!(
        (status, &error["param"], &error["code"]),
        (400, &json!("temperature"), &json!("unsupported_value"))
    );
    let message = error["message"].as_str().unwrap();
    // No key of the configuration has what the program sent.
    assert!(
        message.contains("does not support 0.1") && !message.contains("drop_params"),
        "{message}"
    );
    // A translated request has names of its own.
    let body = json!({"model": "azure", "input": "U", "temperature": 0.1});
    let (status, answer) = asked.post("/responses", &body);
    let error = &answer["error"];
    assert_eq!(
        (status, &error["param"], &error["code"]),
        (400, &Value::Null, &json!("unsupported_value"))
    );
}

/// Sends a request without a body, and returns whether the server keeps the connection for the next one.
fn is_kept(stream: &TcpStream, request: &str) -> bool {
    (&mut &*stream).write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (mut length, mut is_kept, mut line) = (0, true, String::new());
    while reader.read_line(&mut line).unwrap() > 2 {
        let header = line.trim_end().to_lowercase();
        assert!(!header.starts_with("http/") || header.ends_with("200 ok"), "{header}");
        is_kept &= header != "connection: close";
        length = header.strip_prefix("content-length: ").map_or(length, |it| it.parse().unwrap());
        line.clear();
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    is_kept
}

#[test]
fn clients_of_sdks_keep_connections_and_leave_room_for_others() {
    let asked = open(offered(Broker::new(Limits::default()), vec![("judge", echo())]));
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", asked.bearer());
    let connect = || TcpStream::connect(asked.proxy.url().trim_start_matches("http://")).unwrap();
    let first = connect();
    assert!(is_kept(&first, &get("/v1/models")) && is_kept(&first, &get("/v1/models")));
    // More than an evaluation may have open at once: those that are kept do not take all of the room.
    let ask = |stream: TcpStream| (is_kept(&stream, &get("/v1/models")), stream);
    let others: Vec<(bool, TcpStream)> = (0..40).map(|_| ask(connect())).collect();
    assert!(others[0].0 && !others[39].0, "{others:?}");
    // Clients of AgentV's protocol wait for the end of the connection.
    assert!(!is_kept(&connect(), &get("/info")));
}

#[test]
fn a_token_opens_the_models_of_its_own_evaluation_until_it_ends() {
    let server = ProxyServer::start().unwrap();
    let open = |name: &'static str| {
        let offer = offered(Broker::new(Limits::default()), vec![(name, echo())]);
        server.open(Arc::new(offer)).unwrap()
    };
    let (first, second) = (open("first"), open("second"));
    let ask = |proxy: &Proxy, token: &str, model: &str| {
        let body =
            json!({"model": model, "messages": [{"role": "user", "content": "U"}]}).to_string();
        let headers = [format!("Authorization: Bearer {token}")];
        send(&proxy.url(), &request("POST /v1/chat/completions", &headers, &body)).unwrap().0
    };
    assert_eq!(ask(&first, first.token(), "first"), 200);
    // The name of the model at its provider.
    assert_eq!(ask(&first, first.token(), "fake/script"), 200);
    assert_eq!(ask(&first, first.token(), "script"), 200);
    assert_eq!(ask(&first, first.token(), "second"), 404);
    // An address serves one evaluation, also if the token is that of another.
    assert_eq!(ask(&first, second.token(), "second"), 410);
    let ended = first.token().to_owned();
    assert_eq!(first.close().calls, 3);
    assert_eq!(ask(&second, &ended, "second"), 410);
    for (line, header, error) in [
        (
            "POST /v1/chat/completions",
            "Authorization: Bearer",
            json!({"type": "invalid_request_error", "code": "evaluation_ended"}),
        ),
        ("POST /v1/messages", "X-Api-Key:", json!({"type": "invalid_request_error"})),
    ] {
        let headers = [format!("{header} {ended}")];
        let (status, _, body) = send(&second.url(), &request(line, &headers, "{}")).unwrap();
        let answer: Value = serde_json::from_str(&body).unwrap();
        let members = error.as_object().unwrap().iter();
        assert!(members.clone().all(|(name, value)| answer["error"][name] == *value), "{body}");
        assert_eq!(status, 410);
    }
    assert_eq!(ask(&second, &"0".repeat(64), "second"), 401);
    assert_eq!(ask(&second, second.token(), "second"), 200);
}

#[test]
fn models_are_listed_for_both_sdks() {
    let upstream = provider();
    let models = vec![("judge", echo()), ("openai/gpt-4o", connect(&upstream, "openai/gpt-4o"))];
    let asked = open(offered(Broker::new(Limits::default()), models));
    let (status, list) = asked.get("/models?limit=20");
    let ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!((status, ids), (200, vec![json!("judge"), json!("openai/gpt-4o")]));
    assert_eq!((&list["object"], &list["last_id"]), (&json!("list"), &json!("openai/gpt-4o")));
    let (status, model) = asked.get("/models/openai%2Fgpt-4o");
    assert_eq!(
        (status, &model["owned_by"], &model["type"]),
        (200, &json!("openai"), &json!("model"))
    );
    assert_eq!(asked.proxy.close().calls, 0);
}
