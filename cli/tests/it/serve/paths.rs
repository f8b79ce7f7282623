//! What is offered, and where.

use serde_json::{Value, json};

use super::{AGENTEVALS, SAME};
use crate::support::{Directory, serving::Serving};

#[test]
fn what_is_offered_can_be_asked_for() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory
        .file("c.yaml", "evaluators:\n  - {name: a b, type: code, path: same, threshold: 0.7}\n");
    let server = Serving::start(&directory, &["same", "-c", "c.yaml"]);
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
    assert_eq!(server.get("/evaluators/missing").is(404).kind(), "unknown_evaluator");
    assert_eq!(server.post("/evaluators/a%20b", AGENTEVALS).is(200).json()["score"], 0.25);
}

/// The document has every path and method, and no response that the server never sends.
#[test]
fn the_openapi_document_is_true() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.script("other", SAME);
    let token = "Authorization: Bearer t";
    for (args, token, refusal) in [
        (&["same"][..], None, "403"),
        (&["same", "other"], None, "403"),
        (&["same"], Some(token), "401"),
    ] {
        let variables: &[(&str, &str)] =
            if token.is_some() { &[("EVALUATOR_SERVE_TOKEN", "t")] } else { &[] };
        let server = Serving::start_with(&directory, args, variables);
        let headers: Vec<&str> = token.into_iter().collect();
        let openapi = server.request("GET", "/openapi.json", &headers, "").is(200).json();
        assert_eq!(openapi["openapi"], "3.1.0");
        assert_eq!(openapi["paths"]["/"].is_object(), args.len() == 1);
        assert_eq!(openapi["security"].is_array(), token.is_some());
        for (path, operations) in openapi["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let answer = server.request(&method.to_uppercase(), path, &headers, AGENTEVALS);
                answer.is(200);
                let responses = operation["responses"].as_object().unwrap();
                let refusals: Vec<&str> = ["401", "403", "404", "405"]
                    .into_iter()
                    .filter(|status| responses.contains_key(*status))
                    .collect();
                let is_open = ["/healthz", "/readyz"].contains(&path.as_str());
                let expected = if is_open { vec![] } else { vec![refusal] };
                assert_eq!(refusals, expected, "{method} {path}");
                for response in responses.values() {
                    let Some(reference) = response["$ref"].as_str() else { continue };
                    assert!(openapi.pointer(&reference[1..]).is_some(), "{reference}");
                }
            }
        }
    }
}

#[test]
fn other_methods_and_paths_are_refused() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same"]);
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
    assert_eq!(server.get("/evaluators/%ff").is(404).kind(), "unknown_evaluator");
    assert_eq!(server.post("/evaluators/sa%6De", AGENTEVALS).is(200).json()["score"], 0.25);
}
