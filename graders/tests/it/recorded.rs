//! Exchanges that were recorded with agentevals and the clients of OpenAI.

use std::time::Duration;

use evaluator_graders::hosted::Job;
use evaluator_models::VirtualClock;
use evaluator_test_support::exchanges::{assert_sent, cases, exchanges, play};
use serde_json::Value;

use crate::{DECOY, grade, listing, text};

/// Cases in which agentevals does not read all results, or does not cancel a run that may be in progress.
const OTHER_REQUESTS: [&str; 3] = ["timed-out", "twenty-five-items", "unknown-status"];

/// Returns the job whose requests were recorded.
fn job(case: &Value) -> Job<'_> {
    let exchanges = case["exchanges"].as_array().unwrap();
    let body = |path: &str| {
        let is_it = |it: &&Value| text(&it["request"]["path"]).ends_with(path);
        exchanges.iter().find(is_it).map_or(Value::Null, |it| it["request"]["body"].clone())
    };
    let (eval, run) = (body("/evals"), body("/runs"));
    let content = run["data_source"]["source"]["content"].as_array().cloned().unwrap_or_default();
    Job {
        name: text(&case["evaluator"]["name"]),
        item_schema: eval["data_source_config"]["item_schema"].clone(),
        criterion: eval["testing_criteria"][0].clone(),
        items: content.into_iter().map(|it| it["item"].clone()).collect(),
        timeout: Duration::from_secs(case["evaluator"]["timeout"].as_u64().unwrap_or(120)),
    }
}

#[test]
fn vectors_exchanges_are_reproduced() {
    let mut seen = 0;
    for (name, case) in cases("openai") {
        // The host does not send the items of the second one.
        if case["evaluator"].is_null() || name == "missing-answer-and-short-golden-set" {
            continue;
        }
        seen += 1;
        let exchanges = exchanges(&name, &case);
        let (server, clock) = (play(&exchanges), VirtualClock::default());
        let result = grade(&server, &job(&case), &clock);
        let requests = server.requests();
        for request in &requests {
            let key = request.headers.get("authorization").map(String::as_str);
            assert_eq!(key, Some(&*format!("Bearer {DECOY}")), "{name}");
        }
        if !OTHER_REQUESTS.contains(&&*name) {
            assert_sent(&requests, &exchanges, listing);
        }
        let created = exchanges.iter().any(|it| it["response"]["status"] == 201);
        assert_eq!(
            requests.iter().filter(|it| it.method == "DELETE").count(),
            usize::from(created)
        );
        match (result, text(&case["ours"]["status"])) {
            (Err((error, warnings)), "error") => {
                let all = format!("{error} {warnings:?}");
                assert!(!all.contains("<html") && !all.contains("sk-inval"), "{name}: {all}");
            }
            (Ok(graded), _) => {
                let scores: Vec<f64> = graded.grades.iter().map(|grade| grade.score).collect();
                let mean = scores.iter().sum::<f64>() / scores.len() as f64;
                let expected = case["ours"]["score"].as_f64().unwrap();
                assert!((mean - expected).abs() < 1e-9, "{name}: {mean}");
                // The server of this test has no list of evals, so nothing can be known after a failure.
                let is_expected = match &*name {
                    "first-request-429-then-ok" | "poll-500-then-ok" => graded.warnings.len() == 1,
                    "first-request-500-then-ok" => graded.warnings.len() == 2,
                    _ => graded.warnings.is_empty(),
                };
                assert!(is_expected, "{name}: {:?}", graded.warnings);
            }
            (result, expected) => panic!("{name}: {expected}: {result:?}"),
        }
    }
    assert!(seen >= 24, "{seen}");
}

#[test]
fn vectors_errors_say_what_happened() {
    for (name, parts) in [
        ("connection-closed", &["could not be created", "no answer from http://127.0.0.1"][..]),
        ("create-answers-html-200", &["not JSON", "base URL"]),
        ("key-rejected-401", &["check OPENAI_API_KEY"]),
        ("retired-404", &["shut its own down on 2026-11-30", "`execution: local` grades here"]),
        ("shut-down-410", &["shut its own down on 2026-11-30"]),
        ("scope-missing-403", &["api.evals.write", "read-only"]),
        ("quota-429", &["quota"]),
        ("rate-limited-429", &["Rate limit reached"]),
        ("server-error-500", &["the server answered 500"]),
        ("no-result-counts", &["no `result_counts`"]),
        ("output-items-500", &["the results could not be read"]),
        ("run-canceled", &["the run was canceled"]),
        ("run-failed", &["the run failed: internal_error: "]),
        ("run-completed-with-an-errored-item", &["have no score", "other scores: "]),
        ("timed-out", &["did not end within 5 s"]),
        ("unknown-status", &["unknown status \"expired\""]),
    ] {
        let (_, case) = cases("openai").into_iter().find(|(it, _)| it == name).unwrap();
        let server = play(case["exchanges"].as_array().unwrap());
        let (error, _) = grade(&server, &job(&case), &VirtualClock::default()).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "{name}: {error}");
        }
    }
}
