//! What operators need: probes, metrics, a base path, and signals.

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
