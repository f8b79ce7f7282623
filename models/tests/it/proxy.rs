//! The target proxy, asked over its connections.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use evaluator_models::{
    Answer, BrokeredModel, Cassette, ErrorKind, Fake, Finish, Mode, ModelError, Offer,
    ProxiedModel, Proxy, ProxyServer, Redactor, Reply, Request, Usage,
};
use serde_json::{Value, json};

use crate::server::broker;

/// A model that answers by a function.
struct Scripted<F>(&'static str, F);

impl<F> std::fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl<F: Fn(&Request) -> Result<Reply, ModelError> + Send + Sync> ProxiedModel for Scripted<F> {
    fn label(&self) -> String {
        format!("test/{}", self.0)
    }

    fn ask(&self, request: Request, _limit: Duration) -> Result<Answer, ModelError> {
        (self.1)(&request).map(|reply| Answer { reply, ..Answer::default() })
    }
}

pub(crate) fn model<F>(name: &'static str, script: F) -> (String, Arc<dyn ProxiedModel>)
where
    F: Fn(&Request) -> Result<Reply, ModelError> + Send + Sync + 'static,
{
    (name.to_owned(), Arc::new(Scripted(name, script)))
}

pub(crate) fn text(text: impl Into<String>) -> Result<Reply, ModelError> {
    Ok(Reply { text: text.into(), ..Reply::default() })
}

/// A model that answers when the sender is dropped. The receiver gets a message for each question.
pub(crate) fn late() -> (Offer, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (started, has_started) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    let (started, wait) = (Mutex::new(started), Mutex::new(wait));
    let model = model("judge", move |_| {
        started.lock().unwrap().send(()).unwrap();
        let _ = wait.lock().unwrap().recv();
        text("late")
    });
    (Offer::new("quality", vec![model]), has_started, release)
}

fn user(request: &Request) -> &str {
    &request.messages.last().unwrap().content
}

type Echo = fn(&str) -> String;

/// The models of the recordings.
fn recorded_models(echo: Echo) -> Vec<(String, Arc<dyn ProxiedModel>)> {
    let fine = r#"{"score": 0.75, "reasoning": "mock judge says fine"}"#;
    let boom = || Err(ModelError::new(ErrorKind::Unavailable, "boom (exit code 3)"));
    vec![
        model("mock_judge", move |_| text(fine)),
        model("local_agent", |_| text("agent")),
        model("cli_judge", move |request| text(echo(user(request)))),
        model("bad_judge", move |_| boom()),
    ]
}

struct Running {
    _server: ProxyServer,
    proxy: Proxy,
}

fn open(offer: Offer) -> Running {
    let server = ProxyServer::start().unwrap();
    let proxy = server.open(Arc::new(offer)).unwrap();
    Running { _server: server, proxy }
}

pub(crate) fn offer(max_calls: u64) -> Offer {
    let mut offer = Offer::new("quality", recorded_models(|text| format!("judge-echo {text}")));
    offer.max_calls = max_calls;
    offer
}

/// Status, head and body of a response; an error if there is none.
pub(crate) fn send(address: &str, bytes: &[u8]) -> io::Result<(u16, String, String)> {
    let mut stream = TcpStream::connect(address.trim_start_matches("http://"))?;
    stream.write_all(bytes)?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.unwrap(), head.to_owned(), body.to_owned()))
}

pub(crate) fn head(line: &str, token: &str, length: usize) -> String {
    format!(
        "{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
    )
}

impl Running {
    fn raw(&self, line: &str, token: &str, body: &str) -> (u16, Value) {
        let request = head(line, token, body.len()) + body;
        let (status, _, body) = send(&self.proxy.url(), request.as_bytes()).unwrap();
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.raw(&format!("POST {path}"), self.proxy.token(), &body.to_string())
    }

    fn invoke(&self, body: &Value) -> (u16, Value) {
        self.post("/invoke", body)
    }

    fn info(&self) -> Value {
        let (status, info) = self.raw("GET /info", self.proxy.token(), "");
        assert_eq!(status, 200);
        info
    }
}

