//! What a run does with every failure of a provider: requests, exit code, outcome, cassette, and the replay of that cassette.
//! Waits are in the tests of the crate `models`, which have a clock of their own; here they are a few milliseconds.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    collections::VecDeque,
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use evaluator_test_support::{
    recording::recording,
    server::{Server, response},
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use serde_json::{Value, json};

use crate::support::{Directory, Ran, finish};

const METRIC: &str = "final_response_match_v2";
const VALID: &str = r#"{"reasoning": "same", "is_the_agent_response_valid": "valid"}"#;
const INVALID: &str = r#"{"reasoning": "other", "is_the_agent_response_valid": "invalid"}"#;

/// Key of the judge, which servers repeat in their errors.
const KEY: &str = "sk-decoy-0123456789";
/// Another secret of this machine, which the agent repeats.
const OTHER: &str = "ghp-decoy-9876543210";

const OPENAI: &str = "openai/judge";
const CLAUDE: &str = "claude-judge";
const GEMINI: &str = "gemini-judge";
const AZURE: &str = "azure/judge";

/// One response: status line, headers, body. An empty status closes the connection.
type Scripted = (&'static str, Vec<&'static str>, String);

/// A case: what the server does, and what must come of it.
struct Row {
    name: &'static str,
    model: &'static str,
    /// Further keys of `judge:`.
    judge: &'static str,
    samples: usize,
    /// Responses in order, the last one again and again.
    script: Vec<Scripted>,
    requests: usize,
    exit: i32,
    /// Exit code of the replay, if the answer is recorded.
    replayed: i32,
    /// A text of the error; of standard error if the metric has a score.
    says: &'static str,
    records: usize,
}

fn row(
    name: &'static str,
    model: &'static str,
    script: Vec<Scripted>,
    (requests, exit, says, records): (usize, i32, &'static str, usize),
) -> Row {
    Row {
        name,
        model,
        judge: "",
        samples: 1,
        script,
        requests,
        exit,
        replayed: exit,
        says,
        records,
    }
}

/// A failure that passes: the second request is answered.
fn passes(name: &'static str, model: &'static str, failure: Scripted) -> Row {
    let good = good(model, VALID);
    row(name, model, vec![failure, good], (2, 0, "judges: 1 call, 2 requests sent", 1))
}

/// A failure that is an error after one request.
fn fails(name: &'static str, model: &'static str, failure: Scripted, says: &'static str) -> Row {
    row(name, model, vec![failure], (1, 3, says, 0))
}

/// A final answer that is an error, and is recorded.
fn recorded(name: &'static str, model: &'static str, answer: Scripted, says: &'static str) -> Row {
    row(name, model, vec![answer], (1, 3, says, 1))
}

fn error(status: &'static str, headers: &[&'static str], mut body: Value) -> Scripted {
    // Servers repeat keys that they do not accept.
    if let Some(Value::String(message)) = body.get_mut("message") {
        message.push_str(&format!(" ({KEY})"));
    }
    (status, headers.to_vec(), json!({ "error": body }).to_string())
}

fn ok(body: &Value) -> Scripted {
    ("200 OK", vec![], body.to_string())
}

/// An answer of chat completions.
fn choice(choice: &Value) -> Scripted {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 512,
        "completion_tokens_details": {"reasoning_tokens": 500}});
    ok(&json!({"model": "judge-1", "choices": [choice], "usage": usage}))
}

fn message(message: &Value, reason: &str) -> Scripted {
    choice(&json!({"message": message, "finish_reason": reason}))
}

/// A good answer in the format of the model.
fn good(model: &str, text: &str) -> Scripted {
    match model {
        CLAUDE => {
            ok(&json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}))
        }
        GEMINI => {
            candidate(&json!({"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}))
        }
        _ => message(&json!({"content": text}), "stop"),
    }
}

fn candidate(candidate: &Value) -> Scripted {
    ok(
        &json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "thoughtsTokenCount": 9}}),
    )
}

