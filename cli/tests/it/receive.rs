//! `evaluator receive`: spans over HTTP, verdicts as conversations are finished.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::{Read as _, Write as _},
    process::{Command, Stdio},
};

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::support::{
    Directory, Ran,
    processes::{signal, wait_until},
    serving::{Response, Serving},
};

const JSON: &str = "Content-Type: application/json";
const PROTOBUF: &str = "Content-Type: application/x-protobuf";

/// Counts its conversations in a file. One that was started in advance gets none.
const COUNTS: &str =
    "document=$(cat); [ -z \"$document\" ] || echo asked >>asked; echo '{\"score\": 1}'";

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("counts", COUNTS);
    directory.file("c.yaml", "evaluators: [{name: counts, type: code, path: ./counts}]");
    directory
}

/// The command, with conversations that are finished at once unless `more` says otherwise.
fn command(directory: &Directory, more: &[&str]) -> Command {
    let mut args =
        vec!["receive", "-c", "c.yaml", "--traces", "t.jsonl", "--save-run", "r.evalrun"];
    for (option, value) in
        [("--addr", "127.0.0.1:0"), ("--group-by", "trace"), ("--quiet-for", "0s")]
    {
        if !more.contains(&option) {
            args.extend([option, value]);
        }
    }
    args.extend(more);
    let mut command = directory.command(&args);
    command.env_remove("EVALUATOR_RECEIVE_TOKEN");
    command
}

#[track_caller]
fn start(directory: &Directory, more: &[&str]) -> Serving {
    Serving::start_command(command(directory, more))
}

/// A span of a model call. Those of a trace that have no parent are turns of their own.
fn span(trace: u32, id: u32, parent: Option<u32>) -> Value {
    let message = |role: &str| {
        let parts = json!([{"role": role, "parts": [{"type": "text", "content": format!("{trace} {id}")}]}]);
        json!({"stringValue": parts.to_string()})
    };
    json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"),
        "parentSpanId": parent.map(|parent| format!("{parent:016x}")).unwrap_or_default(), "name": "chat",
        "startTimeUnixNano": format!("{}", 1_700_000_000_000_000_000_u64 + u64::from(id)),
        "endTimeUnixNano": "1700000001000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.input.messages", "value": message("user")},
            {"key": "gen_ai.output.messages", "value": message("assistant")},
        ],
    })
}