/// An exchange of a recording: request line, body, status, response.
struct Exchange {
    name: String,
    line: String,
    body: String,
    status: u16,
    response: Value,
}

fn exchanges(file: &str) -> Vec<Exchange> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/tests/data/proxy").join(file);
    let text = std::fs::read_to_string(data).unwrap();
    let exchange = |block: &str| {
        let (name, rest) = block.split_once('\n').unwrap();
        let (request, response) = rest.split_once('\n').unwrap();
        let request = request.strip_prefix("> ").unwrap();
        let (line, body) = request.split_once("  body=").unwrap_or((request, ""));
        let status = response.split(' ').nth(2).unwrap().parse().unwrap();
        let response = response.lines().find(|line| line.starts_with('{')).unwrap();
        let response = serde_json::from_str(response).unwrap();
        Exchange {
            name: name.to_owned(),
            line: line.to_owned(),
            body: body.to_owned(),
            status,
            response,
        }
    };
    text.split("### ").skip(1).map(exchange).collect()
}

/// Checks that every key of a recorded response has the recorded value.
fn assert_contains(actual: &Value, recorded: &Value, name: &str) {
    match (actual, recorded) {
        (Value::Object(actual), Value::Object(recorded)) => {
            for (key, value) in recorded {
                // The recorded host names a tested agent twice and in another order.
                if key.starts_with("available") {
                    let names = value.as_array().unwrap();
                    let known = actual[key].as_array().unwrap();
                    assert!(names.iter().all(|each| known.contains(each)), "{name}");
                } else {
                    assert_contains(&actual[key], value, name);
                }
            }
        }
        (Value::Array(actual), Value::Array(recorded)) => {
            assert_eq!(actual.len(), recorded.len(), "{name}");
            for (actual, recorded) in actual.iter().zip(recorded) {
                assert_contains(actual, recorded, name);
            }
        }
        (Value::String(actual), Value::String(recorded)) if recorded.contains("Available: ") => {
            let (unknown, _) = recorded.split_once(" Available").unwrap();
            let unknown = unknown.replace("provider", "target");
            assert!(actual.starts_with(&unknown), "{name}: {actual}");
        }
        (Value::String(actual), Value::String(recorded)) if recorded.contains("boom") => {
            let own = "unavailable: boom (exit code 3)";
            assert_eq!(actual.trim_start_matches("Error: "), own, "{name}");
        }
        _ => assert_eq!(actual, recorded, "{name}"),
    }
}

#[test]
fn recorded_requests_are_answered_as_the_recorded_hosts_did() {
    let echoes: [(&str, Echo); 3] = [
        ("agentv-2.5.1.txt", |text| format!("judge-echo {text}")),
        ("agentv-4.42.4.txt", |text| format!("judge-echo[{text}]")),
        ("agentv-5.txt", |text| format!("judge-echo[{text}]")),
    ];
    for (file, echo) in echoes {
        let mut offer = Offer::new("quality", recorded_models(echo));
        offer.max_calls = 9;
        let running = open(offer);
        let all = exchanges(file);
        assert_eq!(all.len(), 26, "{file}");
        for Exchange { name, line, body, status, response } in all {
            let token = match &*name {
                "bad token" => "0".repeat(64),
                "no token" => String::new(),
                _ => running.proxy.token().to_owned(),
            };
            let (got, answer) = running.raw(&line, &token, &body);
            let name = format!("{file}: {name}");
            match (status, &*line) {
                // Bad JSON is the fault of the client.
                (500, _) if body.starts_with("{not") => assert_eq!(got, 400, "{name}"),
                // A failure is never an answer, as it is in the newest generation.
                (200, "POST /invoke") if body.contains("bad_judge") => {
                    assert_eq!(got, 500, "{name}")
                }
                (_, "POST /invokeBatch") if got == 200 => {
                    assert_eq!(status, 200, "{name}");
                    let (answers, recorded) = (
                        answer["responses"].as_array().unwrap(),
                        response["responses"].as_array().unwrap(),
                    );
                    for (answer, recorded) in answers.iter().zip(recorded) {
                        if recorded["rawText"].as_str().unwrap().contains("boom") {
                            assert_eq!(answer["output"], json!([]), "{name}");
                            assert_eq!(answer["rawText"], "Error: unavailable: boom (exit code 3)");
                        } else {
                            assert_contains(answer, recorded, &name);
                        }
                    }
                }
                _ => {
                    assert_eq!(got, status, "{name}");
                    assert_contains(&answer, &response, &name);
                }
            }
        }
    }
}

