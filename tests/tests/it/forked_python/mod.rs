//! A forked Python evaluator behaves like one that is started, to the byte.

mod evaluators;
mod scripts;
mod supervision;

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    process::{
        Cancellation, CommandSpec, Ending, Limits, Outcome,
        forks::{ForkError, ForkServer},
        run,
    },
    runtime::{Entrypoint, Reuse, Runtimes},
};
use evaluator_test_support::TestDirectory;

/// Time after which a program counts as hanging.
const BOUNDED: Duration = Duration::from_secs(60);

/// The interpreters to try: those in `EVALUATOR_TEST_PYTHONS`, separated by colons, or `python3`.
async fn interpreters() -> Vec<PathBuf> {
    let named = env::var_os("EVALUATOR_TEST_PYTHONS").unwrap_or_else(|| "python3".into());
    let mut found = Vec::new();
    for name in env::split_paths(&named) {
        // The program on PATH may be a script that starts the interpreter.
        let ask = CommandSpec::new(&name).args(["-c", "import sys; print(sys.executable)"]);
        let outcome = run(&ask, b"", &Limits::with_timeout(BOUNDED), &Cancellation::new()).await;
        if outcome.ending == Ending::Exited(0) {
            found.push(String::from_utf8_lossy(outcome.stdout.head()).trim_end().into());
        } else {
            println!("skipped: {} is no interpreter that runs", name.display());
        }
    }
    if found.is_empty() {
        println!("skipped: no python3");
    }
    found
}

/// A server for the command.
async fn server(command: &CommandSpec) -> Result<ForkServer, ForkError> {
    let directory = TestDirectory::new();
    let entrypoint = Entrypoint::from(directory.file("a.py", ""));
    let mut launches =
        Runtimes::default().prepare_all(&[entrypoint], &Cancellation::new(), &mut |_| {});
    let Reuse::Fork(make) = launches.remove(0).unwrap().reuse else { panic!("Python forks") };
    let server =
        make(command).map_err(|reason| panic!("no command for a server: {reason}")).unwrap();
    ForkServer::start(server, BOUNDED, &Cancellation::new()).await
}

async fn forked(server: &ForkServer, input: &[u8], limits: &Limits) -> Outcome {
    server.run(input, &[], limits, &Cancellation::new()).await.unwrap()
}

async fn started(command: &CommandSpec, input: &[u8], limits: &Limits) -> Outcome {
    run(command, input, limits, &Cancellation::new()).await
}

/// All that can be seen of a process.
fn seen(outcome: &Outcome) -> (Ending, bool, String, bool, String) {
    let text = String::from_utf8_lossy(outcome.stdout.head()).into_owned();
    (
        outcome.ending.clone(),
        outcome.stdout.ended(),
        text,
        outcome.stderr.ended(),
        outcome.stderr.text(),
    )
}
