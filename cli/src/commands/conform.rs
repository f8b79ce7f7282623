//! `evaluator conform`.

use std::time::Duration;

use evaluator_host::{
    hosts::conform::{Conformance, Program, Tester},
    run::{RunEvent, Runner},
    runtime::PrepareEvent,
};

use super::{print, show, watched};
use crate::{
    args::{ConformArgs, ConformOutput},
    exit, render, signals,
};

/// Sends the documents of hosts to a program, and reports what each host would record.
pub(super) fn conform(args: &ConformArgs, verbose: u8, runner: Runner) -> u8 {
    let asked: Vec<_> = args.hosts.iter().flat_map(|hosts| hosts.0.clone()).collect();
    let mut tester = Tester::default();
    if !asked.is_empty() {
        tester.releases = asked.clone();
    }
    tester.timeout = Duration::from_secs(args.timeout);
    tester.settings = args.config.clone().unwrap_or_default();
    let cancellation = &tester.cancellation;
    signals::watch(cancellation.clone());
    let tried = watched(verbose, async |on_event| {
        let mut on_event = |event| on_event(RunEvent::Prepare(event));
        let program =
            Program::prepare(&args.command, &runner.runtimes, cancellation, &mut on_event)
                .await
                .map_err(|error| error.to_string())?;
        let what = "playing documents of hosts".to_owned();
        on_event(PrepareEvent::Started { what: what.clone() });
        let conformance = tester.run(&program).await;
        on_event(PrepareEvent::Finished { what });
        conformance.map_err(|error| error.to_string())
    });
    let conformance: Conformance = match tried.map_err(|error| error.to_string()).flatten() {
        Ok(conformance) => conformance,
        Err(reason) => {
            render::message(&format!("cannot try it: {reason}"));
            return exit::ERRORED;
        }
    };
    let code = if conformance.holds_for(&asked) { exit::OK } else { exit::FAILED };
    match args.output {
        ConformOutput::Text => show(&render::conformance_text(&conformance, &asked), code),
        ConformOutput::Json => {
            print(&render::conformance_json(&args.command, &conformance, &asked), code)
        }
    }
}