fn document(spans: &[Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

#[track_caller]
fn post(server: &Serving, spans: &[Value]) -> Response {
    server.send("/v1/traces", &[JSON], document(spans).as_bytes())
}

/// How often the evaluator was asked.
fn asked(directory: &Directory) -> usize {
    fs::read_to_string(directory.path().join("asked")).unwrap_or_default().lines().count()
}

#[track_caller]
fn wait_until_asked(directory: &Directory, count: usize) {
    wait_until("evaluations", || asked(directory) == count);
}

/// Stops a receiver. Returns its standard output.
#[track_caller]
fn stop(server: &mut Serving) -> String {
    signal("TERM", &server.pid());
    assert_eq!(server.ended(), Some(0), "{}", server.said());
    server.printed()
}

fn report(directory: &Directory) -> Ran {
    directory.evaluator(&["report", "r.evalrun", "-o", "json"])
}

/// The trace ids of the report, sorted.
fn judged(directory: &Directory) -> Vec<String> {
    let report = report(directory).json();
    let all = report["traces"].as_array().unwrap().iter();
    let mut ids: Vec<_> = all.map(|it| it["trace_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn ids(traces: impl IntoIterator<Item = u32>) -> Vec<String> {
    traces.into_iter().map(|trace| format!("{trace:032x}")).collect()
}

#[test]
fn a_trace_is_judged_when_its_root_has_ended() {
    let directory = directory();
    let mut server = start(&directory, &[]);
    post(&server, &[span(1, 2, Some(1)), span(2, 2, Some(1))]).is(200);
    // They are in the file as soon as the request is answered, each trace on a line.
    assert_eq!(directory.read("t.jsonl").lines().count(), 2);
    post(&server, &[span(1, 1, None)]).is(200);
    wait_until_asked(&directory, 1);
    let printed = stop(&mut server);
    assert_eq!(printed, format!("{:032x}  [PASS] counts 1.00\n", 1));
    server.says(
        "1 conversation judged; 1 conversation not finished; nothing is decided before `evaluator report r.evalrun`",
    );
    assert_eq!(judged(&directory), ids([1]));
    report(&directory).exits(1).says("partial");
    // The run over the file judges what was left, and takes the rest from the run file.
    let run =
        ["t.jsonl", "-c", "c.yaml", "--group-by", "trace", "--save-run", "r.evalrun", "--resume"];
    directory.run(&run).exits(0);
    assert_eq!((judged(&directory), asked(&directory)), (ids([1, 2]), 2));
}

#[test]
fn a_receiver_that_was_killed_loses_nothing_and_asks_nothing_twice() {
    let directory = directory();
    let server = start(&directory, &[]);
    for trace in 1..=3 {
        post(&server, &[span(trace, 1, None)]).is(200);
    }
    wait_until_asked(&directory, 3);
    // The results are in the run file before they are printed.
    wait_until("saved evaluations", || {
        directory.read("r.evalrun").matches("\"kind\":\"conversation\"").count() == 3
    });
    post(&server, &[span(4, 2, Some(1))]).is(200);
    signal("KILL", &server.pid());
    drop(server);
    // What was not written completely was not accepted.
    let mut text = directory.read("t.jsonl");
    text += "{\"resourceSpans\": [";
    directory.file("t.jsonl", text);
    let mut server = start(&directory, &[]);
    server.says("the trace file ended in 19 bytes of a line that was cut off");
    post(&server, &[span(4, 1, None)]).is(200);
    wait_until_asked(&directory, 4);
    stop(&mut server);
    assert_eq!((judged(&directory), asked(&directory)), (ids(1..=4), 4));
    report(&directory).exits(0);
}

#[test]
fn a_late_span_has_its_conversation_judged_again_and_a_copy_has_not() {
    let directory = directory();
    let mut server = start(&directory, &[]);
    post(&server, &[span(1, 1, None)]).is(200);
    wait_until_asked(&directory, 1);
    // A client that saw no answer sends the same again.
    post(&server, &[span(1, 1, None)]).is(200);
    post(&server, &[span(2, 1, None)]).is(200);
    wait_until_asked(&directory, 2);
    assert!(!server.said().contains("judged again"), "{}", server.said());
    post(&server, &[span(1, 2, None)]).is(200);
    server.says(&format!("spans of trace {:032x} came after it was judged; it is judged again", 1));
    wait_until_asked(&directory, 3);
    let printed = stop(&mut server);
    assert_eq!(printed.lines().count(), 3, "{printed}");
    server.says("2 conversations judged, 1 of them again");
    assert!(directory.read("r.evalrun").contains("judged again, because spans came after"));
    // The last result is the one of all spans, so a run over them has nothing to ask.
    let args = ["t.jsonl", "-c", "c.yaml", "--group-by", "trace", "--save-run", "r.evalrun"];
    directory.run(&[&args[..], &["--resume"]].concat()).exits(0);
    let turns = report(&directory).exits(0).json()["traces"][0]["num_invocations"].clone();
    assert_eq!((turns, asked(&directory)), (json!(2), 3));
}

#[test]
fn spans_with_one_id_and_different_content_are_an_error() {
    let directory = directory();
    let mut server = start(&directory, &[]);
    let mut other = span(1, 1, None);
    other["name"] = json!("other");
    post(&server, &[span(1, 1, None), other]).is(200);
    wait_until("a verdict", || directory.read("r.evalrun").contains("unusable_recording"));
    assert!(stop(&mut server).contains("[ERR ] (all)"));
    report(&directory).exits(3);
}

#[test]
fn traces_of_a_session_are_one_conversation() {
    let directory = directory();
    let more = ["--group-by", "conversation", "--idle-for", "1s"];
    let mut server = start(&directory, &more);
    let in_session = |mut span: Value| {
        let session = json!({"key": "session.id", "value": {"stringValue": "s"}});
        span["attributes"].as_array_mut().unwrap().push(session);
        span
    };
    let spans = [in_session(span(1, 1, None)), in_session(span(2, 2, None)), span(3, 3, None)];
    post(&server, &spans).is(200);
    wait_until_asked(&directory, 2);
    stop(&mut server);
    assert_eq!(judged(&directory), ids([1, 3]));
}

#[test]
fn the_session_of_a_root_counts_even_if_a_child_came_before_with_another() {
    let directory = directory();
    let more = ["--group-by", "conversation", "--idle-for", "1s"];
    let mut server = start(&directory, &more);
    let in_session = |mut span: Value, name: &str| {
        let session = json!({"key": "session.id", "value": {"stringValue": name}});
        span["attributes"].as_array_mut().unwrap().push(session);
        span
    };
    post(&server, &[in_session(span(1, 2, Some(1)), "child")]).is(200);
    post(&server, &[in_session(span(1, 1, None), "root"), in_session(span(2, 3, None), "root")])
        .is(200);
    post(&server, &[in_session(span(3, 3, None), "child")]).is(200);
    wait_until_asked(&directory, 2);
    stop(&mut server);
    let received = judged(&directory);
    assert_eq!(received, ids([1, 3]));
    // As in the run over the file, which has nothing to ask.
    let args = ["t.jsonl", "-c", "c.yaml", "--group-by", "conversation", "--save-run", "r.evalrun"];
    directory.run(&[&args[..], &["--resume"]].concat()).exits(0);
    assert_eq!((judged(&directory), asked(&directory)), (received, 2));
}

#[test]
fn a_span_that_is_nested_too_deep_is_rejected_and_the_others_are_judged() {
    let directory = directory();
    let mut server = start(&directory, &[]);
    let (open, close) = (r#"{"arrayValue":{"values":["#, "]}}");
    let value = format!("{}{{}}{}", open.repeat(1000), close.repeat(1000));
    let mut deep = span(1, 2, Some(1)).to_string();
    deep.truncate(deep.len() - 1);
    deep += &format!(r#","attributes2":{value}}}"#);
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{deep},{}]}}]}}]}}"#,
        span(1, 1, None)
    );
    let answer = server.send("/v1/traces", &[JSON], body.as_bytes()).is(200).json();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    let reason = answer["partialSuccess"]["errorMessage"].as_str().unwrap();
    assert!(reason.contains("nested deeper than 1000 levels"), "{reason}");
    server.says("1 span rejected: ");
    wait_until_asked(&directory, 1);
    stop(&mut server);
    assert_eq!(judged(&directory), ids([1]));
}