#[test]
fn responses_have_the_headers_of_the_recordings() {
    let running = open(offer(1));
    let request = head("GET /info", running.proxy.token(), 0);
    let (_, head, _) = send(&running.proxy.url(), request.as_bytes()).unwrap();
    let head = head.to_lowercase();
    for header in [
        "access-control-allow-origin: *",
        "access-control-allow-methods: get, post, options",
        "access-control-allow-headers: content-type, authorization",
        "content-type: application/json",
        "connection: close",
    ] {
        assert!(head.contains(header), "{head}");
    }
    // Without a token, as browsers do.
    let options = "OPTIONS /invoke HTTP/1.1\r\nHost: x\r\n\r\n";
    let (status, head, body) = send(&running.proxy.url(), options.as_bytes()).unwrap();
    assert_eq!((status, body.as_str()), (204, ""));
    assert!(head.to_lowercase().contains("access-control-allow-headers"), "{head}");
}

#[test]
fn tokens_are_random_and_those_of_other_evaluations_do_not_work() {
    let server = ProxyServer::start().unwrap();
    let proxies = [1, 2].map(|_| server.open(Arc::new(offer(1))).unwrap());
    for proxy in &proxies {
        assert_eq!(proxy.token().len(), 64);
        assert!(proxy.token().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(proxy.url().starts_with("http://127.0.0.1:"), "{}", proxy.url());
        let variables: BTreeMap<_, _> = proxy.variables().collect();
        let (url, token) = (proxy.url(), proxy.token().to_owned());
        assert_eq!(
            variables,
            BTreeMap::from([
                ("AGENTV_TARGET_PROXY_URL", url.clone()),
                ("AGENTV_TARGET_PROXY_TOKEN", token.clone()),
                ("AGENTV_PROVIDER_PROXY_URL", url.clone()),
                ("AGENTV_PROVIDER_PROXY_TOKEN", token.clone()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_API_BASE", format!("{url}/v1")),
                ("OPENAI_API_KEY", token.clone()),
                ("ANTHROPIC_BASE_URL", url.clone()),
                ("ANTHROPIC_API_URL", url),
                ("ANTHROPIC_API_KEY", token.clone()),
            ])
        );
        assert!(!format!("{proxy:?}").contains(&token));
    }
    assert_ne!(proxies[0].token(), proxies[1].token());
    let request = head("GET /info", proxies[0].token(), 0);
    let (status, ..) = send(&proxies[1].url(), request.as_bytes()).unwrap();
    assert_eq!(status, 401);
}

/// A process that keeps its first token asks for each of its evaluations, whether the one before has been closed yet or not.
#[test]
fn an_evaluation_inherits_the_token_of_an_earlier_one_at_a_shared_address() {
    let server = ProxyServer::start().unwrap();
    let shared = server.listen(2).unwrap();
    let opened = || shared.open(Arc::new(offer(9))).unwrap();
    let (first, second) = (opened(), opened());
    let (url, kept) = (first.url(), first.token().to_owned());
    assert_eq!(second.url(), url);
    let post = |path: &str, token: &str, body: Value| {
        let body = body.to_string();
        let request = head(&format!("POST {path}"), token, body.len()) + &body;
        send(&url, request.as_bytes()).unwrap().0
    };
    let asks = || post("/invoke", &kept, json!({"question": "q"}));
    let inherits = |token: &str| post("/inherit", token, json!({"token": kept}));
    assert_eq!(asks(), 200);
    assert_eq!((inherits(second.token()), asks(), asks()), (204, 200, 200));
    assert_eq!(first.close().calls, 1);
    assert_eq!(asks(), 200, "what one closes another has taken over");
    assert_eq!(second.close().calls, 3);
    assert_eq!(asks(), 401, "the token is no longer valid");
    let third = opened();
    assert_eq!((inherits(third.token()), asks()), (204, 200));
    for (token, body, status) in [
        (third.token(), json!({"token": "0".repeat(64)}), 400),
        (third.token(), json!({}), 400),
        (&*"0".repeat(64), json!({"token": kept}), 401),
    ] {
        assert_eq!(post("/inherit", token, body), status);
    }
    assert_eq!(third.close().calls, 1);
}

#[test]
fn what_is_wrong_with_a_request_is_said_in_a_fixed_order() {
    let running = open(offer(2));
    let token = running.proxy.token().to_owned();
    let ask = json!({"question": "q"});
    for (line, token, body, status, error) in [
        ("POST /nope", "x", "{}".to_owned(), 401, "Unauthorized"),
        ("POST /nope", &*token, "{}".to_owned(), 404, "Not found"),
        ("GET /invoke", &token, String::new(), 404, "Not found"),
        ("GET /info?x=1", &token, String::new(), 404, "Not found"),
        ("GET /info/", &token, String::new(), 404, "Not found"),
        ("POST /info", &token, String::new(), 404, "Not found"),
        ("DELETE /invoke", &token, String::new(), 404, "Not found"),
        ("POST /invoke", &token, "{not json".to_owned(), 400, "the body is not JSON"),
        ("POST /invoke", &token, String::new(), 400, "the body is not JSON"),
        ("POST /invoke", &token, "[".repeat(100_000), 400, "the body is not JSON"),
        (
            "POST /invoke",
            &token,
            r#"{"question": "q", "question": "r"}"#.to_owned(),
            400,
            "the key `question` is repeated",
        ),
        (
            "POST /invokeBatch",
            &token,
            r#"{"requests": [{"question": "q", "target": "a", "target": "b"}]}"#.to_owned(),
            400,
            "the key `target` is repeated",
        ),
        ("POST /invoke", &token, "[]".to_owned(), 400, "Missing required field: question"),
        ("POST /invoke", &token, "null".to_owned(), 400, "Missing required field: question"),
        (
            "POST /invoke",
            &token,
            r#"{"question": 5}"#.to_owned(),
            400,
            "Missing required field: question",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"question": " \n"}"#.to_owned(),
            400,
            "Missing required field: question",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"question": "q", "systemPrompt": 1}"#.to_owned(),
            400,
            "`systemPrompt` must be a string",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"question": "q", "target": "x"}"#.to_owned(),
            400,
            "Unknown target 'x'. Available: mock_judge, local_agent, cli_judge, bad_judge",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"question": "q", "provider": "x"}"#.to_owned(),
            400,
            "Unknown provider 'x'. Available: mock_judge, local_agent, cli_judge, bad_judge",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"question": "q", "target": "mock_judge", "provider": "bad_judge"}"#.to_owned(),
            400,
            "name different models",
        ),
        (
            "POST /invoke",
            &token,
            r#"{"target": "x"}"#.to_owned(),
            400,
            "Missing required field: question",
        ),
        (
            "POST /invokeBatch",
            &token,
            "[]".to_owned(),
            400,
            "Missing required field: requests (array)",
        ),
        (
            "POST /invokeBatch",
            &token,
            json!({"requests": [ask, ask, ask]}).to_string(),
            429,
            "Batch would exceed max calls (current: 0, batch: 3, limit: 2)",
        ),
    ] {
        let (got, answer) = running.raw(line, token, &body);
        let message = answer["error"].as_str().unwrap_or_default();
        assert!(got == status && message.contains(error), "{line} {body:.80}: {got} {message}");
    }
    assert_eq!(running.info()["callCount"], 0);
    // Used up, which is checked before the body is read.
    assert_eq!(running.post("/invokeBatch", &json!({"requests": [ask, {}]})).0, 200);
    assert_eq!(running.info()["callCount"], 1);
    assert_eq!(running.invoke(&ask).0, 200);
    for body in ["{}", "{not json"] {
        let (status, answer) = running.raw("POST /invoke", &token, body);
        assert_eq!((status, &answer["error"]), (429, &json!("Max calls exceeded (limit: 2)")));
    }
    assert_eq!(running.raw("POST /nope", &token, "{}").0, 404);
    assert_eq!(
        running.post("/invokeBatch", &json!({"requests": []})),
        (200, json!({"responses": []}))
    );
}

