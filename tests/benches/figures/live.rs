//! Live traces: 2,000 spans a second for a minute, judged by an evaluator in Rust while they come.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    bench::{Bench, in_rust},
    table::{Table, verdict},
};

/// Requests in a second, traces in a request, and spans of a trace.
const REQUESTS: usize = 10;
const TRACES: usize = 25;
const SPANS: usize = 8;
const SECONDS: usize = 60;
/// MB of memory that the receiver may take.
const PEAK: f64 = 100.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let config = bench.configuration("live.yaml", "", &["answered"], in_rust);
    let [traces, run] = ["live.jsonl", "live.evalrun"].map(|name| bench.directory.file(name));
    for file in [&traces, &run] {
        let _ = fs::remove_file(file);
    }
    let mut command = bench.saved(["receive", "--addr", "127.0.0.1:0", "--group-by", "trace"]);
    command.args(["--quiet-for", "1s", "-c"]).arg(&config);
    command.arg("--traces").arg(&traces).arg("--save-run").arg(&run);
    eprintln!("measuring live traces: {SECONDS} s ...");
    let mut receiver = Receiver::start(command);
    let start = Instant::now();
    let mut stream = TcpStream::connect(&receiver.address).unwrap();
    for request in 0..SECONDS * REQUESTS {
        post(&mut stream, &document(request));
        let due = Duration::from_millis((request as u64 + 1) * 1_000 / REQUESTS as u64);
        sleep(due.saturating_sub(start.elapsed()));
    }
    let took = start.elapsed().as_secs_f64();
    // The last conversations are finished when they have been quiet.
    sleep(Duration::from_secs(2));
    let peak = receiver.peak();
    receiver.stop();
    let report = bench.saved(["report".as_ref(), run.as_os_str(), "-o".as_ref(), "json".as_ref()]);
    let sent = SECONDS * REQUESTS * TRACES;
    let judged = judged(report);
    let spans = (sent * SPANS) as f64;
    table.add_text([
        &format!("{spans:.0} live spans, an evaluator in Rust"),
        "-",
        &format!("{SECONDS} s, {PEAK:.0} MB"),
        &format!("{took:.1} s {peak:>3.0} MB"),
        &format!("{judged} of {sent} conversations"),
        &verdict(judged == sent && peak <= PEAK && took <= SECONDS as f64 + 1.0),
    ]);
}

struct Receiver {
    child: Child,
    address: String,
}

impl Receiver {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = said
            .find_map(|line| {
                Some(line.split_once("listening on http://")?.1.split(' ').next()?.to_owned())
            })
            .unwrap();
        std::thread::spawn(move || said.for_each(|line| eprintln!("{line}")));
        Self { child, address }
    }

    /// The most memory that it had, in MB.
    fn peak(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1_000.0
    }

    fn stop(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// A request with whole traces: a turn with a call of a model, and spans below it.
fn document(request: usize) -> String {
    let message = r#"[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"content\": \"What is the capital of France?\"}]}]"#;
    let answer = r#"[{\"role\": \"assistant\", \"parts\": [{\"type\": \"text\", \"content\": \"Paris.\"}]}]"#;
    let attribute = |key: &str, value: &str| {
        format!(r#"{{"key":"gen_ai.{key}","value":{{"stringValue":"{value}"}}}}"#)
    };
    let chat = [
        attribute("operation.name", "chat"),
        attribute("input.messages", message),
        attribute("output.messages", answer),
    ];
    let (chat, mut spans) = (chat.join(","), String::new());
    for trace in request * TRACES..(request + 1) * TRACES {
        for span in 1..=SPANS {
            let (parent, attributes) = match span {
                1 => ("", &*chat),
                _ => (r#""parentSpanId":"0000000000000001","#, ""),
            };
            let comma = if spans.is_empty() { "" } else { "," };
            write!(
                spans,
                r#"{comma}{{"traceId":"{:032x}","spanId":"{span:016x}",{parent}"name":"s","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[{attributes}]}}"#,
                trace + 1,
            )
            .unwrap();
        }
    }
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
}

/// Sends a request on an open connection, and reads the answer.
fn post(stream: &mut TcpStream, body: &str) {
    let head = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"{}") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
}

/// The number of conversations of a report, each of which passed.
fn judged(mut report: Command) -> usize {
    let output = report.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    report["traces"].as_array().unwrap().len()
}