#[test]
fn the_report_says_how_many_were_judged_again_and_counts_their_results_once() {
    let directory = directory();
    let mut server = start(&directory, &[]);
    post(&server, &[span(1, 1, None), span(2, 1, None)]).is(200);
    wait_until_asked(&directory, 2);
    stop(&mut server);
    // Results of the earlier receiver, one of them for the spans before and after the late one, which no evaluator sees.
    let mut server = start(&directory, &[]);
    wait_until("saved results", || {
        directory.read("r.evalrun").matches("\"kind\":\"conversation\"").count() == 2
    });
    let mut late = span(1, 2, Some(1));
    late["attributes"] = json!([]);
    late["name"] = json!("GET /");
    post(&server, &[late]).is(200);
    server.says("it is judged again");
    stop(&mut server);
    assert_eq!(asked(&directory), 2);
    let ran = report(&directory).exits(0).says("2 of 2 results from an earlier run");
    let warning = format!(
        "1 conversation was judged again, because spans came after it had been judged (first in trace {:032x})",
        1
    );
    assert_eq!(ran.json()["warnings"], json!([warning]));
}

#[test]
fn what_is_not_accepted_has_its_status_and_is_not_written() {
    let directory = directory();
    let mut server = start(&directory, &["--max-body", "1"]);
    let good = document(&[span(1, 1, None)]);
    let gzip = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let deflate = |text: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let large = gzip(&vec![b' '; 2 << 20]);
    let deflated = deflate(&vec![b' '; 2 << 20]);
    let gzipped = "Content-Encoding: gzip";
    for (path, headers, body, status, says) in [
        ("/v1/traces", &[JSON][..], &b"{"[..], 400, "not an OTLP request for traces"),
        ("/v1/traces", &[JSON], b"[]", 400, "not an OTLP request for traces"),
        ("/v1/traces", &[JSON], b"[[]]", 400, "not an OTLP request for traces"),
        ("/v1/traces", &[JSON], b"{\"resourceSpans\": [[]]}", 400, "expected an object"),
        ("/v1/traces", &[JSON], b"{\"resourceSpans\": 5}", 400, "not an OTLP request for traces"),
        ("/v1/traces", &[JSON], b"{\"data\": []}", 400, "missing field `resourceSpans`"),
        ("/v1/traces", &[PROTOBUF], good.as_bytes(), 400, "not an OTLP request for traces"),
        ("/v1/traces", &[JSON, gzipped], good.as_bytes(), 400, "cannot be decompressed"),
        ("/v1/traces", &[JSON, gzipped], &large, 413, "larger than the limit of 1048576 bytes"),
        (
            "/v1/traces",
            &[JSON],
            &vec![b' '; 2 << 20],
            413,
            "larger than the limit of 1048576 bytes",
        ),
        (
            "/v1/traces",
            &[JSON, "Content-Encoding: br"],
            good.as_bytes(),
            415,
            "only gzip and deflate",
        ),
        (
            "/v1/traces",
            &[JSON, "Content-Encoding: deflate"],
            &deflated,
            413,
            "larger than the limit",
        ),
        (
            "/v1/traces",
            &["Content-Type: text/plain"],
            good.as_bytes(),
            415,
            "application/x-protobuf",
        ),
        ("/v1/metrics", &[JSON], b"{}", 404, "OTEL_METRICS_EXPORTER=none"),
        ("/v1/logs", &[PROTOBUF], b"", 404, "OTEL_LOGS_EXPORTER=none"),
        ("/", &[JSON], good.as_bytes(), 404, "send spans to /v1/traces"),
        ("/v1/traces", &[JSON, "Origin: http://evil.example"], good.as_bytes(), 403, "web pages"),
        ("/v1/traces", &[JSON, "Host: evil.example"], good.as_bytes(), 403, "--allow-host"),
        ("/v1/traces", &["Content-Type: application/grpc"], b"", 200, ""),
    ] {
        let answer = server.send(path, headers, body).is(status);
        assert!(answer.body.contains(says), "{path} {headers:?}: {}", answer.body);
    }
    server.get("/v1/traces").is(405);
    assert_eq!(directory.read("t.jsonl"), "");
    // An empty request, spans without ids among others, and a compressed request are accepted.
    assert_eq!(server.send("/v1/traces", &[PROTOBUF], b"").is(200).body, "");
    assert_eq!(server.send("/v1/traces", &[JSON], b"{}").is(200).json(), json!({}));
    let mut nameless = span(2, 1, None);
    nameless["spanId"] = json!("");
    let body = gzip(document(&[nameless, span(1, 1, None)]).as_bytes());
    let answer = server.send("/v1/traces", &[JSON, gzipped], &body).is(200).json();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    let body = deflate(document(&[span(2, 1, None)]).as_bytes());
    server.send("/v1/traces", &[JSON, "Content-Encoding: deflate"], &body).is(200);
    // A span of protobuf without ids: one is rejected, with a reason, in the form of the request.
    let answer = server.send("/v1/traces", &[PROTOBUF], b"\x0a\x04\x12\x02\x12\0").is(200);
    let reason = "a trace id has 32 hexadecimal digits, a span id 16, and neither is zero";
    let length = char::from(u8::try_from(reason.len()).unwrap());
    let message = format!("\x08\x01\x12{length}{reason}");
    let length = char::from(u8::try_from(message.len()).unwrap());
    assert_eq!(answer.body, format!("\x0a{length}{message}"));
    // An error of Google's form.
    let answer = server.send("/v1/traces", &[PROTOBUF], b"\x0a").is(400);
    assert!(answer.body.starts_with("\x08\x03\x12"), "{:?}", answer.body);
    wait_until_asked(&directory, 2);
    stop(&mut server);
    assert_eq!(judged(&directory), ids([1, 2]));
}