#[test]
fn no_calls_at_all_may_be_allowed() {
    let running = open(offer(0));
    let (status, answer) = running.invoke(&json!({"question": "q"}));
    assert_eq!((status, &answer["error"]), (429, &json!("Max calls exceeded (limit: 0)")));
    assert_eq!(running.post("/invokeBatch", &json!({"requests": []})).0, 200);
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.refused), (0, 1));
    assert_eq!(
        usage.warning().unwrap(),
        "1 request to its models was refused (first: Max calls exceeded (limit: 0))"
    );
}

#[test]
fn both_generations_of_keys_are_read_and_written() {
    let models = vec![
        model("first", |request| {
            let messages: Vec<_> = request.messages.iter().map(|it| it.content.clone()).collect();
            let usage = Some(Usage { input: 11, output: 7, cached: 2, reasoning: 1 });
            Ok(Reply { text: messages.join("|"), usage, ..Reply::default() })
        }),
        model("second", |request| text(format!("second {}", request.messages.len()))),
    ];
    let running = open(Offer::new("quality", models));
    let (status, answer) = running
        .invoke(&json!({"question": " q ", "systemPrompt": "s", "evalCaseId": "c", "attempt": 1}));
    let messages = json!([{"role": "assistant", "content": "s|q"}]);
    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!({
            "output": messages, "outputMessages": messages, "rawText": "s|q",
            "tokenUsage": {"input": 11, "output": 7, "cached": 2},
        })
    );
    for none in [
        json!({"question": "q", "systemPrompt": null, "target": null}),
        json!({"question": "q", "system_prompt": "S", "systemPrompt": ""}),
    ] {
        assert_eq!(running.invoke(&none).1["rawText"], "q");
    }
    for named in [
        json!({"question": "q", "target": "second"}),
        json!({"question": "q", "provider": "second"}),
        json!({"question": "q", "target": "second", "provider": "second"}),
    ] {
        let answer = running.invoke(&named).1;
        assert_eq!(answer["rawText"], "second 1");
        assert_eq!(answer.get("tokenUsage"), None);
    }
    let info = running.info();
    assert_eq!(
        info,
        json!({
            "targetName": "first", "providerLabel": "first", "maxCalls": 50, "callCount": 6,
            "availableTargets": ["first", "second"], "availableProviderLabels": ["first", "second"],
        })
    );
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.failed, usage.tokens.total()), (6, 0, 18 * 3));
    assert_eq!(usage.models, ["test/first", "test/second"]);
    assert_eq!(usage.warning(), None);
}

