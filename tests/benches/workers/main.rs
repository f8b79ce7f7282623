//! What evaluations cost when evaluators are programs: in time, in work of processors, in memory.
//!
//! `cargo bench -p evaluator-tests --bench workers`. Builds the examples and records its own conversations, of some 5 KB as
//! evaluators see them. `BENCH_TRACES` is another number of conversations to end with than 100,000 (a file of 600 MB).

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

#[path = "../traces/measure.rs"]
mod measure;
mod recording;
mod saturation;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use measure::{Usage, measure};

const RUNS: usize = 5;

/// Evaluators of `examples/` that need no settings; each entry has workers of its own, even for the same program.
const EVALUATORS: [&str; 2] = ["response_quality", "response_quality"];

fn main() {
    if measure::is_measuring() {
        return;
    }
    // `cargo test --benches` only wants to know that this compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = Folder::new();
    let evaluator = build();
    many_evaluators(&folder.0, &evaluator);
    saturation::measure(&root().join("target/release/answer_length"));
    many_traces(&folder.0, &evaluator);
}

/// 200 conversations, 5 evaluators.
fn many_evaluators(folder: &Path, evaluator: &Path) {
    let traces = folder.join("traces.json");
    recording::write_traces(&traces, 200);
    println!("200 conversations, 5 evaluators; median of {RUNS} runs\n");
    header();
    let run = |what: &str, isolation: &str| {
        let config = folder.join("five.yaml");
        fs::write(&config, configuration(&[0, 1, 0, 1, 0], isolation)).unwrap();
        row(what, evaluate(RUNS, folder, evaluator, &traces, &config))
    };
    let apart = run("a process for each evaluation", "process");
    let warm = run("warm workers", "auto");
    println!("\na process each takes {:.1} times as long\n", apart.wall / warm.wall);
}

/// More and more conversations, 2 evaluators.
fn many_traces(folder: &Path, evaluator: &Path) {
    let last = std::env::var("BENCH_TRACES").map_or(100_000, |number| number.parse().unwrap());
    println!("2 evaluators, more and more conversations\n");
    header();
    let config = folder.join("two.yaml");
    fs::write(&config, configuration(&[0, 1], "auto")).unwrap();
    let mut rows = Vec::new();
    for number in [1_000, 10_000, last] {
        let traces = folder.join("many.json");
        recording::write_traces(&traces, number);
        let runs = if number > 10_000 { 1 } else { RUNS };
        let usage = evaluate(runs, folder, evaluator, &traces, &config);
        row(&format!("{number} conversations"), usage);
        rows.push((number, usage));
    }
    println!();
    let per_trace =
        |(number, usage): (usize, Usage)| (usage.user + usage.system) * 1e6 / number as f64;
    for &(number, usage) in &rows {
        println!(
            "{number:>7} conversations: {:>5.1} us of wall time and {:>5.1} us of processors each",
            usage.wall * 1e6 / number as f64,
            per_trace((number, usage))
        );
    }
}

fn header() {
    println!("{:<34} {:>8} {:>8} {:>8} {:>9}", "what", "wall", "user", "system", "peak");
}

fn row(what: &str, usage: Usage) -> Usage {
    println!(
        "{what:<34} {:>6.2} s {:>6.2} s {:>6.2} s {:>6.0} MB",
        usage.wall, usage.user, usage.system, usage.peak
    );
    usage
}

fn evaluate(runs: usize, folder: &Path, evaluator: &Path, traces: &Path, config: &Path) -> Usage {
    let report = folder.join("report.json");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (evaluator, traces, config) = (text(evaluator), text(traces), text(config));
    let profile = format!("{PROFILE}=release");
    let arguments = [&*profile, &evaluator, "run", &traces, "-c", &config, "-o", "json"];
    // The first builds what is to be measured.
    let built = Command::new("env").args(arguments).output().unwrap();
    assert!(built.status.code().is_some_and(|code| code <= 1), "{:?}", built.status);
    measure(runs, &report, Path::new("env"), &arguments)
}

/// The variable that chooses how evaluators are built.
const PROFILE: &str = "EVALUATOR_CARGO_PROFILE";

/// A configuration with these evaluators, each under a name of its own.
fn configuration(evaluators: &[usize], isolation: &str) -> String {
    let entries = evaluators.iter().enumerate().map(|(number, evaluator)| {
        let path = root().join(format!("examples/evaluators/{}.rs", EVALUATORS[*evaluator]));
        format!(
            "  - {{name: check_{number}, type: code, path: {:?}, isolation: {isolation}, config: {{}}}}\n",
            path.display().to_string()
        )
    });
    format!("evaluators:\n{}", entries.collect::<String>())
}

/// The programs as people would have them.
fn build() -> PathBuf {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "-p",
        "evaluator-cli",
        "-p",
        "evaluator-examples",
    ]);
    assert!(cargo.current_dir(root()).status().unwrap().success(), "{cargo:?}");
    root().join("target/release/evaluator")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("evaluator-workers-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