#[test]
fn slow_clients_leave_room_for_others_whatever_they_announce() {
    let directory = directory();
    let server = start(&directory, &[]);
    let largest = 16 << 20;
    let slow = |_| {
        let mut stream = server.connect();
        let head =
            "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        write!(stream, "{head}Expect: 100-continue\r\nContent-Length: {largest}\r\n\r\n").unwrap();
        stream
    };
    let mut clients: Vec<_> = (0..16).map(slow).collect();
    for stream in &mut clients {
        // The server asks for the body as soon as it reads it.
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(str::from_utf8(&answer), Ok("HTTP/1.1 100"));
    }
    post(&server, &[span(1, 1, None)]).is(200);
    drop(clients);
}

#[test]
fn bodies_that_have_arrived_are_bounded() {
    let directory = directory();
    let server = start(&directory, &["--max-body", "1"]);
    let slow = |_| {
        let mut stream = server.connect();
        let head =
            "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n", 1 << 20).unwrap();
        // One that is refused may not be able to send everything.
        let _ = stream.write_all(&vec![b' '; (1 << 20) - 1]);
        stream
    };
    // There is room for four of them.
    let clients: Vec<_> = (0..8).map(slow).collect();
    server.says("a request was refused (503): too many requests are being read; try again later");
    drop(clients);
    let blank = vec![b' '; 1 << 20];
    wait_until("room", || server.send("/v1/traces", &[JSON], &blank).status == 400);
}

