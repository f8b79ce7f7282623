//! Metrics of other libraries: a computed one, and judges that a cassette answers. Their packages are installed once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use evaluator_tests::bench::{build, recording, scores};
use serde_json::json;

use crate::{
    bench::Bench,
    judges::{asking, serve},
    table::{Aim, Table},
};

/// Conversations.
const NUMBER: usize = 1_000;

/// Seconds for all conversations, by a computed metric and by a judge.
const COMPUTED: f64 = 20.0;
const REPLAYED: f64 = 10.0;

const MODELS: &str = "models: {gpt-4o-mini: openai/gpt-4o-mini}";

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let traces = bench.directory.file("libraries.json");
    recording::write_offers(&traces, NUMBER);
    let work = format!("{NUMBER} conversations, a metric of DeepEval");
    if is_installed(bench, "deepeval") {
        let keys = "metric: 'deepeval.metrics:ToolPermissionMetric', args: {denied_tools: [pay]}";
        let config = config(bench, "computed", "", keys);
        let usage = bench.measure_warm("library.json", 3, &command(bench, &traces, &config));
        let theirs = own_runner("deepeval").map(|runner| bench.measure_warm("own.txt", 3, &runner));
        table.add(&work, theirs, Aim { wall: Some(COMPUTED), peak: None }, usage);
    } else {
        table.add_text([&work, "-", "", "no packages", "", ""]);
    }
    judge(
        bench,
        table,
        &traces,
        "autoevals",
        "metric: 'autoevals:Security', args: {model: gpt-4o-mini}",
    );
    let keys = "metric: 'openevals:create_llm_as_judge', \
                args: {prompt: 'Is {outputs} good?', model: 'openai:gpt-4o-mini'}";
    judge(bench, table, &traces, "openevals", keys);
    let keys = "metric: 'deepeval.metrics:GEval', args: {name: Good, criteria: 'Is it good?', \
                evaluation_params: [input, actual_output], model: gpt-4o-mini}";
    judge(bench, table, &traces, "deepeval", keys);
}

/// Measures a judge of a library, whose calls a cassette answers.
fn judge(bench: &Bench, table: &mut Table, traces: &Path, library: &str, keys: &str) {
    let work = format!("{NUMBER} conversations, a judge of {library} from a cassette");
    if !is_installed(bench, library) {
        table.add_text([&work, "-", "", "no packages", "", ""]);
        return;
    }
    let cassette = bench.directory.file(&format!("{library}.cassette.jsonl"));
    let config = |mode: &str| {
        let head = format!("judge: {{cassette: {cassette:?}, mode: {mode}}}\n");
        config(bench, &format!("{library}-{mode}"), &head, &format!("{keys}, {MODELS}"))
    };
    let server = serve(Duration::ZERO, &message(library)).unwrap();
    let record = asking(&server, command(bench, traces, &config("record")));
    let (recorded, replayed) = (format!("{library}-recorded.json"), format!("{library}.json"));
    let _ = bench.measure(&recorded, 1, &record);
    let replies = fs::read_to_string(&cassette).unwrap_or_default().lines().count();
    assert!(replies >= NUMBER, "{} has {replies} replies", cassette.display());
    let usage = bench.measure_warm(&replayed, 3, &command(bench, traces, &config("replay")));
    table.add(&work, None, Aim { wall: Some(REPLAYED), peak: None }, usage);
    let [recorded, replayed] = [recorded, replayed].map(|name| bench.directory.file(&name));
    scores::assert_same(&recorded, &replayed);
}

/// Returns the reply to all questions of a library.
fn message(library: &str) -> serde_json::Value {
    let content = match library {
        "autoevals" => {
            let arguments = json!({"choice": "No", "reasons": ["It is."]}).to_string();
            let function = json!({"name": "select_choice", "arguments": arguments});
            let call = json!({"id": "1", "type": "function", "function": function});
            return json!({"role": "assistant", "content": null, "tool_calls": [call]});
        }
        "openevals" => json!({"reasoning": "It is.", "score": true}),
        _ => json!({"steps": ["Read it."], "score": 8, "reason": "It is."}),
    };
    json!({"role": "assistant", "content": content.to_string()})
}

/// Returns the command that measures as many conversations with a metric of a library in one process of its own.
fn own_runner(library: &str) -> Option<Command> {
    let environments = fs::read_dir(cache().join("venvs")).ok()?.flatten();
    let has = |lib: PathBuf| {
        let mut versions = fs::read_dir(lib).ok()?.flatten();
        versions.any(|it| it.path().join("site-packages").join(library).is_dir()).then_some(())
    };
    let found = environments.map(|it| it.path()).find(|path| has(path.join("lib")).is_some())?;
    let mut command = Command::new(found.join("bin/python"));
    let number = NUMBER.to_string();
    command.arg(build::root().join("tests/metrics/own_runner.py")).arg(number);
    command.env("DEEPEVAL_TELEMETRY_OPT_OUT", "1").env("DEEPEVAL_DISABLE_DOTENV", "1");
    Some(command)
}

/// Returns the command with the environments of these measurements, and no key.
fn command(bench: &Bench, traces: &Path, config: &Path) -> Command {
    let mut command = bench.evaluator(&[traces, Path::new("-c"), config]);
    command.env("EVALUATOR_CACHE_DIR", cache()).env_remove("OPENAI_API_KEY");
    command
}

fn cache() -> PathBuf {
    build::target().join("metrics")
}

/// Installs a library, if it is not there; false if it cannot be had.
fn is_installed(bench: &Bench, library: &str) -> bool {
    let mut command = bench.saved(["list", "--library", library]);
    command.env("EVALUATOR_CACHE_DIR", cache()).stdout(Stdio::null());
    command.status().unwrap().success()
}

fn config(bench: &Bench, name: &str, head: &str, keys: &str) -> PathBuf {
    let entry = format!("evaluators:\n  - {{name: metric, type: metric, timeout: 120, {keys}}}\n");
    bench.directory.write(&format!("library-{name}.yaml"), &format!("{head}{entry}"))
}
