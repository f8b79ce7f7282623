//! How long it takes to evaluate many recorded conversations, and how much memory.
//!
//! `cargo bench -p evaluator-tests --bench traces`. Writes an OTLP file of some 150 MB with 1,000 conversations, evaluates it
//! with a built-in metric, and compares with the least that reading such a file can take. Then the same with 1,000, 10,000 and
//! 100,000 small conversations: time and memory that each takes must not grow with their number. Where there is an `agentevals`
//! (on `PATH`, or named by `AGENTEVALS`), it evaluates the same file in the same run, and the scores are compared:
//!
//! ```sh
//! python3 -m venv /tmp/agentevals && /tmp/agentevals/bin/pip install agentevals-cli
//! AGENTEVALS=/tmp/agentevals/bin/agentevals cargo bench -p evaluator-tests --bench traces
//! ```
//!
//! `BENCH_TRACES` is another number of conversations; `BENCH_FOLDER` is a folder in which the files are left.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

mod measure;
mod recording;

use std::{
    collections::BTreeMap,
    fs,
    hint::black_box,
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use measure::{Usage, measure};
use serde_json::Value;

const METRIC: &str = "tool_trajectory_avg_score";
const RUNS: usize = 5;
/// Modes in which this benchmark starts itself to learn what reading alone costs.
const READ: &str = "--read";
const SKIP: &str = "--skip";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some(READ) => return read(Path::new(&arguments[2])),
        Some(SKIP) => return skip(Path::new(&arguments[2])),
        _ if measure::is_measuring() => return,
        // `cargo test --benches` only wants to know that this compiles.
        _ if !arguments.iter().any(|argument| argument == "--bench") => return,
        _ => {}
    }
    let folder = Folder::new();
    let (traces, set) = (folder.path.join("traces.json"), folder.path.join("eval_set.json"));
    let number = std::env::var("BENCH_TRACES").map_or(1000, |number| number.parse().unwrap());
    recording::write_traces(&traces, number);
    recording::write_eval_set(&set);
    let evaluator = build();
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
    let (own, path) = (std::env::current_exe().unwrap(), traces.to_str().unwrap());
    let nothing = folder.path.join("nothing");
    row("read, check UTF-8, look for `\"` and `\\`", measure(RUNS, &nothing, &own, &[READ, path]));
    row("serde_json, everything ignored", measure(RUNS, &nothing, &own, &[SKIP, path]));
    let arguments = ["run", path, "--eval-set", set.to_str().unwrap(), "-m", METRIC, "-o", "json"];
    let (ours, theirs) = (folder.path.join("ours.json"), folder.path.join("theirs.json"));
    let us = row("evaluator run", measure(RUNS, &ours, &evaluator, &arguments));
    many(&folder, &evaluator);
    let Some(agentevals) = agentevals() else {
        println!("\nno agentevals to compare with; see the head of this benchmark's source");
        return;
    };
    let them = row("agentevals run", measure(1, &theirs, &agentevals, &arguments));
    println!(
        "\nagentevals takes {:.0} times as long and {:.1} times as much memory",
        them.wall / us.wall,
        them.peak / us.peak
    );
    let (ours, theirs) = (scores(&ours), scores(&theirs));
    assert_eq!(ours.len(), number, "every conversation is in the report");
    let different = ours.iter().filter(|(trace, score)| theirs.get(*trace) != Some(score)).count();
    println!("{different} of {number} scores differ");
}

/// Files with more and more small conversations.
fn many(folder: &Folder, evaluator: &Path) {
    let (traces, nothing) = (folder.path.join("small.jsonl"), folder.path.join("nothing"));
    let set = folder.path.join("eval_set.json");
    println!(
        "\n{:<44} {:>8} {:>15} {:>9}",
        "evaluator run, small conversations", "wall", "wall for each", "peak"
    );
    for number in [1_000, 10_000, 100_000] {
        recording::write_small_traces(&traces, number);
        let (path, set) = (traces.to_str().unwrap(), set.to_str().unwrap());
        let arguments = ["run", path, "--eval-set", set, "-m", METRIC, "-o", "json"];
        let Usage { wall, peak, .. } = measure(RUNS, &nothing, evaluator, &arguments);
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

/// What a fast parser needs that keeps nothing.
fn skip(path: &Path) {
    let text = fs::read(path).unwrap();
    black_box(serde_json::from_slice::<serde::de::IgnoredAny>(&text).unwrap());
}

/// The program as people would have it.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "-p", "evaluator-cli"]).current_dir(root);
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    root.join("target/release/evaluator")
}

fn agentevals() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("AGENTEVALS") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("agentevals")).find(|file| file.is_file())
}

/// The score of each conversation.
fn scores(report: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(report).unwrap();
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let traces = report["traces"].as_array().unwrap();
    traces
        .iter()
        .map(|trace| {
            let metric = &trace["metrics"][0];
            let score =
                [&metric["score"], &metric["eval_status"], &metric["per_invocation_scores"]];
            (trace["trace_id"].as_str().unwrap().to_owned(), format!("{score:?}"))
        })
        .collect()
}

/// A folder that goes away, unless somebody wants to have it.
struct Folder {
    path: PathBuf,
    stays: bool,
}

impl Folder {
    fn new() -> Self {
        let wanted = std::env::var_os("BENCH_FOLDER").map(PathBuf::from);
        let stays = wanted.is_some();
        let own = || std::env::temp_dir().join(format!("evaluator-traces-{}", std::process::id()));
        let path = wanted.unwrap_or_else(own);
        fs::create_dir_all(&path).unwrap();
        Self { path, stays }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
