//! Evals are deleted however a grading ends.

use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

use evaluator_graders::hosted::{EvalsClient, EvalsError, open_evals};
use evaluator_models::{Cancel, Clock, VirtualClock};
use evaluator_test_support::server::{Request, Server, response};
use serde_json::{Value, json};

use crate::{client_of, grade, is, job, listing};

/// A server whose answers `answer` decides, with a status and a body; `None` is the usual answer.
fn server(
    answer: impl Fn(&Request, &[Request]) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> Server {
    let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
    Server::start(move |request, stream| {
        let before = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.clone()
        };
        let usual = || {
            let path = &*request.path;
            let body = match (&*request.method, path) {
                ("POST", "/v1/evals") => json!({"id": "eval_1"}),
                ("POST", path) if path.ends_with("/runs") => json!({"id": "run_1"}),
                ("GET", "/v1/evals/eval_1/runs/run_1") => json!({
                    "id": "run_1", "status": "completed",
                    "result_counts": {"passed": 1, "failed": 0, "errored": 0, "total": 1},
                }),
                ("GET", path) if path.ends_with("/output_items") => json!({
                    "data": [{"datasource_item_id": 0, "status": "pass", "results": [{"score": 1.0}]}],
                    "has_more": false,
                }),
                _ => json!({}),
            };
            (200, body)
        };
        let (status, body) = answer(request, &before).unwrap_or_else(usual);
        if status == 0 {
            return Ok(());
        }
        stream.write_all(&response(&format!("{status} X"), &[], body.to_string()))
    })
}

fn count(server: &Server, is_it: impl Fn(&Request) -> bool) -> usize {
    server.requests().iter().filter(|request| is_it(request)).count()
}

#[test]
fn a_run_in_progress_is_cancelled_before_its_eval_is_deleted() {
    for (status_of_new_path, old_path) in [(200, 0), (404, 1), (405, 1)] {
        let server = server(move |request, _| match (&*request.method, &*request.path) {
            ("GET", path) if path.ends_with("run_1") => Some((200, json!({"status": "queued"}))),
            ("POST", path) if path.ends_with("/cancel") => Some((status_of_new_path, json!({}))),
            _ => None,
        });
        let (error, warnings) =
            grade(&server, &job(&["a"], 3), &VirtualClock::default()).unwrap_err();
        assert_eq!(error, EvalsError::TimedOut(Duration::from_secs(3)));
        assert_eq!(warnings, Vec::<String>::new());
        let run = "/v1/evals/eval_1/runs/run_1";
        assert_eq!(count(&server, is("POST", &format!("{run}/cancel"))), 1);
        assert_eq!(count(&server, is("POST", run)), old_path);
        assert_eq!(count(&server, is("DELETE", "/v1/evals/eval_1")), 1);
        assert_eq!(server.requests().last().unwrap().method, "DELETE");
    }
}

/// A clock that cancels the run at its first wait.
#[derive(Debug, Default)]
struct Interrupting {
    clock: VirtualClock,
    cancel: Cancel,
    panics: bool,
}

impl Clock for Interrupting {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wait(&self, duration: Duration, cancel: &Cancel) {
        self.clock.wait(duration, cancel);
        assert!(!self.panics, "a panic while the run is polled");
        self.cancel.cancel();
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

#[test]
fn cancellation_and_panics_delete_the_eval() {
    for panics in [false, true] {
        let server = server(|request, _| {
            let polls = request.method == "GET" && request.path.ends_with("run_1");
            polls.then(|| (200, json!({"status": "in_progress"})))
        });
        let clock = Interrupting { panics, ..Interrupting::default() };
        let client = client_of(&server);
        let graded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            EvalsClient::new(&client, &clock, &clock.cancel).grade(&job(&["a"], 60))
        }));
        match graded {
            Ok(result) => assert_eq!(result.unwrap_err().0, EvalsError::Cancelled),
            Err(_) => assert!(panics),
        }
        assert_eq!(count(&server, |it| it.path.ends_with("/cancel")), 1);
        assert_eq!(count(&server, is("DELETE", "/v1/evals/eval_1")), 1);
        assert!(!open_evals().contains(&"eval_1".to_owned()) || panics);
    }
}

#[test]
fn an_eval_that_cannot_be_deleted_is_named() {
    let server = server(|request, _| (request.method == "DELETE").then(|| (500, json!({}))));
    let graded = grade(&server, &job(&["a"], 60), &VirtualClock::default()).unwrap();
    let warnings = graded.warnings.join("\n");
    assert!(warnings.contains("the eval eval_1 could not be deleted"), "{warnings}");
    assert_eq!(count(&server, |it| it.method == "DELETE"), 3);
}