#[test]
fn a_token_is_required_if_there_is_one() {
    let directory = directory();
    let mut command = command(&directory, &[]);
    command.env("EVALUATOR_RECEIVE_TOKEN", "secret");
    let server = Serving::start_command(command);
    let document = document(&[span(1, 1, None)]);
    for path in ["/v1/traces", "/v1/metrics", "/"] {
        server.send(path, &[JSON], document.as_bytes()).is(401);
    }
    let token = "Authorization: Bearer secret";
    server.send("/v1/traces", &[JSON, token], document.as_bytes()).is(200);
}

/// The beginning of a connection of HTTP/2, and a request as a client of gRPC sends it.
fn grpc_request() -> Vec<u8> {
    // A literal field whose name is in the static table of HPACK.
    let field = |name: &[u8], value: &str| {
        [name, &[u8::try_from(value.len()).unwrap()], value.as_bytes()].concat()
    };
    let headers = [
        b"\x83\x86".to_vec(),
        field(b"\x04", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"),
        field(b"\x01", "127.0.0.1"),
        field(b"\x0f\x10", "application/grpc"),
    ]
    .concat();
    let length = u8::try_from(headers.len()).unwrap();
    let settings = b"\0\0\0\x04\0\0\0\0\0";
    let frame = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &*headers].concat();
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..], &frame].concat()
}

#[test]
fn a_client_of_grpc_is_told_what_to_set() {
    let directory = directory();
    let server = start(&directory, &[]);
    let mut stream = server.connect();
    stream.write_all(&grpc_request()).unwrap();
    server.says("set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf in the client");
    // Settings, the acknowledgement of the client's, and the frame of the headers, which ends the stream.
    let mut read = [0; 9];
    loop {
        stream.read_exact(&mut read).unwrap();
        let (length, kind, flags) =
            (usize::from(read[1]) << 8 | usize::from(read[2]), read[3], read[4]);
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).unwrap();
        if kind == 1 {
            assert_eq!(flags & 1, 1, "the stream has ended");
            break;
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell can set limits")]
fn a_full_disk_is_503_and_what_was_accepted_stays() {
    let directory = directory();
    let own = command(&directory, &[]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 32; exec \"$0\" \"$@\""])
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let server = Serving::start_command(limited);
    // A trace that is not finished does not fill the run file.
    post(&server, &[span(1, 1, Some(9))]).is(200);
    let before = directory.read("t.jsonl");
    let many: Vec<_> = (2..100).map(|id| span(1, id, Some(9))).collect();
    let answer = post(&server, &many).is(503);
    assert!(answer.head.contains("retry-after: 1"), "{}", answer.head);
    assert!(answer.body.contains("spans cannot be written: File too large"), "{}", answer.body);
    assert_eq!(directory.read("t.jsonl"), before);
    post(&server, &[span(1, 2, Some(9))]).is(200);
    assert_eq!(directory.read("t.jsonl").lines().count(), 2);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_received() {
    let directory = directory();
    let refused = |more: &[&str], says: &str| {
        let child = command(&directory, more).spawn().unwrap();
        crate::support::finish(child).exits(2).says(says);
    };
    refused(&["--group-by", "auto"], "add --group-by trace or --group-by conversation");
    refused(&["--addr", "0.0.0.0:0"], "EVALUATOR_RECEIVE_TOKEN");
    refused(&["--quiet-for", "soon"], "the units are ms, s, m and h");
    directory.file("t.jsonl", "{\"resourceSpans\": []}\nother\n");
    refused(&[], "t.jsonl, line 2, is not OTLP");
    directory.file("t.jsonl", "");
    directory.file("c.yaml", "evaluators: [{name: gone, type: code, path: ./gone.rs}]");
    refused(&[], "which does not exist");
    directory.file("c.yaml", "evaluators: []");
    refused(&[], "`evaluators` is empty");
}
