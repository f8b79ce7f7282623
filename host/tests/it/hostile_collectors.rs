//! Collectors that answer what they should not: whatever they do, sending ends within its time and says why.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use evaluator_host::events::{AttributeValue, EventRecord, ExportError, Exporter};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const SHORT: (&str, &str) = (TIMEOUT, "1500");

/// A server that does this to every connection, and how many it had.
fn server(answer: impl Fn(&mut TcpStream) -> Option<()> + Send + Clone + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            // The client may be gone.
            thread::spawn(move || {
                let _ = answer(&mut stream);
                // What the client still sends is read, so that it sees the answer and not a reset connection.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    Server { url, connections }
}

struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn export(&self, variables: &[(&str, &str)]) -> Result<(), ExportError> {
        let record = EventRecord {
            name: "gen_ai.evaluation.result",
            trace_id: "ab".repeat(16),
            span_id: "cd".repeat(8),
            attributes: vec![("gen_ai.evaluation.name", AttributeValue::Text("a".to_owned()))],
        };
        let mut all = vec![(ENDPOINT, &*self.url), (TIMEOUT, "120000")];
        all.extend(variables);
        let exporter = Exporter::new(&|name| {
            all.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        exporter.unwrap().export([Ok(record)])
    }
}

fn always(answer: impl Into<Vec<u8>>) -> Server {
    let answer = Arc::new(answer.into());
    server(move |stream| {
        // As much as is there: nothing here depends on the request.
        let _ = stream.read(&mut [0; 65536]).ok()?;
        stream.write_all(&answer).ok()
    })
}

/// Sends `beginning`, and then `piece` as long as anybody listens.
fn endless(beginning: &'static str, piece: &'static [u8], pause: Duration) -> Server {
    server(move |stream| {
        let _ = stream.read(&mut [0; 65536]).ok()?;
        stream.write_all(beginning.as_bytes()).ok()?;
        loop {
            stream.write_all(piece).ok()?;
            thread::sleep(pause);
        }
    })
}

#[test]
fn no_time_to_wait_is_too_long_or_too_short() {
    let busy = |after: &str| {
        always(format!(
            "HTTP/1.1 429 Busy\r\nretry-after: {after}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    };
    for after in ["18446744073709551615", "9223372036854775807"] {
        let error = busy(after).export(&[]).unwrap_err();
        assert!(error.reason.starts_with("HTTP status 429"), "{after}: {}", error.reason);
    }
    for after in ["99999999999999999999999", "1e300", "-1", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        assert_eq!(busy(after).export(&[SHORT]).unwrap_err().missing, 1, "{after}");
    }
    let impatient = always(
        "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    );
    impatient.export(&[SHORT]).unwrap_err();
    let tries = impatient.connections();
    assert!(tries <= 16, "it was asked {tries} times in 1.5 s");
}

#[test]
fn the_longest_timeout_is_a_timeout() {
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    always(ok).export(&[(TIMEOUT, "18446744073709551615")]).unwrap();
    let error = always("nonsense\r\n\r\n")
        .export(&[(TIMEOUT, "18446744073709551615"), (PROTOCOL, "grpc")])
        .unwrap_err();
    assert_eq!(error.missing, 1);
    let error = always(ok).export(&[(TIMEOUT, "0")]).unwrap_err();
    assert!(error.reason.contains("no answer within 0 ms"), "{}", error.reason);
}

#[test]
fn answers_without_end_end_with_the_time() {
    let quick = Duration::ZERO;
    let slow = Duration::from_millis(50);
    for (server, what) in [
        (endless("HTTP/1.1 200 OK\r\nx: ", b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", quick), "header"),
        (endless("HTTP/1.1 200 OK\r\n", b"x: y\r\n", quick), "headers"),
        (endless("HTTP/1.1 200 OK\r\n", b"x: y\r\n", slow), "slow headers"),
        (endless("HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 4096], quick), "body"),
        (endless("HTTP/1.1 200 OK\r\n\r\n", b"x", slow), "slow body"),
        (endless("HTTP/1.1 500 No\r\n\r\n", &[b'x'; 4096], quick), "body of an error"),
        (
            endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n", quick),
            "chunks",
        ),
        (
            endless("HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", quick),
            "interim",
        ),
        (endless("", b"", slow), "nothing"),
    ] {
        let error = server.export(&[SHORT]).unwrap_err();
        assert_eq!(error.missing, 1, "{what}");
        assert!(error.reason.chars().count() < 600, "{what}: {}", error.reason);
        let error = server.export(&[SHORT, (PROTOCOL, "grpc")]).unwrap_err();
        assert_eq!(error.missing, 1, "{what}: grpc");
    }
}

#[test]
fn what_is_sent_goes_to_the_configured_endpoint_and_nowhere_else() {
    let elsewhere = always("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let answer = format!(
            "HTTP/1.1 {status}\r\nlocation: {}/v1/logs\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            elsewhere.url
        );
        let error = always(answer)
            .export(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret")])
            .unwrap_err();
        assert!(
            error.reason.starts_with(&format!("HTTP status {}", &status[..3])),
            "{}",
            error.reason
        );
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn answers_that_are_cut_short_or_are_not_answers_are_errors() {
    for answer in [
        "",
        "\r\n",
        "HTTP/1.1",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "HTTP/1.1 999 What\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
    ] {
        for protocol in ["http/protobuf", "http/json", "grpc"] {
            let error = always(answer).export(&[(PROTOCOL, protocol)]).unwrap_err();
            assert_eq!(error.missing, 1, "{protocol}: {answer:?}");
        }
    }
}

#[test]
fn what_an_answer_says_is_short_and_one_line() {
    let body = format!("a\r\nb\x1b[2J\x1b]0;title\x07{}", "x".repeat(100_000));
    let answer = format!(
        "HTTP/1.1 400 Bad\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let error = always(answer).export(&[]).unwrap_err();
    assert!(!error.reason.contains(char::is_control), "{:?}", error.reason);
    assert!(error.reason.chars().count() < 600, "{}", error.reason.len());
    // What was refused in part has a message, too.
    let message = format!("too\\nold \\u001b[2J{}", "x".repeat(100_000));
    let body = format!(
        "{{\"partialSuccess\":{{\"rejectedLogRecords\":\"9223372036854775807\",\"errorMessage\":\"{message}\"}}}}"
    );
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let error = always(answer).export(&[(PROTOCOL, "http/json")]).unwrap_err();
    assert_eq!(error.missing, 1);
    assert!(!error.reason.contains(char::is_control), "{:?}", error.reason);
    assert!(error.reason.chars().count() < 600, "{}", error.reason.len());
}

#[test]
fn what_is_refused_without_a_reason_is_said_so() {
    for message in ["", " \\n"] {
        let body = format!(
            "{{\"partialSuccess\":{{\"rejectedLogRecords\":\"1\",\"errorMessage\":\"{message}\"}}}}"
        );
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let error = always(answer).export(&[(PROTOCOL, "http/json")]).unwrap_err();
        assert_eq!(error.reason, "the collector refused them without a reason");
    }
}

/// A response with a good status and this body.
fn good(body: &str) -> Server {
    always(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

#[test]
fn only_an_answer_of_otlp_means_that_events_have_arrived() {
    for protocol in ["http/protobuf", "http/json"] {
        let export = |body: &str| good(body).export(&[(PROTOCOL, protocol)]);
        for body in ["", "{}", "{\"partialSuccess\": {}}"] {
            export(body).unwrap();
        }
        for body in ["<html>Log in</html>", "{\"partialSuccess\": 5}", "[[[[", "\u{1}\u{2}", "ok"] {
            let error = export(body).unwrap_err();
            assert_eq!(error.missing, 1, "{body}");
            let reason = "the answer is not that of an OTLP collector: ";
            assert!(error.reason.starts_with(reason), "{}", error.reason);
        }
    }
}

#[test]
fn no_error_contains_a_header_that_the_collector_repeats() {
    const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
    let headers = "authorization=Bearer%20decoy-token,x-key=decoy-other";
    for (status, body) in [
        ("401 No", "unknown token decoy-token, key decoy-other"),
        ("200 OK", "Bearer decoy-token is invalid"),
        (
            "200 OK",
            "{\"partialSuccess\": {\"rejectedLogRecords\": 1, \"errorMessage\": \"decoy-token\"}}",
        ),
    ] {
        let length = body.len();
        let server = always(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ));
        let error = server.export(&[(PROTOCOL, "http/json"), (HEADERS, headers)]).unwrap_err();
        assert!(!error.reason.contains("decoy"), "{}", error.reason);
        assert!(error.reason.contains("<redacted:authorization>"), "{}", error.reason);
    }
}
