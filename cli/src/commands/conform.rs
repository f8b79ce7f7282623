//! `evaluator conform`.

use std::time::Duration;

use evaluator_host::{
    conform::{Conformance, Host, Kit, Program},
    run::{RunEvent, Runner},
    runtime::PrepareEvent,
};

use super::{print, show, watched};
use crate::{
    args::{ConformArgs, ConformOutput},
    exit, render, signals,
};

/// Plays the documents of hosts at a program, and says what each would record.
pub(super) fn conform(args: &ConformArgs, verbose: u8, runner: Runner) -> u8 {
    let asked: Vec<Host> = args.hosts.iter().flat_map(|hosts| hosts.0.clone()).collect();
    let kit = Kit {
        hosts: if asked.is_empty() { Host::ALL.into() } else { asked.clone() },
        timeout: Duration::from_secs(args.timeout),
        settings: args.config.clone().unwrap_or_default(),
        ..Kit::default()
    };
    signals::watch(kit.cancellation.clone());
    let tried = watched(verbose, async |on_event| {
        let mut on_event = |event| on_event(RunEvent::Prepare(event));
        let program =
            Program::prepare(&args.command, &runner.runtimes, &kit.cancellation, &mut on_event)
                .await
                .map_err(|error| error.to_string())?;
        let what = "playing documents of hosts".to_owned();
        on_event(PrepareEvent::Started { what: what.clone() });
        let conformance = kit.run(&program).await;
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
