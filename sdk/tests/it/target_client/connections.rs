//! How an answer comes: late, in pieces, cut off, without end, or not in HTTP.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    time::{Duration, Instant},
};

use evaluator_sdk::target::{TargetClient, TargetError};
use serde_json::json;

use super::proxy::{Proxy, Received, TOKEN, receive, response};

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
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = TargetClient::new(&format!("http://{unused}"), TOKEN).unwrap();
    let error = client.invoke("q").unwrap_err().to_string();
    assert!(error.contains(&unused.to_string()) && !error.contains(TOKEN), "{error}");
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
fn a_question_that_nobody_reads_is_given_up() {
    const LIMIT: Duration = Duration::from_millis(300);
    let (given_up, gives_up) = std::sync::mpsc::channel::<()>();
    let proxy = Proxy::start(move |stream| {
        // Not one byte of it, until the client has given up.
        let _ = gives_up.recv();
        drop(stream);
        Received { line: String::new(), headers: Vec::new(), body: Vec::new() }
    });
    let question = "x".repeat(16 << 20);
    let error = proxy.client().timeout(LIMIT).invoke(question).unwrap_err();
    drop(given_up);
    assert_eq!(error, TargetError::Timeout { after: LIMIT });
}

#[test]
fn no_redirect_is_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let location = elsewhere.local_addr().unwrap();
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let answer = format!(
            "HTTP/1.1 {status}\r\nLocation: http://{location}/invoke\r\nContent-Length: 0\r\n\r\n"
        );
        let error = Proxy::replying(answer, 100).client().invoke("q").unwrap_err();
        assert!(matches!(error, TargetError::Protocol { .. }), "{error:?}");
    }
    assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn an_answer_is_whole_when_its_length_is_there_though_the_connection_stays() {
    let body = r#"{"output":[],"rawText":"a"}"#;
    let length = body.len();
    for answer in [
        format!(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: {length}\r\n\r\n{body}"
        ),
        format!(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        ),
        // What follows answers nothing that was asked.
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}HTTP/1.1 500 Oops\r\n\r\n"
        ),
    ] {
        let proxy = Proxy::after_request(move |stream| {
            stream.write_all(answer.as_bytes()).unwrap();
            // Until the client has gone.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        assert_eq!(proxy.client().invoke("q").unwrap().text(), Ok("a"));
        proxy.received();
    }
}
