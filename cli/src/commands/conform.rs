//! `evaluator conform`.

use std::time::Duration;

use evaluator_host::{
    hosts::conform::{Conformance, Program, Tester},
    run::Runner,
    runtime::PrepareEvent,
};

use super::{broken, preparing, print, sandbox, show};
use crate::{
    args::{ConformArgs, TextOrJson},
    exit, render, signals,
};

/// Sends the documents of hosts to a program, and reports what each host would record.
pub(super) fn conform(args: &ConformArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    if let Some(option) = args.option_of_program() {
        render::warning(&format!(
            "`{option}` after the program goes to the program; for `conform`, write it before: `evaluator conform {option} .. \
             PROGRAM ..`; if the program is meant, write `evaluator conform -- PROGRAM ..`"
        ));
    }
    let asked: Vec<_> = args.hosts.iter().flat_map(|hosts| hosts.0.clone()).collect();
    let mut tester = Tester::default();
    if !asked.is_empty() {
        tester.releases = asked.clone();
    }
    tester.timeout = Duration::from_secs(args.timeout);
    tester.settings = args.config.clone().unwrap_or_default();
    let executor = args.contain.then(|| sandbox(&runner)).transpose()?;
    let programs = (&runner.registries.runtimes, executor.as_deref());
    let cancellation = &tester.cancellation;
    signals::watch(cancellation.clone());
    let tested = preparing(verbose, async |on_event| {
        let program = Program::prepare(&args.command, programs, cancellation, on_event)
            .await
            .map_err(|error| error.to_string())?;
        let what = "testing the documents of hosts".to_owned();
        on_event(PrepareEvent::Started { what: what.clone() });
        let conformance = tester.run(&program).await;
        on_event(PrepareEvent::Finished { what });
        conformance.map_err(|error| error.to_string())
    })?;
    let conformance: Conformance =
        tested.map_err(|reason| broken(format!("cannot test the program: {reason}")))?;
    let code = if conformance.holds_for(&asked) { exit::OK } else { exit::FAILED };
    Ok(match args.output {
        TextOrJson::Text => show(&render::conformance_text(&conformance, &asked), code),
        TextOrJson::Json => {
            print(&render::conformance_json(&args.command, &conformance, &asked), code)
        }
    })
}
