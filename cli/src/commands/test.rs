//! `evaluator test`.

use std::{
    io::{self, Write},
    path::Path,
};

use evaluator_host::{
    own_tests::targets,
    process::Cancellation,
    run::{RunEvent, Runner},
    runtime::{
        Entrypoint, PrepareError, Runtimes,
        own_tests::{OwnTests, Stream, TestResult},
    },
};

use super::watched;
use crate::{args::TestArgs, exit, render, signals};

/// Runs the tests that evaluators bring.
pub(super) fn test(args: &TestArgs, verbose: u8, runner: &Runner) -> u8 {
    let found = match targets(&args.path, &runner.runtimes) {
        Ok(found) => found,
        Err(reason) => {
            render::message(&reason);
            return exit::USAGE;
        }
    };
    for path in &found.passed_over {
        render::warning(&format!("passed over {}: nothing tests it", path.display()));
    }
    signals::watch(runner.cancellation.clone());
    let codes: Vec<u8> = found
        .evaluators
        .iter()
        .map(|evaluator| {
            let (text, code) = test_one(evaluator, args, verbose, runner);
            let said = format!("{}: {text}", evaluator.display());
            if code == exit::OK {
                render::note(&said)
            } else {
                render::message(&said)
            }
            code
        })
        .collect();
    // What broke counts more than what is missing, and that more than what failed.
    let order = [exit::ERRORED, exit::USAGE, exit::FAILED];
    order.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::OK)
}

/// Tests an evaluator. Returns the result as a sentence, and its exit code.
fn test_one(evaluator: &Path, args: &TestArgs, verbose: u8, runner: &Runner) -> (String, u8) {
    let tests = match prepare(evaluator, args, verbose, runner) {
        Ok(tests) => tests,
        Err(error @ (PrepareError::NoTests { .. } | PrepareError::NotFound { .. })) => {
            return (error.to_string(), exit::USAGE);
        }
        Err(PrepareError::BuildFailed { summary, rendered }) => {
            return (format!("{summary}\n{rendered}"), exit::ERRORED);
        }
        Err(error) => return (error.to_string(), exit::ERRORED),
    };
    let count = |ran: usize| if ran == 1 { "1 test".to_owned() } else { format!("{ran} tests") };
    match run(&tests, &runner.cancellation) {
        TestResult::Passed { ran } => (format!("{} passed", count(ran)), exit::OK),
        TestResult::Failed { ran } => (format!("FAILED, {} ran", count(ran)), exit::FAILED),
        TestResult::NoneRan => (format!("no test ran: {}", tests.hint), exit::USAGE),
        TestResult::Broke { reason } => {
            (format!("its tests could not be run: {reason}"), exit::ERRORED)
        }
    }
}

/// Installs or generates what the tests need.
fn prepare(
    evaluator: &Path,
    args: &TestArgs,
    verbose: u8,
    runner: &Runner,
) -> Result<OwnTests, PrepareError> {
    let entrypoint = Entrypoint::from(evaluator.to_owned());
    let prepared = watched(verbose, async |on_event| {
        let mut on_event = |event| on_event(RunEvent::Prepare(event));
        let Runner { runtimes, cancellation, .. } = runner;
        ready(&entrypoint, args, runtimes, cancellation, &mut on_event)
    });
    prepared.unwrap_or_else(|error| {
        Err(PrepareError::Unusable { reason: format!("cannot start: {error}") })
    })
}

fn ready(
    entrypoint: &Entrypoint,
    args: &TestArgs,
    runtimes: &Runtimes,
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(evaluator_host::runtime::PrepareEvent),
) -> Result<OwnTests, PrepareError> {
    let runtime = runtimes.for_path(&entrypoint.path)?;
    runtime.own_tests(entrypoint, &args.args, cancellation, on_event)
}

/// Passes on what the test runner prints. A reader that went away is no reason to stop.
fn run(tests: &OwnTests, cancellation: &Cancellation) -> TestResult {
    tests.run(cancellation, &mut |stream, line| {
        let _ = match stream {
            Stream::Stdout => writeln!(io::stdout(), "{line}"),
            Stream::Stderr => writeln!(io::stderr(), "{line}"),
        };
    })
}