#[test]
fn replies_that_are_no_answers_are_errors() {
    let reply = |finish, text: &str| Reply { finish, text: text.to_owned(), ..Reply::default() };
    let failures: Vec<(Result<Reply, ModelError>, u16, &str)> = vec![
        (Ok(reply(Finish::Length, r#"{"score": 1}"#)), 500, "the reply is unreadable: cut off"),
        (Ok(reply(Finish::Stop, " ")), 500, "the reply is unreadable: empty"),
        (Ok(reply(Finish::ToolCalls, "")), 500, "a tool call"),
        (Err(ModelError::new(ErrorKind::Refused, "no")), 500, "refused: no"),
        (Err(ModelError::new(ErrorKind::BudgetExceeded, "spent")), 429, "budget_exceeded: spent"),
        (Err(ModelError::new(ErrorKind::DeadlineExceeded, "late")), 504, "deadline_exceeded: late"),
        (Err(ModelError::new(ErrorKind::NotInCassette, "miss")), 500, "not_in_cassette: miss"),
    ];
    let script =
        Mutex::new(failures.iter().map(|each| each.0.clone()).collect::<Vec<_>>().into_iter());
    let next =
        move |_: &Request| script.lock().unwrap_or_else(PoisonError::into_inner).next().unwrap();
    let running = open(Offer::new("quality", vec![model("judge", next)]));
    for (_, status, error) in &failures {
        let (got, answer) = running.invoke(&json!({"question": "q"}));
        let message = answer["error"].as_str().unwrap();
        assert!(got == *status && message.contains(error), "{got} {message}");
    }
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.failed, usage.refused), (7, 7, 0));
    assert!(
        usage
            .warning()
            .unwrap()
            .starts_with("7 of 7 model calls failed (first: model `test/judge`")
    );
}

#[test]
fn the_limit_of_calls_is_exact_however_many_requests_arrive_together() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let models = vec![model("judge", move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        text("yes")
    })];
    let running = open(Offer { max_calls: 3, ..Offer::new("quality", models) });
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..64 {
            let (running, answered) = (&running, &answered);
            scope.spawn(move || {
                let question = json!({"question": "q"});
                let (status, answers) = match number % 4 {
                    0 => {
                        let (status, answer) = running
                            .post("/invokeBatch", &json!({"requests": [question, question]}));
                        (status, answer["responses"].as_array().map_or(0, Vec::len))
                    }
                    _ => {
                        let status = running.invoke(&question).0;
                        (status, usize::from(status == 200))
                    }
                };
                assert!(status == 200 || status == 429, "{status}");
                answered.fetch_add(answers, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert_eq!(answered.into_inner(), 3);
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.unfinished, usage.failed), (3, 0, 0));
}

#[test]
fn large_bodies_are_refused_and_chunks_are_read() {
    let running = open(offer(9));
    let large = json!({"question": "x".repeat(9 << 20)});
    let (status, answer) = running.invoke(&large);
    assert_eq!(
        (status, answer["error"].as_str().unwrap()),
        (413, "the body is larger than 8388608 bytes")
    );
    let (status, _) =
        running.invoke(&json!({"question": "x".repeat(7 << 20), "target": "cli_judge"}));
    assert_eq!(status, 200);
    let chunked = format!(
        "POST /invoke HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n\
         e\r\n{{\"question\": \"\r\n3\r\nq\"}}\r\n0\r\n\r\n",
        running.proxy.token()
    );
    let (_, _, answer) = send(&running.proxy.url(), chunked.as_bytes()).unwrap();
    assert!(answer.contains("mock judge says fine"), "{answer}");
    assert_eq!(running.proxy.close().refused, 1);
}

#[test]
fn a_model_that_takes_too_long_is_a_failure() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let models = vec![model("judge", move |_| {
        let _ = wait.lock().unwrap().recv();
        text("too late")
    })];
    let limit = Duration::from_millis(50);
    let running = open(Offer { call_limit: limit, ..Offer::new("quality", models) });
    let (status, answer) = running.invoke(&json!({"question": "q"}));
    assert_eq!((status, &answer["error"]), (504, &json!("the model did not answer within 0.05 s")));
    let batch = running.post("/invokeBatch", &json!({"requests": [{"question": "q"}]}));
    assert_eq!(batch.1["responses"][0]["rawText"], "Error: the model did not answer within 0.05 s");
    drop(release);
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.failed, usage.unfinished), (2, 2, 0));
}

