//! The real SDKs of OpenAI and Anthropic, under the models that we offer to programs.

use std::{fs, path::Path};

use evaluator_test_support::server::{Server, response};
use evaluator_tests::bench::{build, peers};
use serde_json::{Value, json};

use super::place::{self, Place, program};

/// A server of both providers, which answers with more than text.
fn provider() -> Server {
    Server::start(|request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let is_base64 = body["encoding_format"] == "base64";
        let answer = match &*request.path {
            "/chat/completions" => chat(),
            "/responses" => json!({
                "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": null, "model": "m",
                "output": [{
                    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "Yes", "annotations": []}],
                }],
                "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
                "usage": {
                    "input_tokens": 7, "output_tokens": 5, "total_tokens": 12,
                    "input_tokens_details": {"cached_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 3},
                },
            }),
            "/embeddings" => json!({
                "object": "list", "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3},
                "data": [{
                    "object": "embedding", "index": 0,
                    "embedding": if is_base64 { json!("AACAPwAAAEA=") } else { json!([1.0, 2.0]) },
                }],
            }),
            "/v1/messages" => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Yes"},
                    {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}},
                ],
                "stop_reason": "tool_use", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 6},
            }),
            other => panic!("{other}"),
        };
        std::io::Write::write_all(stream, &response("200 OK", &[], answer.to_string()))
    })
}

fn chat() -> Value {
    let logprob = json!({"token": "Yes", "logprob": -0.125, "bytes": [89], "top_logprobs": []});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}});
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "logprobs": {"content": [logprob], "refusal": null},
             "message": {"role": "assistant", "content": "Yes", "refusal": null}},
            {"index": 1, "finish_reason": "tool_calls", "logprobs": null,
             "message": {"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]}},
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52},
    })
}

/// Records what a program asks, replays it without server and key, and returns what the program has seen.
fn recorded_and_replayed(name: &str, python: &Path, file: &str, source: &str) -> Value {
    place::build();
    let place = Place::new(name);
    let directory = place.directory("run");
    fs::write(directory.join(file), source).unwrap();
    fs::write(directory.join("replies"), "\"from a script\"\n").unwrap();
    let upstream = provider();
    let trace = build::root().join("examples/traces/expenses.jsonl");
    let run = |mode: &str| {
        let model = |name: &str, model: &str| {
            format!("    {name}: {{model: {model}, base_url: \"{}\"}}\n", upstream.url())
        };
        let models = [
            model("judge", "openai/gpt-4o-mini"),
            model("claude", "anthropic/claude-3-5-haiku"),
            model("vectors", "openai/text-embedding-3-small"),
        ];
        let config = format!(
            "judge: {{cassette: c.jsonl, mode: {mode}}}\nevaluators:\n- name: asks\n  type: code\n  path: {file}\n  \
             timeout: 120\n  models:\n    max_calls: 20\n    openai/gpt-4o-mini: openai/gpt-4o-mini\n    scripted: \"fake:replies\"\n{}",
            models.concat()
        );
        fs::write(directory.join("c.yaml"), config).unwrap();
        let mut command = place.command(program("evaluator"));
        for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            match mode {
                "record" => command.env(key, "sk-decoy-0123456789"),
                _ => command.env_remove(key),
            };
        }
        command.env("EVALUATOR_PYTHON", python).current_dir(&directory);
        let said = place.run(command.arg("run").arg(&trace).args(["-c", "c.yaml", "-o", "json"]));
        let report: Value =
            serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.end()));
        let metric = &report["traces"][0]["metrics"][0];
        assert_eq!(metric["score"], 1.0, "{mode}: {metric:#}");
        metric["details"]["seen"].clone()
    };
    let recorded = run("record");
    upstream.clear();
    assert_eq!(run("replay"), recorded);
    assert!(upstream.requests().is_empty());
    recorded
}

#[test]
#[ignore = "installs the SDKs of OpenAI and Anthropic"]
fn the_sdks_of_python_ask_our_models() {
    let Some(python) = peers::model_sdks() else { return };
    let source = fs::read_to_string(place::driver("sdks.py")).unwrap();
    let seen = recorded_and_replayed("sdks-python", &python, "asks.py", &source);
    let names = ["openai/gpt-4o-mini", "scripted", "judge", "claude", "vectors"];
    let twice = [&names[..], &names, &["openai"]].concat();
    let expected = json!({
        "chat": ["Yes", -0.125, "look"],
        "streamed": ["Yes", 52],
        "helper": ["Yes", "{\"a\":1}"],
        "response": ["Yes", 12],
        "response_streamed": "Yes",
        "embeddings": [1.0, 2.0],
        "floats": [1.0, 2.0],
        "models": twice,
        "message": ["thinking", "text", "tool_use", 6],
        "message_streamed": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Yes"},
            {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}},
        ],
        "translated": "from a script",
        "errors": [
            ["NotFoundError", 404, "model_not_found", "model"],
            ["AuthenticationError", 401, "invalid_api_key", null],
            ["BadRequestError", 400, "unsupported_parameter", "logprobs"],
            ["APIStatusError", 413, "request_too_large", null],
            ["NotFoundError", 404, null, null],
        ],
        // 10 calls before. The error is not repeated by the SDK.
        "spent": [10, "RateLimitError", 429, "insufficient_quota", null],
    });
    assert_eq!(seen, expected);
}

#[test]
#[ignore = "installs the SDK of OpenAI"]
fn the_sdk_of_javascript_asks_our_models() {
    let Some(module) = peers::openai_module() else { return };
    let source = fs::read_to_string(place::driver("sdks.mjs")).unwrap();
    let source = source.replace("MODULE", &module.display().to_string());
    let seen = recorded_and_replayed("sdks-javascript", Path::new("python3"), "asks.mjs", &source);
    let expected = json!({
        "chat": ["Yes", -0.125, "look"],
        "streamed": "Yes",
        "response": "Yes",
        "embeddings": [1, 2],
        "models": ["openai/gpt-4o-mini", "scripted", "judge", "claude", "vectors"],
        "unknown": ["NotFoundError", 404, "model_not_found", "model"],
    });
    assert_eq!(seen, expected);
}
