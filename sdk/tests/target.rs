//! The client of the target proxy against recordings of real proxies, and against what no proxy should be.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the programs under test are started here")]

mod proxy;

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use evaluator_sdk::target::{Info, Reply, Request, TargetClient, TargetError};
use proxy::{Exchange, Proxy, Received, TOKEN, receive, recording, response};
use serde_json::{Value, json};

const GENERATIONS: [&str; 3] = ["agentv-2.5.1.txt", "agentv-4.42.4.txt", "agentv-5.txt"];

fn request(value: &Value) -> Request {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let mut request = Request::new(text("question").unwrap_or_default());
    request.system_prompt = text("systemPrompt").or_else(|| text("system_prompt"));
    request.eval_case_id = text("evalCaseId");
    request.attempt = value["attempt"].as_u64().map(|number| number.try_into().unwrap());
    request.target = text("target");
    request
}

fn requests(value: &Value) -> Vec<Request> {
    value
        .as_array()
        .map_or_else(|| vec![Request::new("x")], |items| items.iter().map(request).collect())
}

/// What a client makes of it, as a line.
fn outcome(exchange: &Exchange, client: &TargetClient) -> String {
    let said = |reply: Reply| {
        assert_eq!(reply.output.len(), 1);
        assert_eq!(reply.output[0].text(), reply.text().unwrap());
        format!("said {}", reply.raw_text.unwrap())
    };
    let none = Value::Null;
    let body = exchange.body.as_ref().unwrap_or(&none);
    let line = match exchange.line.as_str() {
        "POST /invoke" => client.invoke(request(body)).map(said),
        "POST /invokeBatch" => client.invoke_batch(requests(&body["requests"])).map(|replies| {
            let line = |reply: Result<Reply, TargetError>| {
                reply.map(said).unwrap_or_else(|error| error.to_string())
            };
            format!("{:?}", replies.into_iter().map(line).collect::<Vec<_>>())
        }),
        _ => client.info().map(
            |Info { target_name, max_calls, call_count, available_targets, .. }| {
                format!("{target_name} {call_count}/{max_calls} {}", available_targets.join(" "))
            },
        ),
    };
    line.unwrap_or_else(|error| error.to_string())
}

/// What has to come of each.
fn expected(generation: &str, name: &str) -> String {
    let echo = |text: &str| match generation {
        "agentv-2.5.1.txt" => format!("said judge-echo {text}"),
        _ => format!("said judge-echo[{text}]"),
    };
    const FINE: &str = r#"said {"score": 0.75, "reasoning": "mock judge says fine"}"#;
    const UNKNOWN: &str =
        "there is no target `nope`; there are local_agent, mock_judge, cli_judge, bad_judge";
    const MISSING: &str = "the request cannot be used: Missing required field: question";
    const FAILED: &str = "the target failed: boom (exit code 3)";
    const EXHAUSTED: &str =
        "the limit of 9 calls of the target is used up (the host's `max_calls` sets it)";
    let info =
        |calls: u32| format!("mock_judge {calls}/9 local_agent mock_judge cli_judge bad_judge");
    match name {
        "info ok" => info(0),
        "info after" => info(4),
        "info after batch" => info(7),
        "info end" => info(9),
        "bad token" | "no token" => "the target proxy does not accept the token".to_owned(),
        "wrong path" | "info with query" | "GET invoke" => {
            "what answered is no target proxy: it does not know the path (Not found)".to_owned()
        }
        "invoke default" | "invoke question only" => FINE.to_owned(),
        "invoke named target" => echo("hello 'quoted' judge"),
        "invoke unknown target" => UNKNOWN.to_owned(),
        "invoke missing question" | "invoke empty question" => MISSING.to_owned(),
        "invoke bad json" => {
            "the target failed: Expected property name or '}' in JSON at position 1".to_owned()
        }
        "invoke failing provider" => FAILED.to_owned(),
        "batch ok+bad" => format!("{:?}", [FINE, &echo("q2"), UNKNOWN, MISSING, FAILED]),
        "batch not array" => {
            "the request cannot be used: Missing required field: requests (array)".to_owned()
        }
        "batch empty" => "[]".to_owned(),
        "snake_case system prompt" | "camelCase system prompt" => echo("sp?"),
        "batch exceeding" | "last allowed" | "exceeded" | "exceeded, missing question" => {
            EXHAUSTED.to_owned()
        }
        other => panic!("nothing is expected of `{other}`"),
    }
}

