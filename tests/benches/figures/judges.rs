//! Answers that a model judges: a server on this machine that takes 50 ms for each.

use std::{
    io::{self, BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};

use evaluator_host::models::{
    Broker, BrokeredModel, Cassette, Fake, Limits, Mode, Offer, ProxyServer, Redactor, Reply,
};
use evaluator_tests::bench::{measure::Usage, recording, scores};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};
use serde_json::{Value, json};

use crate::{
    bench::Bench,
    table::{Aim, Table, usage, verdict},
};

/// Votes on each answer; agentevals has no other number.
const SAMPLES: usize = 5;

const TRACES: usize = 200;

/// Calls in flight at a time.
const CONCURRENCY: usize = 50;

/// Seconds that the model takes for a call.
const CALL: f64 = 0.050;

/// Milliseconds of processors that a call may take.
const CPU_AIM: f64 = 0.2;

/// Calls of a program.
const OFFERED: u64 = 5_000;

/// Milliseconds of processors that the host may take for a call of a program.
const OFFERED_AIM: f64 = 0.3;

const RUBRIC: &str = "The answer names a price.";

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let slow = serve(Duration::from_secs_f64(CALL), &verdict_message()).unwrap();
    let traces = bench.directory.file("judged.json");
    recording::write_offers(&traces, TRACES);
    let calls = TRACES * SAMPLES;
    let head = format!("judge: {{concurrency: {{max: {CONCURRENCY}}}}}\n");
    let ours = asking(&slow, bench.evaluator(&arguments(&traces, &config(bench, "", &head))));
    // Their configuration has no judge.
    let config = config(bench, "-agentevals", "");
    let theirs = bench
        .agentevals(&arguments(&traces, &config))
        .map(|command| bench.measure("judged-agentevals.json", 1, &asking(&slow, command)));
    let judged = bench.measure_warm("judged.json.report", 5, &ours);
    let ideal = calls as f64 / CONCURRENCY as f64 * CALL;
    let aim = Aim { wall: Some(1.15 * ideal), peak: Some(60.0) };
    let work = format!("{calls} judged answers, {:.0} ms each, {CONCURRENCY} at once", CALL * 1e3);
    table.add(&work, theirs, aim, judged);
    if theirs.is_some() {
        let theirs = bench.directory.file("judged-agentevals.json");
        scores::assert_same(&bench.directory.file("judged.json.report"), &theirs);
    }
    let each = judged.cpu() * 1e3 / calls as f64;
    table.add_text([
        "a call of these, with the traces and the report",
        "-",
        &format!("{CPU_AIM} ms of CPU"),
        &format!("{each:.2} ms"),
        "",
        &verdict(each <= CPU_AIM),
    ]);
    replay(bench, table);
    offered(bench, table);
}

/// Measures judgements that a cassette has.
fn replay(bench: &Bench, table: &mut Table) {
    let fast = serve(Duration::ZERO, &verdict_message()).unwrap();
    let (traces, cassette) =
        (bench.directory.file("replayed.json"), bench.directory.file("judged.cassette.jsonl"));
    let number = 10 * TRACES;
    recording::write_offers(&traces, number);
    let head = |mode: &str| {
        format!(
            "judge: {{cassette: {cassette:?}, mode: {mode}, concurrency: {{max: {CONCURRENCY}}}}}\n"
        )
    };
    let record = config(bench, "-record", &head("record"));
    let record = asking(&fast, bench.evaluator(&arguments(&traces, &record)));
    let recorded: Usage = bench.measure("recorded.json", 1, &record);
    let replay = config(bench, "-replay", &head("replay"));
    let replayed = bench.measure_warm(
        "replayed-report.json",
        5,
        &bench.evaluator(&arguments(&traces, &replay)),
    );
    let calls = number * SAMPLES;
    let work = format!("{calls} judgements from a cassette");
    table.add_text([&format!("{work}, recorded"), "-", "", &usage(recorded), "", ""]);
    table.add(&work, None, Aim { wall: Some(0.5), peak: None }, replayed);
    scores::assert_same(
        &bench.directory.file("recorded.json"),
        &bench.directory.file("replayed-report.json"),
    );
}

