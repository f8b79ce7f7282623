//! What operators need: probes, metrics, a base path, and signals.

use std::fs;

use serde_json::Value;

use super::{AGENTEVALS, SAME};
use crate::support::{Directory, processes::signal, serving::Serving};

#[test]
fn probes_need_no_token() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start_with(&directory, &["same"], &[("EVALUATOR_SERVE_TOKEN", "t")]);
    assert_eq!(server.get("/healthz").is(200).json()["status"], "ok");
    assert_eq!(server.get("/readyz").is(200).json()["status"], "ready");
    server.get("/metrics").is(401);
    server.request("GET", "/metrics", &["Authorization: Bearer t"], "").is(200);
    server.post("/readyz", "").is(405);
}

#[test]
fn documents_are_counted() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same", "--queue", "7", "--jobs", "1"]);
    for _ in 0..3 {
        server.post("/evaluators/same", AGENTEVALS).is(200);
    }
    server.post("/evaluators/same", "{").is(400);
    server.post("/evaluators/missing", AGENTEVALS).is(404);
    let metrics = server.get("/metrics").is(200);
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{}", metrics.head);
    for line in [
        r#"evaluator_documents_total{evaluator="same",contract="agentevals",status="200"} 3"#,
        r#"evaluator_http_requests_total{status="200"} 3"#,
        r#"evaluator_http_requests_total{status="404"} 1"#,
        r#"evaluator_document_duration_seconds_count{evaluator="same"} 4"#,
        "evaluator_documents_in_progress 0",
        "evaluator_documents_limit 8",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}: {}", metrics.body);
    }
    assert!(!metrics.body.contains("missing"), "{}", metrics.body);
}

#[test]
fn everything_is_served_below_a_base_path_as_well() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same", "--base-path", "/tools/api/"]);
    for base in ["", "/tools/api"] {
        server.get(&format!("{base}/healthz")).is(200);
        server.get(&format!("{base}/evaluators")).is(200);
        server.post(&format!("{base}/evaluators/same"), AGENTEVALS).is(200);
        server.get(&format!("{base}/nothing")).is(404);
        server.get(&format!("{base}/evaluators/same/invoke")).is(405);
    }
    for root in ["/", "/tools/api", "/tools/api/"] {
        server.post(root, AGENTEVALS).is(200);
        server.get(root).is(405);
    }
    server.post("/tools/evaluators/same", AGENTEVALS).is(404);
    let document = server.get("/tools/api/openapi.json").is(200).json();
    assert_eq!(document["servers"][0]["url"], "/tools/api");
    server.says("/tools/api/evaluators/same");
    for path in ["api", "/", "/a b", "/a//b", "/../x", ""] {
        let args = ["serve", "same", "--addr", "127.0.0.1:0", "--base-path", path];
        directory.evaluator(&args).exits(2).says("write a path like /api");
    }
    for path in ["/metrics", "/evaluators/", "/healthz/x"] {
        let args = ["serve", "same", "--addr", "127.0.0.1:0", "--base-path", path];
        directory.evaluator(&args).exits(2).says("the server has its own paths at ");
    }
    let server = Serving::start_with(
        &directory,
        &["same", "--base-path", "/api"],
        &[("EVALUATOR_SERVE_TOKEN", "t")],
    );
    server.get("/api/healthz").is(200);
    server.get("/api/evaluators").is(401);
}

#[test]
fn a_hangup_stops_nothing() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let mut server = Serving::start(&directory, &["same"]);
    signal("HUP", &server.pid());
    server.says("HUP is ignored; restart the server to load changed evaluators");
    server.post("/", AGENTEVALS).is(200);
    signal("TERM", &server.pid());
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn a_server_whose_evaluators_have_changed_is_not_ready() {
    let directory = Directory::new();
    for name in ["edited", "deleted", "same"] {
        directory.script(name, SAME);
    }
    let server = Serving::start(&directory, &["edited", "deleted", "same"]);
    server.get("/readyz").is(200);
    directory.script("edited", "cat >/dev/null; echo '{\"score\": 1}'");
    let answer = server.get("/readyz").is(503);
    assert_eq!(answer.kind(), "outdated");
    assert!(!answer.head.contains("retry-after"), "{}", answer.head);
    let reason = "edited of edited changed after the start of the server; restart the server";
    assert!(answer.body.contains(reason), "{}", answer.body);
    fs::remove_file(directory.path().join("deleted")).unwrap();
    let answer = server.get("/readyz").is(503);
    assert!(answer.body.contains("deleted of deleted was deleted"), "{}", answer.body);
    for name in ["edited", "deleted"] {
        let answer = server.post(&format!("/evaluators/{name}"), AGENTEVALS).is(503);
        assert_eq!(answer.kind(), "outdated");
    }
    server.post("/evaluators/same", AGENTEVALS).is(200);
    server.get("/healthz").is(200);
}

#[test]
fn the_log_names_the_cause_of_an_error() {
    let directory = Directory::new();
    directory.script(
        "broken",
        "cat >/dev/null; printf 'Traceback (most recent call last):\\n  File \"a.py\"\\nKeyError: 7\\n' >&2; exit 1",
    );
    let server = Serving::start(&directory, &["broken"]);
    server.post("/", AGENTEVALS).is(500);
    server.says("ms agentevals: exited with code 1: KeyError: 7\n");
}

#[test]
fn requests_may_be_logged_as_json() {
    let directory = Directory::new();
    directory.script("broken", "cat >/dev/null; echo out of luck >&2; exit 1");
    let server = Serving::start(&directory, &["broken", "--log-format", "json"]);
    server.get("/healthz").is(200);
    server.post("/evaluators/broken", AGENTEVALS).is(500);
    server.says("out of luck");
    let said = server.said();
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let request = |path: &str| lines.iter().find(|line| line["path"] == path).unwrap();
    let healthy = request("/healthz");
    assert_eq!((&healthy["level"], &healthy["method"]), (&"info".into(), &"GET".into()));
    assert!(healthy["duration_ms"].is_number() && healthy["time"].is_string(), "{healthy}");
    assert_eq!(healthy.get("error"), None);
    let broken = request("/evaluators/broken");
    for (key, value) in [
        ("level", "error"),
        ("method", "POST"),
        ("evaluator", "broken"),
        ("contract", "agentevals"),
        ("error", "exited with code 1: out of luck"),
    ] {
        assert_eq!(broken[key], value, "{broken}");
    }
    assert_eq!(broken["status"], 500);
}