#[test]
fn every_recorded_answer_means_the_same_however_it_comes() {
    for generation in GENERATIONS {
        let recording = recording(generation);
        assert_eq!(recording.len(), 26, "{generation}");
        for exchange in &recording {
            for pieces in [1, 2, 5, 61, usize::MAX] {
                let proxy = Proxy::replying(exchange.response.clone(), pieces);
                let outcome = outcome(exchange, &proxy.client());
                assert_eq!(
                    outcome,
                    expected(generation, &exchange.name),
                    "{generation}: {}",
                    exchange.name
                );
            }
        }
    }
}

#[test]
fn requests_are_those_that_real_proxies_were_asked() {
    for generation in GENERATIONS {
        for exchange in recording(generation) {
            // The others a client cannot send, or has no reason to.
            const SENT: [&str; 8] = [
                "info ok",
                "invoke default",
                "invoke question only",
                "invoke named target",
                "invoke unknown target",
                "invoke empty question",
                "batch ok+bad",
                "camelCase system prompt",
            ];
            if !SENT.contains(&exchange.name.as_str()) {
                continue;
            }
            let proxy = Proxy::replying(exchange.response.clone(), usize::MAX);
            outcome(&exchange, &proxy.client());
            let received = proxy.received();
            assert_eq!(received.line, format!("{} HTTP/1.1", exchange.line));
            assert_eq!(received.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
            assert_eq!(received.header("connection"), Some("close"));
            let mut body = exchange.body.clone();
            if exchange.name == "batch ok+bad" {
                body.as_mut().unwrap()["requests"][3] = json!({"question": ""});
            }
            match body {
                Some(body) => {
                    assert_eq!(received.header("content-type"), Some("application/json"));
                    assert_eq!(received.json(), body, "{generation}: {}", exchange.name);
                }
                None => {
                    assert_eq!((received.header("content-length"), received.body.len()), (None, 0))
                }
            }
        }
    }
}

#[test]
fn tools_and_tokens_are_read() {
    let body = include_str!("data/proxy/tools-and-usage.json");
    let reply = Proxy::replying(response("200 OK", body), 3).client().invoke("q").unwrap();
    assert_eq!(reply.text(), Ok("final"));
    let call = &reply.output[0].tool_calls[0];
    assert_eq!((call.tool.as_str(), call.duration_ms), ("grep", Some(5.0)));
    assert_eq!(call.input, Some(json!({"a": 1})));
    assert_eq!(reply.output[1].text(), "final");
    let usage = reply.token_usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached), (Some(11), Some(7), Some(2)));
}

#[test]
fn answers_without_text_are_replies_without_text() {
    for body in [r#"{"output":[]}"#, r#"{"outputMessages":[],"rawText":null,"tokenUsage":null}"#] {
        let reply = Proxy::replying(response("200 OK", body), 100).client().invoke("q").unwrap();
        assert_eq!(reply.raw_text, None);
        assert_eq!(
            reply.text().unwrap_err().to_string(),
            "the target's answer cannot be read: it has no text"
        );
    }
}