/// Measures the processor time of the host for calls of a program to its models, which a cassette answers: the difference of many
/// calls and few, without the thread of the client.
fn offered(bench: &Bench, table: &mut Table) {
    let broker = |mode| {
        let path = bench.directory.file("offered.cassette.jsonl");
        let cassette = Cassette::open(&path, mode, Redactor::default()).unwrap();
        Arc::new(Broker::new(Limits::default()).with_cassette(cassette))
    };
    let fake = || Fake::answering(|_| Ok(Reply { text: "yes".repeat(40), ..Reply::default() }));
    let spent = |mode, calls: u64| {
        let model = BrokeredModel::new(broker(mode), Arc::new(fake()));
        let mut offer = Offer::new("asks", vec![("judge".to_owned(), Arc::new(model) as _)]);
        offer.max_calls = u64::MAX;
        let server = ProxyServer::start().unwrap();
        let proxy = server.open(Arc::new(offer)).unwrap();
        let before = time_of_other_threads();
        ask(&proxy.url(), proxy.token(), calls).unwrap();
        let spent = time_of_other_threads().saturating_sub(before);
        assert_eq!(proxy.close().calls, calls);
        spent.as_secs_f64() * 1e3
    };
    let recorded = spent(Mode::Record, OFFERED) / OFFERED as f64;
    let few = OFFERED / 10;
    let replayed =
        (spent(Mode::Replay, OFFERED) - spent(Mode::Replay, few)) / (OFFERED - few) as f64;
    let work = "a call of a program to its models, in the host";
    let aim = format!("{OFFERED_AIM} ms of CPU");
    let ours = format!("{replayed:.3} ms ({recorded:.3} ms recorded)");
    table.add_text([work, "-", &aim, &ours, "", &verdict(replayed <= OFFERED_AIM)]);
}

/// Asks a question as an SDK does, many times on one connection.
fn ask(url: &str, token: &str, times: u64) -> io::Result<()> {
    let body =
        json!({"model": "judge", "messages": [{"role": "user", "content": RUBRIC.repeat(40)}]});
    let body = body.to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(url.trim_start_matches("http://"))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    for _ in 0..times {
        stream.write_all(request.as_bytes())?;
        let (head, answer) = read_message(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}{}", String::from_utf8_lossy(&answer));
    }
    Ok(())
}

/// Processor time of this process so far, without this thread.
fn time_of_other_threads() -> Duration {
    let spent = |who| {
        let usage = getrusage(who).unwrap();
        let times = [usage.user_time(), usage.system_time()];
        let whole = |time: &TimeVal| Duration::from_secs(time.tv_sec().unsigned_abs());
        let rest = |time: &TimeVal| Duration::from_micros(time.tv_usec().unsigned_abs());
        times.iter().flat_map(|time| [whole(time), rest(time)]).sum::<Duration>()
    };
    spent(UsageWho::RUSAGE_SELF).saturating_sub(spent(UsageWho::RUSAGE_THREAD))
}

fn arguments<'a>(traces: &'a Path, config: &'a Path) -> [&'a Path; 3] {
    [traces, Path::new("-c"), config]
}

/// Writes a configuration with one metric that a model judges, below `head`.
fn config(bench: &Bench, name: &str, head: &str) -> PathBuf {
    let entry = format!(
        "evaluators:\n  - {{name: rubric_based_final_response_quality_v1, type: builtin, judge_model: openai/judge, \
         rubrics: [{RUBRIC:?}]}}\n"
    );
    bench.directory.write(&format!("judged{name}.yaml"), &format!("{head}{entry}"))
}

/// Lets a command ask the model at this address.
pub(crate) fn asking(base: &str, mut command: Command) -> Command {
    command
        .env("OPENAI_BASE_URL", base)
        .env("OPENAI_API_BASE", base)
        .env("OPENAI_API_KEY", "unused");
    command
}

/// Returns the reply of a judge of rubrics.
fn verdict_message() -> Value {
    let text = format!(
        "Property: {RUBRIC}\nID: rubric_0\nEvidence: the answer\nRationale: It does.\nVerdict: yes"
    );
    json!({"role": "assistant", "content": text})
}

/// Starts a model that takes this time for a call and gives this message, and returns its base URL.
pub(crate) fn serve(time: Duration, message: &Value) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let body = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "judge",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440},
    })
    .to_string();
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let response = response.clone();
            // A client that is gone ends its connection.
            thread::spawn(move || drop(answer(stream, &response, time)));
        }
    });
    Ok(format!("http://{address}/v1"))
}

/// Answers the requests of one connection.
fn answer(stream: TcpStream, response: &str, time: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while read_message(&mut reader)?.is_some() {
        thread::sleep(time);
        writer.write_all(response.as_bytes())?;
    }
    Ok(())
}

/// Reads the head and the body of a request or a response; `None` after the last one.
fn read_message(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
        let line = &head[start..];
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((head, body)))
}