#[test]
fn nothing_is_answered_after_the_end() {
    let server = ProxyServer::start().unwrap();
    let proxy = server.open(Arc::new(offer(9))).unwrap();
    let (url, token) = (proxy.url(), proxy.token().to_owned());
    // Connected before the end, and asked afterwards.
    let mut early = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    assert_eq!(proxy.close().calls, 0);
    let request = head("GET /info", &token, 0);
    let late = early.write_all(request.as_bytes()).and_then(|()| {
        let mut response = String::new();
        early.read_to_string(&mut response).map(|_| response)
    });
    assert!(
        late.is_err() || late.as_ref().is_ok_and(|it| it.is_empty() || it.contains(" 503 ")),
        "{late:?}"
    );
    // The address closes a moment later.
    while let Ok((status, ..)) = send(&url, request.as_bytes()) {
        assert_eq!(status, 503);
    }
    let refused = TcpStream::connect(url.trim_start_matches("http://"));
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn an_answer_after_the_client_has_gone_still_counts() {
    let (offer, has_started, release) = late();
    let running = open(offer);
    let body = json!({"question": "q"}).to_string();
    let mut stream = TcpStream::connect(running.proxy.url().trim_start_matches("http://")).unwrap();
    let request = head("POST /invoke", running.proxy.token(), body.len()) + &body;
    stream.write_all(request.as_bytes()).unwrap();
    has_started.recv().unwrap();
    stream.shutdown(Shutdown::Both).unwrap();
    assert_eq!(running.info()["callCount"], 1);
    let usage = running.proxy.close();
    assert_eq!((usage.calls, usage.unfinished), (1, 1));
    assert_eq!(usage.warning().unwrap(), "1 model call was still unanswered at its end");
    drop(release);
}

#[test]
fn connections_that_send_and_read_nothing_delay_only_their_own_evaluation() {
    let server = ProxyServer::start().unwrap();
    let (flooded, other) =
        (server.open(Arc::new(offer(9))).unwrap(), server.open(Arc::new(offer(9))).unwrap());
    let address = flooded.url().trim_start_matches("http://").to_owned();
    let idle: Vec<_> = (0..100).map_while(|_| TcpStream::connect(&address).ok()).collect();
    let request = head("GET /info", other.token(), 0);
    assert_eq!(send(&other.url(), request.as_bytes()).unwrap().0, 200);
    assert_eq!(flooded.close().calls, 0);
    drop(idle);
}

#[test]
fn equal_questions_are_samples_of_their_own() {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&samples);
    let models = vec![model("judge", move |request| {
        seen.lock().unwrap().push((user(request).to_owned(), request.sample));
        assert_eq!(request.metric.as_deref(), Some("quality"));
        text("yes")
    })];
    let server = ProxyServer::start().unwrap();
    let offer = Arc::new(Offer::new("quality", models));
    for _ in 0..2 {
        let running = Running {
            _server: ProxyServer::start().unwrap(),
            proxy: server.open(Arc::clone(&offer)).unwrap(),
        };
        for question in ["a", "b", "a"] {
            running.invoke(&json!({"question": question}));
        }
    }
    let each = [("a", 0), ("b", 0), ("a", 1)].map(|(text, sample)| (text.to_owned(), sample));
    assert_eq!(*samples.lock().unwrap(), [each.clone(), each].concat());
}

#[test]
fn a_broker_answers_under_its_limits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let cassette = Cassette::open(&path, Mode::Record, Redactor::default()).unwrap();
    let (broker, _) = broker();
    let broker = broker.with_cassette(cassette);
    let fake = Fake::in_order(["one", "two"]);
    let model = BrokeredModel::new(Arc::new(broker), Arc::new(fake));
    let running = open(Offer::new("quality", vec![("judge".to_owned(), Arc::new(model))]));
    assert_eq!(running.invoke(&json!({"question": "q"})).1["rawText"], "one");
    assert_eq!(running.invoke(&json!({"question": "q"})).1["rawText"], "two");
    let (status, answer) = running.invoke(&json!({"question": "q"}));
    assert_eq!(status, 500);
    assert!(answer["error"].as_str().unwrap().contains("no scripted replies left"), "{answer}");
    let usage = running.proxy.close();
    assert_eq!(usage.models, ["fake/script"]);
    let samples: Vec<u32> = usage.recordings.iter().map(|(_, sample)| *sample).collect();
    assert_eq!(samples, [0, 1], "two answers to one question");
}