/// Runs a row, and returns what is wrong.
fn check(row: &Row) -> Result<(), String> {
    let script = Arc::new(Mutex::new(VecDeque::from(row.script.clone())));
    let server = Server::start(move |_, stream| {
        let mut script = script.lock().unwrap();
        let next = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
        drop(script);
        let (status, headers, body) = next.unwrap();
        if status.is_empty() { Ok(()) } else { stream.write_all(&response(status, &headers, body)) }
    });
    let directory = prepared(&server.url(), row);
    let ran = run(&directory, &[]);
    let is = |what: &str, is_right: bool, found: &dyn std::fmt::Debug| {
        if is_right {
            Ok(())
        } else {
            Err(format!("{}: {what}: {found:?}\n{}", row.name, ran.stderr))
        }
    };
    let requests = server.requests().len();
    is("requests", requests == row.requests, &requests)?;
    is("exit code", ran.code == Some(row.exit), &ran.code)?;
    let said = says(&ran);
    is("says", said.contains(row.says), &said)?;
    let cassette = directory.read("c.jsonl");
    is("records", cassette.lines().count() == row.records, &cassette)?;
    let run_file = directory.read("run.evalrun");
    for text in [&ran.stdout, &ran.stderr, &cassette, &run_file] {
        is("no secret", !text.contains("decoy"), text)?;
    }

    let replayed = run(&directory, &["--judge-mode", "replay"]);
    is("a replay sends nothing", server.requests().len() == row.requests, &server.requests())?;
    if row.records == 0 {
        let said = says(&replayed);
        is("a miss", replayed.code == Some(3) && said.contains("not_in_cassette"), &said)?;
    } else {
        is("replayed exit code", replayed.code == Some(row.replayed), &replayed.code)?;
        let (live, again) = (result(&ran), result(&replayed));
        let is_same = live == again || row.replayed != row.exit;
        is("replayed result", is_same, &[&live, &again])?;
    }
    is("the cassette stays", directory.read("c.jsonl") == cassette, &"changed")
}

/// A directory with a conversation, its golden case, an empty cassette and a configuration.
fn prepared(base: &str, row: &Row) -> Directory {
    let directory = Directory::new();
    directory.file("trace.json", recording([("What is the token?", OTHER)]));
    let golden = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{
        "user_content": {"parts": [{"text": "What is the token?"}]},
        "final_response": {"parts": [{"text": "It is a secret."}]},
    }]}]});
    directory.file("golden.json", golden.to_string());
    directory.file("c.jsonl", "");
    directory.file(
        "c.yaml",
        format!(
            "eval_set: golden.json\njudge:\n  model: {}\n  base_url: {}\n  api_key_env: JUDGE_KEY\n  cassette: c.jsonl\n\
             \x20 samples: {}\n  concurrency: {{max: 1}}\n  retries: {{attempts: 3, max_wait: 0.02}}\n{}evaluators:\n- {{name: {METRIC}, type: builtin}}\n",
            row.model, base, row.samples, row.judge,
        ),
    );
    directory
}

fn run(directory: &Directory, more: &[&str]) -> Ran {
    let args =
        ["run", "trace.json", "-c", "c.yaml", "-o", "json", "-vv", "--save-run", "run.evalrun"];
    let mut command = directory.command(&[&args[..], more].concat());
    command.env("JUDGE_KEY", KEY).env("GITHUB_TOKEN", OTHER).env("AZURE_API_VERSION", "2024-10-21");
    finish(command.spawn().unwrap())
}

/// Returns the error of the metric, or what standard error says.
fn says(ran: &Ran) -> String {
    let error = ran.json()["traces"][0]["metrics"][0]["error"].clone();
    error.as_str().map_or_else(|| ran.stderr.clone(), str::to_owned)
}

/// Returns the result without what differs between a run and its replay.
fn result(ran: &Ran) -> Value {
    let mut metric = ran.json()["traces"][0]["metrics"][0].clone();
    metric["duration_ms"].take();
    metric["details"]["judge"]["duration_ms"].take();
    metric["details"]["judge"]["replayed"].take();
    metric
}