#[test]
fn answers_that_are_no_proxys_are_told_apart() {
    for (body, reason) in [
        ("", "EOF while parsing"),
        ("[]", "invalid type: sequence"),
        (r#"[[],null,"x",null]"#, "invalid type: sequence"),
        ("<html>Welcome</html>", "expected value at line 1 column 1, in `<html>Welcome</html>`"),
        ("{}", "a reply without `output`"),
        (r#"{"output":5}"#, "a reply that cannot be read: invalid type: integer `5`"),
        (r#"{"output":[],"rawText":7}"#, "a reply that cannot be read"),
        ("{\"output\":[],\"rawText\":\"\u{0}\"}", "control character"),
    ] {
        let error =
            Proxy::replying(response("200 OK", body), 100).client().invoke("q").unwrap_err();
        assert!(matches!(error, TargetError::Protocol { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(reason), "{body}: {error}");
    }
    let body = r#"{"maxCalls":9,"callCount":0}"#;
    let error = Proxy::replying(response("200 OK", body), 100).client().info().unwrap_err();
    assert!(error.to_string().contains("without `targetName` or `providerLabel`"), "{error}");
}

#[test]
fn a_batch_has_as_many_replies_as_requests() {
    let body = r#"{"responses":[{"output":[],"rawText":"a"}]}"#;
    let client = Proxy::replying(response("200 OK", body), 100).client();
    let error = client.invoke_batch(["a", "b"]).unwrap_err();
    assert!(error.to_string().contains("1 replies to a batch of 2"), "{error}");
    // One that cannot be read says nothing of the others.
    let body = r#"{"responses":[{"output":[],"rawText":"a"},{"x":1}]}"#;
    let client = Proxy::replying(response("200 OK", body), 100).client();
    let replies = client.invoke_batch(["a", "b"]).unwrap();
    assert_eq!(replies[0].as_ref().unwrap().text(), Ok("a"));
    assert!(matches!(replies[1], Err(TargetError::Protocol { .. })));
}

#[test]
fn statuses_without_a_proxys_words_keep_what_was_said() {
    for (status, body, expected) in [
        (
            "503 Service Unavailable",
            r#"{"error":"Proxy is shutting down"}"#,
            "the target proxy is shutting down",
        ),
        ("500 Oops", "plain\nwords", "the target failed: plain words"),
        ("429 Too Many", "{}", "the limit of calls of the target is used up: {}"),
        ("302 Found", "", "what answered is no target proxy: status 302: "),
        ("201 Created", "{}", "what answered is no target proxy: status 201: {}"),
        ("403 Forbidden", "no", "what answered is no target proxy: status 403: no"),
    ] {
        let error = Proxy::replying(response(status, body), 100).client().invoke("q").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_does_not_speak_http_is_no_proxy() {
    for bytes in
        [&b"SSH-2.0-OpenSSH_9.9\r\n"[..], &[0x15, 3, 3, 0, 2, 2, 70, b'\n'], &[0xff; 200_000]]
    {
        let error = Proxy::replying(bytes, 1000).client().info().unwrap_err();
        assert!(matches!(error, TargetError::Protocol { .. }), "{error:?}");
    }
}

#[test]
fn connections_that_break_are_errors_of_the_connection() {
    let whole = response("200 OK", r#"{"output":[],"rawText":"a"}"#);
    for end in [0, 1, 30, whole.len() - 1] {
        let error = Proxy::replying(&whole[..end], 100).client().invoke("q").unwrap_err();
        assert!(matches!(error, TargetError::Connection { .. }), "{end}: {error:?}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = TargetClient::new(&format!("http://{nobody}"), TOKEN).unwrap();
    let error = client.invoke("q").unwrap_err().to_string();
    assert!(error.contains(&nobody.to_string()) && !error.contains(TOKEN), "{error}");
}

#[test]
fn an_answer_that_takes_too_long_is_not_waited_for() {
    const LIMIT: Duration = Duration::from_millis(150);
    // Until the client has gone.
    let wait = |stream: &mut std::net::TcpStream| {
        let _ = stream.read_to_end(&mut Vec::new());
    };
    let silent = Proxy::after_request(wait);
    let half = Proxy::after_request(move |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{").unwrap();
        wait(stream);
    });
    // Something every now and then, for ever.
    let trickling = Proxy::after_request(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let start = Instant::now();
    for proxy in [silent, half, trickling] {
        let error = proxy.client().timeout(LIMIT).invoke("q").unwrap_err();
        assert_eq!(error, TargetError::Timeout { after: LIMIT });
    }
    // A batch has the time of all its calls.
    let proxy = Proxy::after_request(wait);
    let error = proxy.client().timeout(LIMIT).invoke_batch(["a", "b", "c"]).unwrap_err();
    assert_eq!(error, TargetError::Timeout { after: LIMIT * 3 });
    assert!(start.elapsed() < Duration::from_secs(60));
    let error = proxy.client().timeout(Duration::ZERO).invoke("q").unwrap_err();
    assert_eq!(error, TargetError::Timeout { after: Duration::ZERO });
    // No end at all, where the clock cannot count so far, and no limit of the answer.
    let body = r#"{"output":[],"rawText":"a"}"#;
    for answer in [response("200 OK", body), format!("HTTP/1.0 200 OK\r\n\r\n{body}").into_bytes()]
    {
        let client = Proxy::replying(answer, 7).client();
        let client = client.timeout(Duration::MAX).max_reply(usize::MAX);
        assert_eq!(client.invoke("q").unwrap().text(), Ok("a"));
    }
}

#[test]
fn answers_without_end_are_cut_at_the_limit() {
    let endless = |head: &'static str, more: &'static str| {
        Proxy::after_request(move |stream| {
            stream.write_all(head.as_bytes()).unwrap();
            while stream.write_all(more.as_bytes()).is_ok() {}
        })
    };
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (head, more) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "                "),
        (chunked, "10\r\n                \r\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "                "),
    ] {
        let error = endless(head, more).client().max_reply(1_000_000).invoke("q").unwrap_err();
        assert_eq!(error, TargetError::ReplyTooLarge { limit: 1_000_000 });
    }
    for (head, more) in [("HTTP/1.1 200 OK\r\n", "A: b\r\n"), ("", "HTTP/1.1 100 \r\n\r\n")] {
        let error = endless(head, more).client().invoke("q").unwrap_err();
        assert!(matches!(error, TargetError::Protocol { .. }), "{error:?}");
    }
}

#[test]
fn large_questions_and_answers_go_through() {
    let text = "äöü \"quoted\" ".repeat(200_000);
    let body = json!({"output": [], "rawText": text}).to_string();
    let proxy = Proxy::replying(response("200 OK", &body), 10_007);
    let reply = proxy.client().invoke(text.as_str()).unwrap();
    assert_eq!(reply.text(), Ok(text.as_str()));
    assert_eq!(proxy.received().json()["question"], text);
}

#[test]
fn an_answer_before_the_request_is_read_counts() {
    let proxy = Proxy::start(|mut stream| {
        let body = r#"{"error":"Max calls exceeded (limit: 9)"}"#;
        stream.write_all(&response("429 Too Many Requests", body)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        receive(&stream)
    });
    let error = proxy.client().invoke("x".repeat(1_000_000)).unwrap_err();
    assert!(matches!(error, TargetError::BudgetExhausted { limit: Some(9), .. }), "{error:?}");
    let Received { line, body, .. } = proxy.received();
    assert_eq!(line, "POST /invoke HTTP/1.1");
    assert!(body.len() > 1_000_000);
}

#[test]
fn without_requests_nobody_is_asked() {
    let nobody = TargetClient::new("http://127.0.0.1:9", TOKEN).unwrap();
    assert_eq!(nobody.invoke_batch(Vec::<Request>::new()), Ok(Vec::new()));
    assert!(!format!("{nobody:?}").contains(TOKEN));
}

/// What a program prints and says on standard error, given a document and the variables of a host.
fn program(fixture: &str, document: &str, variables: &[(&str, &str)]) -> (String, String) {
    const NAMES: [&str; 4] = [
        "AGENTV_PROVIDER_PROXY_URL",
        "AGENTV_PROVIDER_PROXY_TOKEN",
        "AGENTV_TARGET_PROXY_URL",
        "AGENTV_TARGET_PROXY_TOKEN",
    ];
    let deps = std::env::current_exe().unwrap();
    let program = deps.parent().unwrap().with_file_name("examples").join("model");
    assert!(
        program.exists(),
        "{} is not built: run all tests of the package, or `cargo build --example model`",
        program.display()
    );
    let mut command = Command::new(program);
    NAMES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command
        .env("FIXTURE", fixture)
        .envs(variables.iter().copied())
        // Which would lead elsewhere.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("http_proxy", "http://127.0.0.1:9")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    child.wait().unwrap();
    (stdout, stderr)
}

/// Every way to take a model as an argument, with a document for it, and whether the evaluator does without.
const PROGRAMS: [(&str, &str, bool); 5] = [
    ("optional", r#"{"metric_name":"m"}"#, true),
    ("needed", r#"{"candidate_answer":"a"}"#, false),
    ("agentv", r#"{"candidate_answer":"a"}"#, true),
    ("adk", r#"{"eval_metric":{"metric_name":"m"},"actual_invocations":[{}]}"#, true),
    ("agenta", r#"{"inputs":{},"output":"a"}"#, true),
];

/// The score, under whatever name the host has for it.
fn score(answer: &str) -> Option<f64> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    answer["score"].as_f64().or(answer["overall_score"].as_f64())
}

#[test]
fn programs_ask_the_proxy_that_the_environment_names() {
    for generation in ["TARGET", "PROVIDER"] {
        for (fixture, document, _) in PROGRAMS {
            let proxy =
                Proxy::replying(response("200 OK", r#"{"output":[],"rawText":"yes"}"#), 100);
            let names = ["URL", "TOKEN"].map(|name| format!("AGENTV_{generation}_PROXY_{name}"));
            let variables = [(&*names[0], &*proxy.url()), (&*names[1], TOKEN)];
            let (stdout, stderr) = program(fixture, document, &variables);
            assert_eq!(score(&stdout), Some(1.0), "{fixture}: {stdout}{stderr}");
            assert_eq!(proxy.received().json()["question"], "Is it good?");
        }
    }
}

#[test]
fn programs_without_a_proxy_do_without_or_say_what_is_missing() {
    for (fixture, document, optional) in PROGRAMS {
        let (stdout, stderr) = program(fixture, document, &[]);
        if optional {
            assert_eq!(score(&stdout), Some(0.5), "{fixture}: {stdout}{stderr}");
        } else {
            let message = "argument `target`: target not configured";
            assert!(stdout.is_empty() && stderr.contains(message), "{stdout}{stderr}");
        }
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_also_where_none_is_needed() {
    let (fixture, document, _) = PROGRAMS[0];
    for (url, token, message) in [
        ("http://127.0.0.1:9", "", "AGENTV_TARGET_PROXY_TOKEN: is not set"),
        (
            "http://proxy.example.com",
            TOKEN,
            "AGENTV_TARGET_PROXY_URL: `proxy.example.com` is not this machine",
        ),
        ("http://127.0.0.1:1", TOKEN, "the connection to the target proxy failed: 127.0.0.1:1"),
    ] {
        let variables = [("AGENTV_TARGET_PROXY_URL", url), ("AGENTV_TARGET_PROXY_TOKEN", token)];
        let (stdout, stderr) = program(fixture, document, &variables);
        assert_eq!(stdout, "", "{url}");
        assert!(stderr.contains(message) && !stderr.contains(TOKEN), "{url}: {stderr}");
    }
}
