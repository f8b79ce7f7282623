//! Sizes, times and queues are bounded.

use std::{io::Write, thread, time::Duration};

use serde_json::json;

use super::{AGENTEVALS, SAME, SHOW, WAIT, WEBHOOK};
use crate::support::{
    Directory,
    processes::{signal, wait_for_line},
    serving::{Serving, request, response},
};

#[test]
fn bodies_are_bounded_in_size_and_time() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same", "--max-body", "1", "--read-timeout", "1"]);
    let fits = format!(r#"{{"metric_name":"m","x":"{}"}}"#, "x".repeat((1 << 20) - 30));
    server.post("/evaluators/same", &fits).is(200);
    let large = format!(r#"{{"metric_name":"m","x":"{}"}}"#, "x".repeat(3 << 20));
    assert_eq!(server.post("/evaluators/same", &large).is(413).kind(), "too_large");
    let large = format!(r#"{{"inputs":{{"x":"{}"}},"output":""}}"#, "x".repeat(3 << 20));
    assert!(server.post("/evaluators/same", &large).is(413).text().contains("1048576 bytes"));
    // The request does not state its length.
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for _ in 0..3 {
        stream.write_all(format!("80000\r\n{}\r\n", "x".repeat(0x80000)).as_bytes()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    response(&mut stream).is(413);
    let packed = server.request("POST", "/", &["Content-Encoding: gzip"], "x").is(415);
    assert_eq!(packed.kind(), "compressed");
    // A body that does not arrive, and a head that does not.
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{").unwrap();
    assert_eq!(response(&mut stream).is(408).kind(), "too_slow");
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHo").unwrap();
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut rest).unwrap();
    // Other clients are not affected.
    server.post("/", AGENTEVALS).is(200);
}

#[test]
fn a_client_that_does_not_read_delays_no_other() {
    let directory = Directory::new();
    directory.script("show", SHOW);
    let args = ["show", "--max-body", "64", "--read-timeout", "2", "--grace", "3600"];
    let mut server = Serving::start(&directory, &args);
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
fn waiting_is_bounded() {
    let directory = Directory::new();
    directory.script("wait", WAIT);
    let server = Serving::start(&directory, &["wait", "--jobs", "1", "--queue", "2"]);
    let text = request("POST", "/evaluators/wait", &[], AGENTEVALS);
    let mut waiting: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    wait_for_line(&directory.path().join("began"));
    // All places are taken as soon as the third has been read.
    let busy = (0..1000)
        .find_map(|_| {
            let answer = server.post("/evaluators/missing", "{}").is(404);
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
    directory.file("go", "");
    for stream in &mut waiting {
        response(stream).is(200);
    }
    server.post("/evaluators/wait", AGENTEVALS).is(200);
}

#[test]
fn requests_may_follow_each_other_unasked() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["same"]);
    let mut stream = server.connect();
    let (same, odd) = (request("POST", "/", &[], AGENTEVALS), request("POST", "/", &[], "{"));
    stream.write_all([&*same, &odd, &same].concat().as_bytes()).unwrap();
    for status in [200, 400, 200] {
        response(&mut stream).is(status);
    }
}

#[test]
fn many_ask_at_the_same_time() {
    let directory = Directory::new();
    directory.script("show", SHOW);
    directory.script("same", SAME);
    let server = Serving::start(&directory, &["show", "same", "--queue", "1000"]);
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