fn check_all(rows: &[Row]) {
    let wrong: Vec<String> = rows.iter().filter_map(|row| check(row).err()).collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn failures_that_pass_are_asked_again() {
    let limited = |headers: &[&'static str]| {
        error("429 X", headers, json!({"message": "slow", "code": "rate_limit_exceeded"}))
    };
    let quota = |delay: &str, quota: &str| {
        let details = json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        ]);
        let body = json!({"status": "RESOURCE_EXHAUSTED", "message": "quota", "details": details});
        error("429 X", &[], body)
    };
    let overloaded = || json!({"type": "overloaded_error", "message": "x"});
    let status = |status| (status, vec![], "<html>".to_owned());
    let closed = || ("", vec![], String::new());
    check_all(&[
        passes("rate limit", OPENAI, limited(&["retry-after: 0.005"])),
        passes("rate limit in ms", AZURE, limited(&["retry-after: 9", "retry-after-ms: 5"])),
        passes(
            "rate limit, Anthropic",
            CLAUDE,
            error(
                "429 X",
                &["retry-after: 0.005"],
                json!({"type": "rate_limit_error", "message": "x"}),
            ),
        ),
        passes("per minute, Gemini", GEMINI, quota("0.005s", "PerMinutePerProject")),
        row("rate limit that stays", OPENAI, vec![limited(&[])], (3, 3, "rate_limited", 0)),
        fails("rate limit for hours", OPENAI, limited(&["retry-after: 36000"]), "retry after 10h"),
        fails("per day, Gemini", GEMINI, quota("0.005s", "GenerateRequestsPerDay"), "rate_limited"),
        passes("overloaded, Anthropic", CLAUDE, error("529 X", &[], overloaded())),
        passes("overloaded with another status", CLAUDE, error("200 OK", &[], overloaded())),
        passes(
            "unavailable, Gemini",
            GEMINI,
            error("503 X", &[], json!({"status": "UNAVAILABLE", "message": "x"})),
        ),
        passes("500", OPENAI, status("500 X")),
        passes("502", AZURE, status("502 X")),
        passes("504", OPENAI, status("504 X")),
        passes("408", OPENAI, status("408 X")),
        passes("409", CLAUDE, status("409 X")),
        row("503 that stays", OPENAI, vec![status("503 X")], (3, 3, "unavailable", 0)),
        passes("connection closed", OPENAI, closed()),
        row("connection always closed", CLAUDE, vec![closed()], (3, 3, "after 3 requests", 0)),
        // Once again, then an error.
        passes("no choices", OPENAI, ok(&json!({"choices": []}))),
        row("never choices", OPENAI, vec![ok(&json!({"choices": []}))], (2, 3, "no choices", 0)),
        row("HTML", OPENAI, vec![status("200 OK")], (2, 3, "bad_answer", 0)),
        row(
            "broken JSON",
            CLAUDE,
            vec![("200 OK", vec![], "{\"content\": [".to_owned())],
            (2, 3, "is not JSON", 0),
        ),
        row(
            "an error with status 200",
            GEMINI,
            vec![error("200 OK", &[], json!({"message": "x"}))],
            (2, 3, "bad_answer", 0),
        ),
    ]);
}

