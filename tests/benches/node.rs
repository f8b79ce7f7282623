//! Cost of 200 conversations by 5 Node.js evaluators, with and without the compile cache.
//!
//! `cargo bench -p evaluator-tests --bench node`. With `EVALUATOR_BENCH_NODE=/path/to/node`, that Node.js instead of the one
//! on `PATH`; before 22.12 it keeps nothing, and the ratio is 1.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const CONVERSATIONS: usize = 200;
const EVALUATORS: usize = 5;

/// Functions in the package that the heavier evaluator brings along, some 2 MB of source, of which it calls one in ten.
const FUNCTIONS: usize = 10_000;

const SMALL: &str = "const document = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\
    console.log(JSON.stringify({ score: 1, per_invocation_scores: document.invocations.map(() => 1) }));\n";

const HEAVY: &str = "const { call } = require('heavy');\n\
    const document = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\
    console.log(JSON.stringify({ score: call(), per_invocation_scores: document.invocations.map(() => 1) }));\n";

const TYPED: &str = "import { readFileSync } from 'node:fs';\n\
    const document: { invocations: unknown[] } = JSON.parse(readFileSync(0, 'utf8'));\n\
    const scores: number[] = document.invocations.map((): number => 1);\n\
    console.log(JSON.stringify({ score: 1, per_invocation_scores: scores }));\n";

fn main() {
    // `cargo test --benches` only wants to know that this compiles.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", "evaluator-cli"])
        .current_dir(root)
        .status();
    assert!(built.unwrap().success());
    let path = search_path();
    let version = version(&path);
    println!(
        "{CONVERSATIONS} conversations, {EVALUATORS} evaluators, Node.js {version}, {} processors",
        processors()
    );
    let directory = env::temp_dir().join(format!("evaluator-bench-node-{}", std::process::id()));
    fs::create_dir_all(directory.join("packages/node_modules/heavy")).unwrap();
    fs::write(directory.join("packages/node_modules/heavy/index.js"), package()).unwrap();
    fs::write(directory.join("packages/heavy.js"), HEAVY).unwrap();
    fs::write(directory.join("small.js"), SMALL).unwrap();
    fs::write(directory.join("typed.mts"), TYPED).unwrap();
    fs::write(directory.join("traces.json"), traces()).unwrap();
    for (what, file) in [
        ("a small file", "small.js"),
        ("a package of 2 MB", "packages/heavy.js"),
        ("TypeScript", "typed.mts"),
    ] {
        if file.ends_with("ts") && !strips_types(&version) {
            println!("{what:<18} skipped: this Node.js does not strip types");
            continue;
        }
        let [process, auto] = ["process", "auto"].map(|isolation| {
            fs::write(directory.join("config.yaml"), config(file, isolation)).unwrap();
            let mut command = Command::new(root.join("target/release/evaluator"));
            command.args(["run", "traces.json", "-c", "config.yaml", "-o", "json"]);
            command.env("PATH", &path).current_dir(&directory);
            time(command.stdout(Stdio::null()).stderr(Stdio::null())).as_secs_f64()
        });
        println!(
            "{what:<18} isolation: process {process:>6.2} s, auto {auto:>6.2} s, ratio {:.2}",
            process / auto
        );
    }
    fs::remove_dir_all(&directory).unwrap();
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `PATH` with the directory of the chosen Node.js first.
fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let chosen = env::var_os("EVALUATOR_BENCH_NODE").map(PathBuf::from);
    let directory = chosen.iter().filter_map(|node| node.parent().map(Path::to_owned));
    env::join_paths(directory.chain(env::split_paths(&path))).unwrap()
}

fn version(path: &OsString) -> String {
    let mut command = Command::new("node");
    let answer = command.arg("--version").env("PATH", path).output().unwrap();
    String::from_utf8(answer.stdout).unwrap().trim().trim_start_matches('v').to_owned()
}

fn strips_types(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(22), Some(18))
}

/// The source of a package: long functions, and one that calls some of them.
fn package() -> String {
    let mut source = String::new();
    for number in 0..FUNCTIONS {
        let _ = writeln!(
            source,
            "function f{number}(a, b) {{\n  const sum = {{ a, b, name: 'f{number}' }};\n  \
             for (const [key, value] of Object.entries(sum)) if (value === {number}) return key.length + b;\n  \
             return typeof a === 'string' ? a.length : [a, b].filter(Boolean).length;\n}}"
        );
    }
    source += "const all = [";
    for number in (0..FUNCTIONS).step_by(10) {
        let _ = write!(source, "f{number},");
    }
    source += "];\nexports.call = () => all.reduce((sum, f) => sum + f(1, 2), 0) > 0 ? 1 : 0;\n";
    source
}

fn config(file: &str, isolation: &str) -> String {
    let entry = |number| {
        format!("  - {{name: check{number}, type: code, path: {file}, isolation: {isolation}}}\n")
    };
    format!("evaluators:\n{}", (0..EVALUATORS).map(entry).collect::<String>())
}

/// OTLP JSON with one turn in each conversation.
fn traces() -> String {
    let span = |number: usize| {
        format!(
            r#"{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"invoke_agent helper","kind":1,"startTimeUnixNano":"1000000000","endTimeUnixNano":"2000000000","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"invoke_agent"}}}},{{"key":"gen_ai.agent.name","value":{{"stringValue":"helper"}}}},{{"key":"gen_ai.input.messages","value":{{"stringValue":"[{{\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"content\":\"hi\"}}]}}]"}}}},{{"key":"gen_ai.output.messages","value":{{"stringValue":"[{{\"role\":\"assistant\",\"parts\":[{{\"type\":\"text\",\"content\":\"yes\"}}]}}]"}}}}]}}"#
        )
    };
    let spans: Vec<String> = (1..=CONVERSATIONS).map(span).collect();
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap();
    assert!(status.success(), "{status}: every evaluation was to pass");
    start.elapsed()
}
