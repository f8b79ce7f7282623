//! What the program around an evaluator costs, as ratios measured in one run: `cargo bench -p evaluator-sdk`.
//!
//! - spawn to exit of a one-shot evaluation, against `/bin/true` spawned the same way;
//! - throughput of `--stream`, against a bare serde_json loop over the same structs, with the same function in it;
//! - reading a document whose contract is detected, against reading one whose contract is known.
//!
//! The bench starts itself as each of these programs: the environment variable `ROLE` says as which.

#![expect(clippy::disallowed_methods, reason = "the programs that are measured are started here")]
#![expect(clippy::print_stdout, reason = "the ratios are the output")]

use std::{
    env, fs,
    hint::black_box,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use evaluator_sdk::{
    EvalInput, EvalResult, InvocationData, Score, ToolCallData, ToolResponseData, evaluator,
    protocol::Document,
};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn judge(input: &EvalInput) -> EvalResult {
    let lengths =
        input.invocations.iter().map(|turn| turn.final_response.as_ref().map_or(0, String::len));
    EvalResult::mean_of(lengths.map(|length| Score::from(length > 20))).detail(
        "tools",
        input.invocations.iter().flat_map(InvocationData::tool_names).collect::<Vec<_>>(),
    )
}

#[evaluator]
fn borrowed(input: &EvalInput) -> EvalResult {
    judge(input)
}

#[evaluator]
#[expect(clippy::needless_pass_by_value, reason = "it is what is measured")]
fn owned(input: EvalInput) -> EvalResult {
    judge(&input)
}

/// What one would write by hand.
fn bare() -> Outcome<()> {
    let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
    let mut output = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let document: EvalInput = serde_json::from_slice(&line)?;
        serde_json::to_writer(&mut output, &judge(&document))?;
        output.write_all(b"\n")?;
        line.clear();
    }
    Ok(output.flush()?)
}

/// A conversation of two turns with tool calls, of about 5 KB.
fn document() -> Outcome<String> {
    let turn = |question: &str| {
        let paragraph =
            "The forecast for the coming days is sunny with a light breeze from the west. ";
        let mut turn =
            InvocationData::new(question, paragraph.repeat(15)).invocation_id("b7ad6b7169203331");
        for id in ["call_1", "call_2"] {
            turn = turn
                .tool_call(ToolCallData::new("get_weather").arg("city", "Paris").arg("days", 3).id(id))
                .tool_response(
                    ToolResponseData::new("get_weather", json!({"sky": "clear", "degrees": [21.5, 22.0, 19.25], "wind": {"kmh": 12, "from": "west"}}))
                        .id(id),
                );
        }
        turn.performance_metrics = json!({"latency": {"overall": {"p50": 812.5, "p95": 1033.0}}, "tokens": {"total": 1532}})
            .as_object()
            .cloned();
        turn
    };
    let input = EvalInput::new("quality")
        .config("min_length", 20)
        .invocation(turn("What is the weather in Paris?"))
        .invocation(turn("And tomorrow?"))
        .expected(InvocationData::new("What is the weather in Paris?", "It is sunny. ".repeat(30)));
    Ok(serde_json::to_string(&input)? + "\n")
}

fn role(program: &Path, role: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env("ROLE", role).args(arguments);
    command
}

/// Spawn to exit, with the document written and the answer read.
fn one_shot(mut command: Command, document: &str) -> Outcome<Duration> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // `/bin/true` does not read.
        let _ = stdin.write_all(document.as_bytes());
    }
    let mut answer = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut answer)?;
    }
    let status = child.wait()?;
    let taken = start.elapsed();
    if status.success() { Ok(taken) } else { Err(format!("{status}").into()) }
}

/// From spawn to exit, with all documents in a file.
fn stream(mut command: Command, documents: &Path) -> Outcome<Duration> {
    let start = Instant::now();
    let status = command.stdin(fs::File::open(documents)?).stdout(Stdio::null()).status()?;
    let taken = start.elapsed();
    if status.success() { Ok(taken) } else { Err(format!("{status}").into()) }
}

/// The fastest of many equal runs is the one that the rest of the machine disturbed least.
fn fastest(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Reads a document of the default contract many times, with and without telling first that it is one.
fn reading(document: &[u8]) {
    const READS: u32 = 100;
    const ROUNDS: usize = 500;
    let time = |read: &dyn Fn() -> bool| {
        let start = Instant::now();
        let read = (0..READS).filter(|_| read()).count();
        assert_eq!(read, READS as usize, "every document is a good one");
        start.elapsed()
    };
    let (mut detected, mut known) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        known.push(time(&|| black_box(EvalInput::from_json(black_box(document))).is_ok()));
        detected.push(time(&|| black_box(Document::read(black_box(document))).is_ok()));
    }
    let (detected, known) = (fastest(detected), fastest(known));
    println!(
        "reading: {} ns when the contract is detected, {} ns when it is known: {:.2} x the time (at most 1.05)",
        (detected / READS).as_nanos(),
        (known / READS).as_nanos(),
        detected.as_secs_f64() / known.as_secs_f64()
    );
}

fn measure() -> Outcome<()> {
    let program = env::current_exe()?;
    let document = document()?;
    println!("document: {} bytes", document.len());
    reading(document.as_bytes());

    const SPAWNS: usize = 500;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SPAWNS {
        theirs.push(one_shot(role(Path::new("/bin/true"), "", &[]), &document)?);
        ours.push(one_shot(role(&program, "borrowed", &[]), &document)?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "one-shot: {} us, /bin/true {} us: {:.2} x the time (at most 1.5)",
        ours.as_micros(),
        theirs.as_micros(),
        ours.as_secs_f64() / theirs.as_secs_f64()
    );

    const DOCUMENTS: usize = 20_000;
    const ROUNDS: usize = 7;
    let path = env::temp_dir().join(format!("evaluator-sdk-overhead-{}.jsonl", std::process::id()));
    fs::write(&path, document.repeat(DOCUMENTS))?;
    let (mut bare, mut borrowed, mut owned) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(stream(role(&program, "bare", &[]), &path)?);
        borrowed.push(stream(role(&program, "borrowed", &["--stream"]), &path)?);
        owned.push(stream(role(&program, "owned", &["--stream"]), &path)?);
    }
    fs::remove_file(&path)?;
    let bare = fastest(bare);
    for (name, times) in [("&EvalInput", borrowed), ("EvalInput", owned)] {
        let time = fastest(times);
        println!(
            "--stream with {name}: {:.0} documents/s, bare loop {:.0}: {:.2} x the throughput (at least 0.9)",
            DOCUMENTS as f64 / time.as_secs_f64(),
            DOCUMENTS as f64 / bare.as_secs_f64(),
            bare.as_secs_f64() / time.as_secs_f64()
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let done = match env::var("ROLE").as_deref() {
        Ok("borrowed") => return borrowed::run(),
        Ok("owned") => return owned::run(),
        Ok("bare") => bare(),
        _ => measure(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
