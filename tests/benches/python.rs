//! What 200 conversations by 5 Python evaluators cost, forked and started.
//!
//! `cargo bench -p evaluator-tests --bench python`. With `EVALUATOR_SDK_PYTHON=/path/to/python`, an interpreter that has
//! `agentevals-evaluator-sdk` installed, the evaluators use the SDK; without it they read the document themselves.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const CONVERSATIONS: usize = 200;
const EVALUATORS: usize = 5;

const WITH_SDK: &str = "from agentevals_evaluator_sdk import EvalInput, EvalResult, evaluator\n\
    @evaluator\ndef check(input: EvalInput) -> EvalResult:\n    \
    return EvalResult(score=1.0, per_invocation_scores=[1.0 for _ in input.invocations])\n\
    if __name__ == '__main__':\n    check.run()\n";

const WITHOUT: &str = "import json, sys\ndocument = json.load(sys.stdin)\n\
    print(json.dumps({'score': 1.0, 'per_invocation_scores': [1.0 for _ in document['invocations']]}))\n";

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
    let folder = env::temp_dir().join(format!("evaluator-bench-python-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let interpreter = env::var_os("EVALUATOR_SDK_PYTHON").map(PathBuf::from);
    let what = if interpreter.is_some() { "with the SDK" } else { "without the SDK" };
    println!(
        "{CONVERSATIONS} conversations, {EVALUATORS} evaluators {what}, {} processors",
        processors()
    );
    fs::write(folder.join("check.py"), if interpreter.is_some() { WITH_SDK } else { WITHOUT })
        .unwrap();
    fs::write(folder.join("traces.json"), traces()).unwrap();
    let mut seconds = [0.0, 0.0];
    for (place, isolation) in ["process", "auto"].into_iter().enumerate() {
        fs::write(folder.join("config.yaml"), config(isolation)).unwrap();
        let mut command = Command::new(root.join("target/release/evaluator"));
        command.args(["run", "traces.json", "-c", "config.yaml", "-o", "json"]);
        command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(interpreter) = &interpreter {
            command.env("EVALUATOR_PYTHON", interpreter);
        }
        let took = time(&mut command);
        seconds[place] = took.as_secs_f64();
        println!("isolation: {isolation:<8} {:>7.2} s", seconds[place]);
    }
    println!(
        "started / forked: {:.1} (6 s to reach with the SDK on 2 processors)",
        seconds[0] / seconds[1]
    );
    fs::remove_dir_all(&folder).unwrap();
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn config(isolation: &str) -> String {
    let entry = |number| {
        format!("  - {{name: check{number}, type: code, path: check.py, isolation: {isolation}}}\n")
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
    let begun = Instant::now();
    let status = command.status().unwrap();
    assert!(status.success(), "{status}: every evaluation was to pass");
    begun.elapsed()
}
