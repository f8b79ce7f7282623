//! Evaluators over HTTP, with real requests.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{fs, io::Write, thread, time::Duration};

use serde_json::{Value, json};
use support::{
    Folder,
    processes::{assert_gone, signal, wait_for},
    serving::{Serving, request, response},
};

/// Passes what was said exactly as expected, and has no word for conversations without golden turns.
const SAME: &str = r#"
doc=$(cat)
case "$doc" in
  *'"expected_invocations":null'*) echo '{"score": 0, "status": "NOT_EVALUATED", "details": {"reason": "nothing to compare with"}}' ;;
  *'"final_response":"Paris"'*'"final_response":"Paris"'*) echo '{"score": 1, "per_invocation_scores": [1]}' ;;
  *) echo '{"score": 0.25}' ;;
esac"#;

/// Shows what it was given.
const SHOW: &str = r#"printf '{"score": 1, "details": {"document": %s}}' "$(cat)""#;

const WEBHOOK: &str =
    r#"{"inputs":{"country":"France","correct_answer":"Paris"},"output":"Paris"}"#;
const AGENTEVALS: &str = r#"{"metric_name":"m","invocations":[{"final_response":"Paris"}]}"#;

/// A document of Agenta as it was captured, sent to another path.
fn captured(name: &str, path: &str) -> String {
    let file = format!("{}/../protocol/tests/data/agenta/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(file).unwrap();
    let rest = text.split_once(" HTTP/1.1").unwrap().1;
    format!("POST {path} HTTP/1.1{rest}")
}

/// A document as a host sends it, of those that the protocol's tests read.
fn sent(path: &str) -> String {
    fs::read_to_string(format!("{}/../protocol/tests/data/{path}", env!("CARGO_MANIFEST_DIR")))
        .unwrap()
}

#[test]
fn what_agentv_and_adk_send_is_answered_in_their_terms() {
    let folder = Folder::new();
    folder.script("same", SAME);
    let server = Serving::start(&folder, &["same"]);
    let answer = server.post("/evaluators/same", &sent("agentv/v4.42.4-stdin.json")).is(200).json();
    assert!(answer["score"].is_number() && answer["pass"].is_boolean(), "{answer}");
    let answer = server.post("/evaluators/same", &sent("adk/envelope_static.json")).is(200).json();
    assert_eq!(answer["per_invocation_results"].as_array().unwrap().len(), 2, "{answer}");
    assert!([1, 2, 4].contains(&answer["overall_eval_status"].as_i64().unwrap()), "{answer}");
}

#[test]
fn no_request_has_a_file_of_this_machine_judged() {
    let folder = Folder::new();
    folder.script("show", SHOW);
    let file = folder.file("secret.json", "\"a secret\"");
    let server = Serving::start(&folder, &["show"]);
    let file = json!(file.to_str().unwrap()).to_string();
    for (key, named) in [
        ("\"output_path\"", "output_path"),
        ("\"outputPath\"", "outputPath"),
        // However it is spelled, and however often.
        ("\"output\\u005fpath\"", "output_path"),
        ("\"output_path\": null, \"output_path\"", "output_path"),
    ] {
        let document = format!("{{\"criteria\": \"c\", \"output\": null, {key}: {file}}}");
        let refused = server.post("/evaluators/show", &document).is(422);
        let expected = format!("{named}: files are not read for requests");
        assert!(refused.body.contains(&expected), "{}", refused.body);
    }
    let document = r#"{"criteria": "c", "output": "a", "output_path": null}"#;
    server.post("/evaluators/show", document).is(200);
}

#[test]
fn what_agenta_sends_is_answered_in_its_terms() {
    let folder = Folder::new();
    folder.script("same", SAME);
    let server = Serving::start(&folder, &["same"]);
    for (name, path) in [
        ("webhook-request", "/evaluators/same?x=1"),
        ("webhook-request", "/"),
        ("remote-request", "/evaluators/same/invoke"),
        ("remote-request", "/invoke"),
    ] {
        let request = captured(name, path);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        // Head and body come one after the other, and may come byte by byte.
        let mut stream = server.connect();
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(body.as_bytes()).unwrap();
        let answer = response(&mut stream).is(200);
        assert_eq!(answer.body, r#"{"score":1.0,"success":true}"#);
        // The connection is still good.
        for byte in request.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(response(&mut stream).is(200).json(), json!({"score": 1.0, "success": true}));
    }
    let dict = captured("webhook-request.dict-output", "/evaluators/same");
    let mut stream = server.connect();
    stream.write_all(dict.as_bytes()).unwrap();
    assert_eq!(response(&mut stream).is(200).json(), json!({"score": 0.25, "success": false}));
}

#[test]
fn agenta_is_told_in_plain_text_what_is_no_answer() {
    let folder = Folder::new();
    folder.script("same", SAME);
    folder.script("crash", "cat >/dev/null; echo 'out of luck' >&2; exit 9");
    folder.script("json", r#"cat >/dev/null; echo '{"error": {"kind": "k", "message": "{}"}}'"#);
    folder.script("nonsense", "cat >/dev/null; echo 'score: 1'");
    folder.script("slow", "sleep 60");
    folder.file("c.yaml", "evaluators:\n  - {name: slow, type: code, path: slow, timeout: 1}\n");
    let server = Serving::start(&folder, &["same", "crash", "json", "nonsense", "-c", "c.yaml"]);
    for (name, status, text) in [
        ("crash", 500, "Custom evaluator 'crash' exited with code 9: out of luck"),
        ("json", 500, "Custom evaluator 'json' reported an error (k): {}"),
        ("nonsense", 500, "Custom evaluator 'nonsense' produced invalid JSON"),
        ("slow", 504, "Custom evaluator 'slow' timed out after 1s"),
        ("nobody", 404, "there is no evaluator `nobody` here; there are slow, same, crash, json"),
    ] {
        for path in [format!("/evaluators/{name}"), format!("/evaluators/{name}/invoke")] {
            let answer = server.post(&path, WEBHOOK).is(status);
            assert!(answer.text().starts_with(text), "{}", answer.body);
        }
        let answer = server.post(&format!("/evaluators/{name}"), AGENTEVALS).is(status);
        assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with(text));
    }
    // No word for it, and a score that nobody gave is none.
    let unjudged = r#"{"inputs":{"country":"France"},"output":"Paris"}"#;
    let answer = server.post("/evaluators/same", unjudged).is(422);
    assert_eq!(answer.text(), "not evaluated: nothing to compare with");
    // Nothing of the app is sent, so nobody is asked.
    let answer = server.post("/evaluators/crash", r#"{"inputs":{},"parameters":{}}"#).is(422);
    assert_eq!(answer.text(), "not evaluated: the document has no `outputs`");
    // Several are offered, and nobody is meant.
    server.post("/invoke", WEBHOOK).is(404).text();
    // What cannot be read at all is told so to whoever asks at `/invoke`.
    server.post("/evaluators/same/invoke", "nonsense").is(400).text();
}

#[test]
fn documents_of_agentevals_are_answered_with_everything_that_was_said() {
    let folder = Folder::new();
    folder.script("same", SAME);
    folder.script(
        "much",
        r#"cat >/dev/null; echo '{"score": "0.5", "status": "FAILED", "per_invocation_scores": [1, null], "details": {"big": 123456789012345678901234567890, "nan": NaN}}'"#,
    );
    let server = Serving::start(&folder, &["same", "much"]);
    let answer = server.post("/evaluators/much", AGENTEVALS).is(200);
    assert_eq!(
        answer.body,
        r#"{"score":0.5,"status":"FAILED","per_invocation_scores":[1.0,null],"details":{"big":123456789012345678901234567890,"nan":null}}"#
    );
    // It has a word for what was not judged.
    let unjudged = r#"{"metric_name":"m","invocations":[],"expected_invocations":null}"#;
    let answer = server.post("/evaluators/same", unjudged).is(200).json();
    assert_eq!(answer["status"], "NOT_EVALUATED");

    for (document, status, kind) in [
        ("", 400, "bad_document"),
        ("{", 400, "bad_document"),
        ("[1]", 422, "bad_document"),
        (r#"{"metric_name": 5}"#, 422, "bad_document"),
        (r#"{"something": "else"}"#, 422, "unknown_contract"),
        (
            r#"{"metric_name": "m", "inputs": {}, "outputs": "x", "invocations": []}"#,
            422,
            "unknown_contract",
        ),
    ] {
        let answer = server.request("POST", "/evaluators/same", &[], document).is(status);
        assert_eq!(answer.kind(), kind, "{document}");
    }
}

#[test]
fn an_entry_says_what_a_document_does_not() {
    let folder = Folder::new();
    folder.script("show", SHOW);
    folder.script("same", SAME);
    folder.file(
        "c.yaml",
        "evaluators:\n  \
         - {name: show, type: code, path: show, threshold: 0.75, config: {a: 1, b: 123456789012345678901234567890}}\n  \
         - {name: lenient, type: code, path: same, threshold: 0.2}\n  \
         - {name: zero, type: code, path: same, threshold: 0}\n  \
         - {name: capital, type: code, path: same, config: {correct_answer_key: capital}}\n  \
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    let server = Serving::start(&folder, &["-c", "c.yaml"]);
    server.says("tool_trajectory_avg_score is a built-in metric");
    let seen = |document: &str| {
        server.post("/evaluators/show", document).is(200).json()["details"]["document"].clone()
    };
    let document = seen(r#"{"metric_name": "m", "more": [1]}"#);
    assert_eq!(document["threshold"], 0.75);
    assert_eq!(document["more"], json!([1]));
    assert_eq!(document["config"]["a"], 1);
    assert!(
        server.post("/evaluators/show", AGENTEVALS).body.contains("123456789012345678901234567890")
    );
    let document = seen(r#"{"metric_name": "m", "threshold": 0.9, "config": {"a": 2}}"#);
    assert_eq!((document["threshold"].as_f64(), &document["config"]["a"]), (Some(0.9), &json!(2)));

    let success = |name: &str, document: &str| {
        server.post(&format!("/evaluators/{name}"), document).is(200).json()["success"].clone()
    };
    let wrong = WEBHOOK.replace(r#""output":"Paris""#, r#""output":"Rome""#);
    assert_eq!(success("lenient", &wrong), json!(true));
    assert_eq!(success("zero", &wrong), json!(true));
    let strict = wrong.replace(r#""output""#, r#""parameters":{"threshold":0.5},"outputs""#);
    assert_eq!(success("lenient", &strict), json!(false));
    // Where webhooks have the correct answer nobody else can say.
    let elsewhere = WEBHOOK.replace("correct_answer", "capital");
    assert_eq!(success("capital", &elsewhere), json!(true));
}

#[test]
fn what_is_offered_can_be_asked_for() {
    let folder = Folder::new();
    folder.script("same", SAME);
    folder.file("c.yaml", "evaluators:\n  - {name: a b, type: code, path: same, threshold: 0.7}\n");
    let server = Serving::start(&folder, &["same", "-c", "c.yaml"]);
    let offered = server.get("/evaluators").is(200).json();
    let about = |name: &str, path: &str, threshold: Value| {
        json!({
            "name": name, "description": "", "contract": "agentevals", "threshold": threshold,
            "config_schema": null, "path": path,
        })
    };
    let entry = about("a b", "/evaluators/a%20b", json!(0.7));
    let placed = about("same", "/evaluators/same", json!(null));
    assert_eq!(offered, json!({"evaluators": [entry, placed]}));
    assert_eq!(server.get("/evaluators/a%20b").is(200).json(), entry);
    assert_eq!(server.get("/evaluators/nobody").is(404).kind(), "unknown_evaluator");
    assert_eq!(server.post("/evaluators/a%20b", AGENTEVALS).is(200).json()["score"], 0.25);

    let openapi = server.get("/openapi.json").is(200).json();
    assert_eq!(openapi["openapi"], "3.1.0");
    for path in ["/evaluators/a%20b", "/evaluators/same", "/evaluators/same/invoke"] {
        assert!(openapi["paths"][path]["post"]["responses"]["429"].is_object(), "{path}");
    }
}

#[test]
fn a_token_is_asked_for_if_there_is_one() {
    let folder = Folder::new();
    folder.script("same", SAME);
    folder.file("token", "s3cret\n");
    let by_file = Serving::start(&folder, &["same", "--token-file", "token"]);
    let by_variable =
        Serving::start_with(&folder, &["same"], &[("EVALUATOR_SERVE_TOKEN", "s3cret")]);
    for server in [by_file, by_variable] {
        server.get("/healthz").is(200);
        let asked = |headers: &[&str]| server.request("POST", "/evaluators/same", headers, WEBHOOK);
        let refused = asked(&[]).is(401);
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
        assert!(refused.text().contains("a token is needed"), "{}", refused.body);
        assert_eq!(asked(&["Authorization: Bearer s3cre"]).is(401).text(), "the token is wrong");
        asked(&["Authorization: Basic s3cret"]).is(401);
        asked(&["Authorization: Bearer s3cret"]).is(200);
        for path in ["/evaluators", "/openapi.json", "/nowhere"] {
            assert_eq!(server.get(path).is(401).kind(), "unauthorized");
        }
        // Whoever bears it may be a web page.
        asked(&["Authorization: Bearer s3cret", "Origin: http://example.com"]).is(200);
        assert!(!server.said().contains("s3cret"), "{}", server.said());
    }
}

#[test]
fn without_a_token_only_this_machine_is_served() {
    let folder = Folder::new();
    folder.script("same", SAME);
    let serve = |args: &[&str], token: Option<&str>| {
        let mut command = folder.command(&[&["serve", "same"], args].concat());
        command.env_remove("EVALUATOR_SERVE_TOKEN");
        token.map(|token| command.env("EVALUATOR_SERVE_TOKEN", token));
        support::finish(command.spawn().unwrap())
    };
    serve(&["--addr", "0.0.0.0:0"], None).exits(2).says("can be reached from other machines");
    serve(&["--addr", "0.0.0.0:0"], Some(""))
        .exits(2)
        .says("EVALUATOR_SERVE_TOKEN: the token is empty");
    folder.file("empty", "\n");
    serve(&["--token-file", "empty"], Some("good")).exits(2).says("empty: the token is empty");
    serve(&["--addr", "nonsense"], None).exits(2);
    serve(&["--addr", "192.0.2.1:1"], Some("good")).exits(3).says("cannot listen on 192.0.2.1:1");

    // A page in a browser on this machine is not this machine's user.
    let server = Serving::start(&folder, &["same"]);
    let page = ["Origin: http://example.com", "Content-Type: text/plain"];
    assert_eq!(
        server.request("POST", "/evaluators/same", &page, AGENTEVALS).is(403).kind(),
        "web_page"
    );
}

#[test]
fn what_cannot_be_made_ready_is_not_served() {
    let folder = Folder::new();
    folder.script("same", SAME);
    folder.file("unknown.xyz", "");
    folder.file("broken.yaml", "evaluators:\n  - {name: a, type: code, path: gone}\n");
    folder
        .file("metric.yaml", "evaluators:\n  - {name: tool_trajectory_avg_score, type: builtin}\n");
    folder.file("typo.yaml", "evaluators:\n  - {name: a, type: code, path: same, treshold: 1}\n");
    for (args, text) in [
        (&["same", "unknown.xyz"][..], "unknown: "),
        (&["-c", "broken.yaml", "same"], "gone"),
        (&["-c", "metric.yaml"], "there is no evaluator to offer"),
        (&["-c", "typo.yaml"], "treshold"),
        (&["same", "same"], "two evaluators are called so"),
        (&["gone"], "no such file"),
        (&[], "required"),
    ] {
        let mut all = vec!["serve", "--addr", "127.0.0.1:0"];
        all.extend(args);
        let ran = folder.evaluator(&all).exits(2).reports_nothing();
        assert!(ran.stderr.contains(text), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("listening"), "{}", ran.stderr);
    }
}

#[test]
fn bodies_are_bounded_in_size_and_time() {
    let folder = Folder::new();
    folder.script("same", SAME);
    let server = Serving::start(&folder, &["same", "--max-body", "1", "--read-timeout", "1"]);
    let fits = format!(r#"{{"metric_name":"m","x":"{}"}}"#, "x".repeat((1 << 20) - 30));
    server.post("/evaluators/same", &fits).is(200);
    let large = format!(r#"{{"metric_name":"m","x":"{}"}}"#, "x".repeat(3 << 20));
    assert_eq!(server.post("/evaluators/same", &large).is(413).kind(), "too_large");
    let large = format!(r#"{{"inputs":{{"x":"{}"}},"output":""}}"#, "x".repeat(3 << 20));
    assert!(server.post("/evaluators/same", &large).is(413).text().contains("1048576 bytes"));
    // Nobody said how long it would be.
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for _ in 0..3 {
        stream.write_all(format!("80000\r\n{}\r\n", "x".repeat(0x80000)).as_bytes()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    response(&mut stream).is(413);
    let packed = server.request("POST", "/", &["Content-Encoding: gzip"], "x").is(415);
    assert_eq!(packed.kind(), "compressed");
    // A body that does not come, and a head that does not.
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{").unwrap();
    assert_eq!(response(&mut stream).is(408).kind(), "too_slow");
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHo").unwrap();
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut rest).unwrap();
    // And nobody has suffered from it.
    server.post("/", AGENTEVALS).is(200);
}

#[test]
fn nobody_has_to_wait_for_one_that_does_not_read() {
    let folder = Folder::new();
    folder.script("show", SHOW);
    let args = ["show", "--max-body", "64", "--read-timeout", "2", "--grace", "3600"];
    let mut server = Serving::start(&folder, &args);
    let mut stream = server.connect();
    // More than the buffers of both ends have room for.
    let large = format!(r#"{{"metric_name":"m","x":"{}"}}"#, "x".repeat(32 << 20));
    stream.write_all(request("POST", "/", &[], &large).as_bytes()).unwrap();
    server.says("POST / 200");
    assert!(signal("TERM", &server.pid()));
    assert_eq!(server.ended(), Some(0));
    drop(stream);
}

#[test]
fn other_methods_and_paths_are_refused() {
    let folder = Folder::new();
    folder.script("same", SAME);
    let server = Serving::start(&folder, &["same"]);
    for (method, path, allowed) in [
        ("PUT", "/evaluators/same", "get, head, post"),
        ("GET", "/evaluators/same/invoke", "post"),
        ("POST", "/evaluators", "get, head"),
        ("DELETE", "/healthz", "get, head"),
        ("GET", "/", "post"),
    ] {
        let answer = server.request(method, path, &[], "").is(405);
        assert!(answer.head.contains(&format!("allow: {allowed}\r\n")), "{}", answer.head);
        assert_eq!(answer.kind(), "method_not_allowed");
    }
    assert_eq!(server.get("/nowhere").is(404).kind(), "not_found");
    assert_eq!(server.post("/evaluators/sa%6De", AGENTEVALS).is(200).json()["score"], 0.25);
}

/// Waits for a file.
const WAIT: &str = r#"cat >/dev/null; echo $$ >> began
until [ -e go ]; do sleep 0.02; done
echo '{"score": 1}'"#;

#[test]
fn nobody_waits_without_end() {
    let folder = Folder::new();
    folder.script("wait", WAIT);
    let server = Serving::start(&folder, &["wait", "-j", "1", "--queue", "2"]);
    let text = request("POST", "/evaluators/wait", &[], AGENTEVALS);
    let mut waiting: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    wait_for(&folder.path().join("began"));
    // All places are taken as soon as the third has been read.
    let busy = (0..1000)
        .find_map(|_| {
            let answer = server.post("/evaluators/nobody", "{}").is(404);
            assert_eq!(answer.kind(), "unknown_evaluator");
            let mut stream = server.connect();
            stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            let mut first = [0; 1];
            let came = std::io::Read::read(&mut stream, &mut first).is_ok();
            came.then(|| server.post("/evaluators/wait", AGENTEVALS))
        })
        .unwrap()
        .is(429);
    assert!(busy.head.contains("retry-after: 1\r\n"), "{}", busy.head);
    assert_eq!(busy.kind(), "busy");
    assert!(server.post("/evaluators/wait", WEBHOOK).is(429).text().contains("3 documents"));
    server.get("/healthz").is(200);
    folder.file("go", "");
    for stream in &mut waiting {
        response(stream).is(200);
    }
    server.post("/evaluators/wait", AGENTEVALS).is(200);
}

#[test]
fn what_nobody_waits_for_any_more_is_ended() {
    let folder = Folder::new();
    folder.script("wait", WAIT);
    let server = Serving::start(&folder, &["wait", "-j", "1"]);
    let mut stream = server.connect();
    stream.write_all(request("POST", "/", &[], AGENTEVALS).as_bytes()).unwrap();
    let pid = wait_for(&folder.path().join("began"));
    drop(stream);
    assert_gone(&pid);
    server.says("whoever asked went away");
    folder.file("go", "");
    server.post("/", AGENTEVALS).is(200);
}

#[test]
fn what_was_begun_is_finished() {
    let folder = Folder::new();
    folder.script("wait", WAIT);
    let mut server = Serving::start(&folder, &["wait"]);
    let mut idle = server.connect();
    let mut stream = server.connect();
    stream.write_all(request("POST", "/", &[], AGENTEVALS).as_bytes()).unwrap();
    wait_for(&folder.path().join("began"));
    assert!(signal("TERM", &server.pid()));
    server.says("what was begun is finished first");
    // Nothing new begins.
    let refused = (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        std::net::TcpStream::connect(server.address).is_err()
    });
    assert!(refused, "it still accepts connections");
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut idle, &mut rest);
    assert_eq!(rest, b"");
    folder.file("go", "");
    assert_eq!(response(&mut stream).is(200).json()["score"], 1.0);
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn what_does_not_end_in_time_is_ended_and_told_so() {
    let folder = Folder::new();
    folder.script("wait", WAIT);
    let mut server = Serving::start(&folder, &["wait", "--grace", "0"]);
    let mut stream = server.connect();
    stream.write_all(request("POST", "/invoke", &[], WEBHOOK).as_bytes()).unwrap();
    let pid = wait_for(&folder.path().join("began"));
    assert!(signal("INT", &server.pid()));
    let answer = response(&mut stream).is(503);
    assert!(answer.text().contains("going down"), "{}", answer.body);
    assert_eq!(server.ended(), Some(3));
    assert_gone(&pid);
    assert!(server.said().contains("some documents were not answered"), "{}", server.said());
}

#[test]
fn many_ask_at_the_same_time() {
    let folder = Folder::new();
    folder.script("show", SHOW);
    folder.script("same", SAME);
    let server = Serving::start(&folder, &["show", "same", "--queue", "1000"]);
    thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut stream = server.connect();
                for number in 0..10 {
                    let document =
                        json!({"metric_name": "m", "mine": [client, number]}).to_string();
                    stream
                        .write_all(request("POST", "/evaluators/show", &[], &document).as_bytes())
                        .unwrap();
                    let answer = response(&mut stream).is(200).json();
                    assert_eq!(answer["details"]["document"]["mine"], json!([client, number]));
                    let answer = server.post("/evaluators/same", AGENTEVALS).is(200).json();
                    assert_eq!(answer["score"], 0.25);
                }
            });
        }
    });
}

#[test]
fn python_is_forked_and_sees_no_secrets() {
    if !support::has("python3") {
        return;
    }
    let folder = Folder::new();
    folder.file(
        "spy.py",
        "import json, os, sys\nturns = json.load(sys.stdin)['invocations']\n\
         seen = [name for name in ('EVALUATOR_SERVE_TOKEN', 'MY_API_KEY', 'HARMLESS') if name in os.environ]\n\
         print(json.dumps({'score': 1.0, 'details': {'seen': seen, 'turns': len(turns)}}))\n",
    );
    let variables = [("EVALUATOR_SERVE_TOKEN", "t"), ("MY_API_KEY", "k"), ("HARMLESS", "x")];
    let server = Serving::start_with(&folder, &["spy.py"], &variables);
    for _ in 0..3 {
        let bearer = ["Authorization: Bearer t"];
        let answer = server.request("POST", "/", &bearer, AGENTEVALS).is(200).json();
        assert_eq!(answer["details"], json!({"seen": ["HARMLESS"], "turns": 1}));
    }
}