#[test]
fn failures_that_stay_are_errors_after_one_request() {
    let refused =
        |name, model, status, body, says| fails(name, model, error(status, &[], body), says);
    let coded = |code: &str| json!({"message": "x", "code": code});
    let typed = |kind: &str| json!({"message": "x", "type": kind});
    let filtered = json!({"message": "filtered", "code": "content_filter",
        "innererror": {"code": "ResponsibleAIPolicyViolation"}});
    let key = json!({"status": "INVALID_ARGUMENT", "message": "x", "details": [{"reason": "API_KEY_INVALID"}]});
    let schema = json!({"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "type": "invalid_request_error", "param": "response_format", "code": null});
    let mut spent = typed("rate_limit_error");
    spent["details"] = json!({"error_code": "enforced_spend_limit_reached"});
    let param = |code: &str, param: &str| json!({"message": "x", "code": code, "param": param});
    let mut rows = vec![
        // Every other call would fail in the same way, so the queue stops.
        refused("quota", OPENAI, "429 X", coded("insufficient_quota"), "quota"),
        refused("credit", OPENAI, "429 X", coded("credit_balance_exhausted"), "quota"),
        refused("spend limit, Anthropic", CLAUDE, "429 X", spent, "quota"),
        refused("payment", GEMINI, "402 X", json!({"message": "pay"}), "quota"),
        refused(
            "key",
            OPENAI,
            "401 X",
            coded("invalid_api_key"),
            "unauthorized: model `openai/judge`: the server refused the key (invalid_api_key); check JUDGE_KEY",
        ),
        refused(
            "key, Anthropic",
            CLAUDE,
            "401 X",
            typed("authentication_error"),
            "check JUDGE_KEY",
        ),
        refused("key, Gemini", GEMINI, "400 X", key, "check JUDGE_KEY"),
        refused(
            "scope, Gemini",
            GEMINI,
            "403 X",
            json!({"status": "PERMISSION_DENIED", "message": "x"}),
            "check JUDGE_KEY",
        ),
        // Single calls.
        refused(
            "invalid",
            OPENAI,
            "400 X",
            coded("invalid_value"),
            "invalid_request: model `openai/judge`: the server answered 400: x (<redacted:JUDGE_KEY>)",
        ),
        refused("no model", OPENAI, "404 X", coded("model_not_found"), "not_found"),
        refused("too large", CLAUDE, "413 X", typed("request_too_large"), "413"),
        refused("unprocessable", OPENAI, "422 X", json!({"message": "x"}), "422"),
        refused("too long", OPENAI, "400 X", coded("context_length_exceeded"), "too_long"),
        refused(
            "too long, Anthropic",
            CLAUDE,
            "400 X",
            json!({"message": "prompt is too long: 9 tokens"}),
            "too_long",
        ),
        refused(
            "max_tokens",
            "hosted_vllm/judge",
            "400 X",
            param("unsupported_parameter", "max_tokens"),
            "max_tokens_key: max_completion_tokens",
        ),
        refused("input filter, Azure", AZURE, "400 X", filtered, "judged text"),
        fails(
            "redirect",
            OPENAI,
            ("302 Found", vec!["location: http://127.0.0.1:1/"], String::new()),
            "redirects",
        ),
    ];
    for row in &mut rows[..8] {
        row.samples = 3;
    }
    let temperature = "  params: {temperature: 0.5}\n";
    let refused = error("400 X", &[], param("unsupported_value", "temperature"));
    rows.push(Row {
        judge: temperature,
        ..fails("temperature", OPENAI, refused, "remove `params.temperature`")
    });
    let format = error("400 X", &[], schema);
    rows.push(Row {
        judge: "  params: {json_schema: true}\n",
        ..fails("schema", OPENAI, format, "'response_format'")
    });
    check_all(&rows);
}

#[test]
fn answers_that_are_not_verdicts_are_errors_and_recorded() {
    let text = |text: Value| json!({ "content": text });
    let finish = |reason: &str| candidate(&json!({"finishReason": reason}));
    let cut_off = "cut off at 512 tokens (500 of them thinking)";
    let anthropic =
        |blocks: Value, reason: &str| ok(&json!({"content": blocks, "stop_reason": reason}));
    check_all(&[
        recorded("cut off with a label", OPENAI, message(&text(VALID.into()), "length"), cut_off),
        recorded("cut off by thinking", OPENAI, message(&text("".into()), "length"), cut_off),
        recorded(
            "cut off, Anthropic",
            CLAUDE,
            anthropic(json!([{"type": "text", "text": VALID}]), "max_tokens"),
            "cut off",
        ),
        recorded("cut off, Gemini", GEMINI, finish("MAX_TOKENS"), "cut off"),
        recorded(
            "output filter",
            OPENAI,
            message(&text("half".into()), "content_filter"),
            "blocked",
        ),
        recorded("output filter, Gemini", GEMINI, finish("SAFETY"), "SAFETY"),
        recorded("recitation, Gemini", GEMINI, finish("RECITATION"), "RECITATION"),
        recorded("list of words, Gemini", GEMINI, finish("BLOCKLIST"), "BLOCKLIST"),
        recorded(
            "input filter, Gemini",
            GEMINI,
            ok(&json!({"promptFeedback": {"blockReason": "OTHER"}})),
            "judged text",
        ),
        recorded(
            "refusal",
            OPENAI,
            message(&json!({"content": null, "refusal": "I cannot"}), "stop"),
            "I cannot",
        ),
        recorded("refusal, Anthropic", CLAUDE, anthropic(json!([]), "refusal"), "refused"),
        recorded("empty", OPENAI, message(&text("".into()), "stop"), "readable"),
        recorded("null", AZURE, message(&text(Value::Null), "stop"), "readable"),
        recorded("tool call", OPENAI, message(&text(Value::Null), "tool_calls"), "tool call"),
        recorded(
            "tool call, Anthropic",
            CLAUDE,
            anthropic(
                json!([{"type": "tool_use", "id": "1", "name": "f", "input": {}}]),
                "tool_use",
            ),
            "tool call",
        ),
        recorded(
            "tool call, Gemini",
            GEMINI,
            candidate(&json!({"content": {"parts": [{"functionCall": {"name": "f"}}]}})),
            "tool call",
        ),
        recorded("prose", OPENAI, message(&text("It is fine.".into()), "stop"), "readable"),
    ]);
}

#[test]
fn thinking_is_never_the_verdict() {
    let answer = |name, model, script| row(name, model, vec![script], (1, 0, "judges: 1 call", 1));
    let thought = json!({"content": {"parts": [{"text": INVALID, "thought": true}, {"text": VALID}]}, "finishReason": "STOP"});
    let blocks =
        json!([{"type": "thinking", "thinking": INVALID}, {"type": "text", "text": VALID}]);
    let fields = json!({"content": VALID, "reasoning_content": INVALID});
    let block = json!({"content": format!("<think>{INVALID}</think>{VALID}")});
    let only = json!({"content": format!("<think>{VALID}</think>"), "reasoning_content": VALID});
    check_all(&[
        answer("parts, Gemini", GEMINI, candidate(&thought)),
        answer(
            "blocks, Anthropic",
            CLAUDE,
            ok(&json!({"content": blocks, "stop_reason": "end_turn"})),
        ),
        answer("another field", OPENAI, message(&fields, "stop")),
        answer("a block of a local model", "ollama/judge", message(&block, "stop")),
        recorded("thinking only", OPENAI, message(&only, "stop"), "readable"),
    ]);
}

#[test]
fn usage_models_and_samples_are_what_the_server_and_the_settings_say() {
    let uncounted = json!({"choices": [{"message": {"content": VALID}, "finish_reason": "stop"}]});
    let mut other = uncounted.clone();
    other["model"] = "gpt-0".into();
    let answered = |name, says, script| row(name, OPENAI, vec![script], (1, 0, says, 1));
    let unknown = recorded("no usage under a budget", OPENAI, ok(&uncounted), "usage_missing");
    check_all(&[
        answered("another model", "was answered by gpt-0", ok(&other)),
        answered(
            "a version of the model",
            "judges: 1 call, 1 request sent, 5 + 512 tokens\n",
            good(OPENAI, VALID),
        ),
        answered("no usage", "not counted by the server in 1 call", ok(&uncounted)),
        // What is replayed spends nothing.
        Row { judge: "  budget: {tokens: 1000}\n", replayed: 0, ..unknown },
        Row {
            judge: "  budget: {tokens: 1000, assume_tokens: 10}\n",
            ..answered("assumed usage", "judges: 1 call", ok(&uncounted))
        },
    ]);
}

/// A file with a certificate or key for `localhost`.
fn pem(name: &str) -> String {
    format!("{}/../host/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Starts a server with TLS whose authority is unknown. Returns its base URL and the number of its connections.
fn tls_server() -> (String, Arc<AtomicUsize>) {
    let chain = CertificateDer::pem_file_iter(pem("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // The client ends the connection.
            drop(StreamOwned::new(connection, stream).read(&mut [0]));
        }
    });
    (base, connections)
}

#[test]
fn a_certificate_that_is_not_trusted_is_an_error_after_one_connection() {
    let (base, connections) = tls_server();
    let directory = prepared(&base, &fails("certificate", OPENAI, good(OPENAI, VALID), ""));
    let error = says(&run(&directory, &[]).exits(3));
    assert!(error.contains("certificate: ") && error.contains("no secure connection"), "{error}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    assert_eq!(directory.read("c.jsonl"), "");
}