#[test]
fn evals_of_requests_that_failed_are_found_by_their_mark() {
    for succeeds in [true, false] {
        let server = server(move |request, before| {
            let mark = |request: &Request| {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                body["metadata"]["evaluator_run"].as_str().unwrap().to_owned()
            };
            let creates = is("POST", "/v1/evals");
            if creates(request) {
                let attempt = before.iter().filter(|it| creates(it)).count();
                // The mark is that of the grading, not of the request.
                assert_eq!(mark(request), mark(&before[0]));
                return if attempt == 2 && succeeds { None } else { Some((502, json!({}))) };
            }
            listing(request).then(|| {
                let eval = |id: &str, mark: &str| json!({"id": id, "metadata": {"evaluator_run": mark}});
                let mark = mark(&before[0]);
                (200, json!({"data": [eval("eval_0", &mark), eval("eval_1", &mark), eval("eval_2", "x"), {"id": "eval_3"}]}))
            })
        });
        let result = grade(&server, &job(&["a"], 60), &VirtualClock::default());
        assert_eq!(result.is_ok(), succeeds);
        let deleted: Vec<String> = server
            .requests()
            .iter()
            .filter(|it| it.method == "DELETE")
            .map(|it| it.path.clone())
            .collect();
        assert_eq!(deleted, ["/v1/evals/eval_0", "/v1/evals/eval_1"]);
    }
}

#[test]
fn waits_are_those_of_the_server_or_double() {
    let rejected = |status: u16| {
        server(move |request, _| is("POST", "/v1/evals")(request).then(|| (status, json!({}))))
    };
    for (status, requests, waits) in [
        (503, 3, vec![375, 750]),
        (429, 3, vec![375, 750]),
        (400, 1, vec![]),
        (409, 3, vec![375, 750]),
    ] {
        let (server, clock) = (rejected(status), VirtualClock::default());
        grade(&server, &job(&["a"], 60), &clock).unwrap_err();
        assert_eq!(count(&server, is("POST", "/v1/evals")), requests, "{status}");
        // The virtual clock has the greatest jitter, which shortens waits by a quarter.
        let waited: Vec<u128> = clock.waits().iter().map(Duration::as_millis).collect();
        assert_eq!(waited, waits, "{status}");
    }
    let (server, clock) = (rejected(503), VirtualClock::default());
    let (error, _) = grade(&server, &job(&["a"], 1), &clock).unwrap_err();
    assert!(error.to_string().contains("503"), "{error}");
    assert_eq!(count(&server, is("POST", "/v1/evals")), 2, "the third would be after the deadline");
}

#[test]
fn results_that_are_incomplete_or_contradictory_are_errors() {
    let item = |id: Value, status: &str, score: Value| json!({"datasource_item_id": id, "status": status, "results": [{"score": score}]});
    let good = |id: u64| item(json!(id), "pass", json!(0.5));
    let counts = json!({"passed": 2, "failed": 0, "errored": 0, "total": 2});
    for (data, counts, part) in [
        (json!([]), &counts, "2 items were sent, 0 were returned"),
        (json!([good(0)]), &counts, "2 items were sent, 1 were returned"),
        (json!([good(0), good(0)]), &counts, "two output items have the number 0"),
        (json!([good(0), good(2)]), &counts, "has the number 2, and 2 items"),
        (json!([good(0), item(json!(null), "pass", json!(1))]), &counts, "has the number null"),
        (
            json!([good(0), item(json!(1), "error", json!(0))]),
            &counts,
            "item 2: its status is \"error\"; other scores: 0.500",
        ),
        (
            json!([good(0), item(json!(1), "pass", json!(null))]),
            &counts,
            "none of its results has a score",
        ),
        (
            json!([good(0), good(1)]),
            &json!({"passed": 2, "failed": 0, "errored": 1, "total": 3}),
            "1 of 3 items as errored",
        ),
        (json!([good(0), good(1)]), &json!({"passed": 1, "failed": 1, "total": 2}), "contradict"),
        (json!([good(0), good(1)]), &json!({"passed": 2}), "no count `failed`"),
        (json!(null), &counts, "no list `data`"),
    ] {
        let counts = counts.clone();
        let server = server(move |request, _| match &*request.path {
            path if path.ends_with("/output_items") => Some((200, json!({"data": data}))),
            path if request.method == "GET" && path.ends_with("run_1") => {
                Some((200, json!({"status": "completed", "result_counts": counts})))
            }
            _ => None,
        });
        let (error, _) =
            grade(&server, &job(&["a", "b"], 60), &VirtualClock::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert_eq!(count(&server, |it| it.method == "DELETE"), 1, "{part}");
        assert_eq!(count(&server, |it| it.path.ends_with("/cancel")), 0, "{part}");
    }
    // In another order.
    let server = server(move |request, _| match &*request.path {
        path if path.ends_with("/output_items") => {
            let item = |id: u64, status: &str| {
                item(json!(id), status, json!(if id == 0 { 0.25 } else { 1.0 }))
            };
            Some((200, json!({"data": [item(1, "pass"), item(0, "fail")]})))
        }
        path if request.method == "GET" && path.ends_with("run_1") => Some((
            200,
            json!({"status": "completed", "result_counts": {"passed": 1, "failed": 1, "errored": 0, "total": 2}}),
        )),
        _ => None,
    });
    let graded = grade(&server, &job(&["a", "b"], 60), &VirtualClock::default()).unwrap();
    let grades: Vec<(f64, bool)> = graded.grades.iter().map(|it| (it.score, it.passed)).collect();
    assert_eq!(grades, [(0.25, false), (1.0, true)]);
}
