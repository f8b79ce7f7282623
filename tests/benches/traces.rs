//! How long it takes to evaluate many recorded conversations, and how much memory.
//!
//! `cargo bench -p evaluator-tests --bench traces`. Writes an OTLP file of some 150 MB with 1,000 conversations, evaluates it
//! with a built-in metric, and compares with the least that reading such a file can take. Then the same with 1,000, 10,000 and
//! 100,000 small conversations: time and memory that each takes must not grow with their number. agentevals, which is installed for
//! that (`AGENTEVALS` names another), evaluates the same file in the same run, and the scores are compared.
//!
//! `BENCH_TRACES` is another number of conversations; `BENCH_FOLDER` is a directory in which the files are left.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{fs, hint::black_box, io::Read as _, path::Path, process::Command};

use evaluator_tests::bench::{
    build,
    directory::BenchDirectory,
    is_wanted,
    measure::{self, Usage, measure},
    peers, recording, scores,
};

const METRIC: &str = "tool_trajectory_avg_score";
const RUNS: usize = 5;
/// Modes in which this benchmark starts itself to measure reading alone.
const READ: &str = "--read";
const SKIP: &str = "--skip";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some(READ) => return read(Path::new(&arguments[2])),
        Some(SKIP) => return skip(Path::new(&arguments[2])),
        _ if measure::is_measuring() || !is_wanted() => return,
        _ => {}
    }
    let directory = BenchDirectory::new();
    let (traces, set) = (directory.file("traces.json"), directory.file("eval_set.json"));
    let number = std::env::var("BENCH_TRACES").map_or(1000, |number| number.parse().unwrap());
    recording::write_traces(&traces, number);
    recording::write_eval_set(&set);
    let evaluator = build::evaluator();
    let size = fs::metadata(&traces).unwrap().len() as f64 / 1e6;
    println!("{number} conversations in one file of {size:.0} MB; median of {RUNS} runs\n");
    println!(
        "{:<44} {:>8} {:>8} {:>8} {:>9} {:>10}",
        "what", "wall", "user", "system", "peak", "MB a second"
    );
    let row = |what: &str, usage: Usage| {
        println!(
            "{what:<44} {:>6.2} s {:>6.2} s {:>6.2} s {:>6.0} MB {:>10.0}",
            usage.wall,
            usage.user,
            usage.system,
            usage.peak,
            size / usage.wall
        );
        usage
    };
    let own = std::env::current_exe().unwrap();
    let nothing = directory.file("nothing");
    let mut reading = Command::new(&own);
    reading.arg(READ).arg(&traces);
    row("read, check UTF-8, look for `\"` and `\\`", measure(RUNS, &nothing, &reading));
    let mut skipping = Command::new(&own);
    skipping.arg(SKIP).arg(&traces);
    row("serde_json, everything ignored", measure(RUNS, &nothing, &skipping));
    let (ours, theirs) = (directory.file("ours.json"), directory.file("theirs.json"));
    let us = row("evaluator run", measure(RUNS, &ours, &run(&evaluator, &traces, &set)));
    many(&directory, &evaluator);
    let Some(agentevals) = peers::agentevals() else { return };
    let them = row("agentevals run", measure(1, &theirs, &run(&agentevals, &traces, &set)));
    println!(
        "\nagentevals takes {:.0} times as long and {:.1} times as much memory",
        them.wall / us.wall,
        them.peak / us.peak
    );
    scores::assert_same(&ours, &theirs);
    println!("all {number} scores are the same");
}

/// A command that evaluates a file.
fn run(program: &Path, traces: &Path, set: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("run").arg(traces).arg("--eval-set").arg(set).args(["-m", METRIC, "-o", "json"]);
    command
}

/// Files with more and more small conversations.
fn many(directory: &BenchDirectory, evaluator: &Path) {
    let (traces, nothing) = (directory.file("small.jsonl"), directory.file("nothing"));
    let command = run(evaluator, &traces, &directory.file("eval_set.json"));
    println!(
        "\n{:<44} {:>8} {:>15} {:>9}",
        "evaluator run, small conversations", "wall", "wall for each", "peak"
    );
    for number in [1_000, 10_000, 100_000] {
        recording::write_small_traces(&traces, number);
        let Usage { wall, peak, .. } = measure(RUNS, &nothing, &command);
        let each = wall / number as f64 * 1e6;
        println!("{number:<44} {wall:>6.2} s {each:>12.1} us {peak:>6.0} MB");
    }
    println!();
}

/// The least that can be done with a file: its bytes are read in pieces, checked, and looked at once.
fn read(path: &Path) {
    let mut file = fs::File::open(path).unwrap();
    let mut buffer = vec![0; 1 << 18];
    let (mut kept, mut found) = (0, 0);
    loop {
        let count = file.read(&mut buffer[kept..]).unwrap();
        if count == 0 {
            break;
        }
        let filled = &buffer[..kept + count];
        let valid = match str::from_utf8(filled) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        found += memchr::memchr2_iter(b'"', b'\\', &filled[..valid]).count();
        let end = kept + count;
        buffer.copy_within(valid..end, 0);
        kept = end - valid;
    }
    black_box(found);
}

/// Time of a fast parser that keeps nothing.
fn skip(path: &Path) {
    let text = fs::read(path).unwrap();
    black_box(serde_json::from_slice::<serde::de::IgnoredAny>(&text).unwrap());
}
