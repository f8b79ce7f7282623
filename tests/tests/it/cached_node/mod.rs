//! A Node.js evaluator with a compile cache behaves like one without, to the byte.

mod scripts;
mod supervision;

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    process::{Cancellation, CommandSpec, Ending, Limits, Outcome, run},
    runtime::{CachedCommand, Entrypoint, Environment, Node, Reuse, Runtime},
};
use evaluator_test_support::TestDirectory;

/// Time after which a program counts as hanging.
const BOUNDED: Duration = Duration::from_secs(60);

/// Directories of the `node` programs to try: those in `EVALUATOR_TEST_NODES`, separated by colons, or that on `PATH`.
fn nodes() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("EVALUATOR_TEST_NODES") {
        return env::split_paths(&named).collect();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).find(|directory| directory.join("node").is_file());
    if found.is_none() {
        println!("skipped: no node");
    }
    found.into_iter().collect()
}

/// A directory for one test, with a package, so that there is something to compile.
fn directory() -> TestDirectory {
    let directory = TestDirectory::new();
    directory.file("node_modules/mean/package.json", r#"{"name": "mean", "main": "mean.js"}"#);
    directory.file(
        "node_modules/mean/mean.js",
        "exports.mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;\n\
         exports.fail = function fail() { throw new TypeError('from a package'); };\n",
    );
    directory
}

/// Commands that start a file without and with the compile cache, or the reason why this Node.js has none.
fn commands(node: &Path, file: &Path) -> Result<(CommandSpec, CachedCommand), String> {
    let environment = Environment::new([("PATH", node)]);
    let is_typescript = file.extension().is_some_and(|it| it.to_string_lossy().ends_with("ts"));
    let runtime =
        if is_typescript { Node::typescript(environment) } else { Node::javascript(environment) };
    let entrypoint = Entrypoint::from(file.to_owned());
    let cancellation = Cancellation::new();
    let launch = runtime
        .prepare(std::slice::from_ref(&entrypoint), &cancellation, &mut |_| {})
        .remove(0)
        .map_err(|error| error.to_string())?;
    // The environment of the tests may set options. Node.js reads certificates in a thread, at any time.
    let command = launch.one_shot.env_remove("NODE_OPTIONS").env_remove("NODE_EXTRA_CA_CERTS");
    let command = command.env("CHOSEN", "é b");
    let cached = match launch.reuse {
        Reuse::CompiledCode(make) => make(&command)?,
        Reuse::Unavailable { reason } => return Err(reason),
        _ => return Err("there is nothing to gain".to_owned()),
    };
    Ok((command, cached))
}

async fn started(command: &CommandSpec, input: &[u8], limits: &Limits) -> Outcome {
    run(command, input, limits, &Cancellation::new()).await
}

/// All that can be seen of a process, but for its number, which Node.js puts before warnings, addresses, and the native
/// stack of an abort, whose functions it cannot always name.
fn seen(outcome: &Outcome) -> (Ending, bool, String, bool, String) {
    let text = String::from_utf8_lossy(outcome.stdout.head()).into_owned();
    let stderr = without_numbers_after("(node:", &outcome.stderr.text());
    let is_native = |line: &&str| {
        let number = line.trim_start().split_once(": 0x").map(|(number, _)| number);
        number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let stderr: String = stderr.split_inclusive('\n').filter(|line| !is_native(line)).collect();
    let stderr = without_numbers_after("0x", &stderr);
    (outcome.ending.clone(), outcome.stdout.ended(), text, outcome.stderr.ended(), stderr)
}

fn without_numbers_after(mark: &str, text: &str) -> String {
    let mut pieces = text.split(mark);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + mark + piece.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}
