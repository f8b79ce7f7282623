//! `evaluator test`.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use evaluator_host::{
    run::Runner,
    runtime::{
        Entrypoint, PrepareError,
        own_tests::{Stream, TestResult},
    },
};
use evaluator_publish::own_tests::targets;

use super::{preparing, sandbox, unusable};
use crate::{
    args::TestArgs,
    exit,
    render::{self, counted},
    signals,
};

/// Runs the tests of evaluators.
pub(super) fn test(args: &TestArgs, verbose: u8, runner: &Runner) -> Result<u8, u8> {
    if args.contain {
        sandbox(runner)?;
    }
    let found = targets(&args.path, &runner.registries.runtimes).map_err(unusable)?;
    for path in &found.passed_over {
        render::warning(&format!("ignored {}: it has no tests", path.display()));
    }
    signals::watch(runner.cancellation.clone());
    let codes: Vec<u8> = found
        .evaluators
        .iter()
        .map(|evaluator| {
            let (text, code) = test_one(evaluator, args, verbose, runner)?;
            let text = format!("{}: {text}", evaluator.display());
            if code == exit::OK {
                render::note(&text)
            } else {
                render::message(&text)
            }
            Ok(code)
        })
        .collect::<Result<_, u8>>()?;
    // From the worst outcome to the least.
    let order = [exit::ERRORED, exit::USAGE, exit::FAILED];
    Ok(order.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::OK))
}

/// Tests an evaluator. Returns the result as a sentence, and its exit code.
fn test_one(
    evaluator: &Path,
    args: &TestArgs,
    verbose: u8,
    runner: &Runner,
) -> Result<(String, u8), u8> {
    let (runtimes, cancellation) = (&runner.registries.runtimes, &runner.cancellation);
    let contained = args.contain.then(Arc::default);
    let entrypoint = Entrypoint { contained, ..Entrypoint::from(evaluator.to_owned()) };
    let prepared = preparing(verbose, async |on_event| {
        let runtime = runtimes.for_path(&entrypoint.path)?;
        runtime.own_tests(&entrypoint, &args.args, cancellation, on_event)
    })?;
    let tests = match prepared {
        Ok(tests) => tests,
        Err(error @ (PrepareError::NoTests { .. } | PrepareError::NotFound { .. })) => {
            return Ok((error.to_string(), exit::USAGE));
        }
        Err(PrepareError::BuildFailed { summary, rendered }) => {
            return Ok((format!("{summary}\n{rendered}"), exit::ERRORED));
        }
        Err(error) => return Ok((error.to_string(), exit::ERRORED)),
    };
    let count = |ran: usize| counted(ran as u64, "test");
    // Continues if the reader of the output went away.
    let result = tests.run(cancellation, &mut |stream, line| {
        let _ = match stream {
            Stream::Stdout => writeln!(io::stdout(), "{line}"),
            Stream::Stderr => writeln!(io::stderr(), "{line}"),
        };
    });
    Ok(match result {
        TestResult::Passed { ran } => (format!("{} passed", count(ran)), exit::OK),
        TestResult::Failed { ran } => (format!("FAILED, {} ran", count(ran)), exit::FAILED),
        TestResult::NoneRan => (format!("no test ran: {}", tests.hint), exit::USAGE),
        TestResult::Broke { reason } => {
            (format!("its tests could not be run: {reason}"), exit::ERRORED)
        }
    })
}
