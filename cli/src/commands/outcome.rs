//! Outcome of a run over traces or of an eval file: the file that it is saved in, its report, its events.

use std::{env, path::PathBuf, sync::Arc};

use evaluator_host::{
    config::Config,
    events::{self, EventSwitches, Exporter},
    report::{
        Report,
        run_file::{Part, RunFile, RunFileError, Shard},
    },
    run::{Request, RunEvent, Runner},
};

use super::{baseline::BaselineFile, report::show, unusable, watched};
use crate::{
    args::{GateFlags, ReportOutput},
    exit, render,
};

/// Returns the switches of evaluation events and their destination, if they are to be sent. An invalid destination is reported
/// before the run, which may take long.
pub(super) fn event_exporter(is_wanted: bool) -> Result<Option<(EventSwitches, Exporter)>, u8> {
    let switches = EventSwitches::read(is_wanted, &variable).map_err(unusable)?;
    Ok(switches.and_then(|switches| {
        let exporter = Exporter::new(&variable).map_err(|error| {
            render::warning(&format!("evaluation events will not be sent: {error}"));
        });
        Some((switches, exporter.ok()?))
    }))
}

/// Refuses claims about a baseline in a run that may stop early.
pub(super) fn refuse_stopping(config: &Config, baseline: &BaselineFile) -> Result<(), String> {
    match baseline.has_claims && config.fail_fast {
        true => Err(
            "claims about a baseline and `--fail-fast` (key `fail_fast`) exclude each other: a claim is decided by all cases"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

/// Applies gates of the command line, and checks that all gates can be decided.
pub(super) fn gated(
    config: &mut Config,
    flags: GateFlags,
    evaluators: &[String],
) -> Result<(), String> {
    let Config { gates, inconclusive, .. } = config;
    let names: Vec<&str> = evaluators.iter().map(String::as_str).collect();
    flags.overrides().apply(gates, inconclusive, &names)?;
    match config.gates.first() {
        Some(gate) if config.fail_fast => Err(format!(
            "the gate `{gate}` and `--fail-fast` (key `fail_fast`) exclude each other: a gate is decided by all cases"
        )),
        _ => Ok(()),
    }
}

/// Runs a request, and shows its events.
///
/// # Errors
///
/// Returns the exit code, after a message, if the run cannot start, or cannot be compared with its baseline.
pub(super) fn evaluate(
    request: &Request,
    runner: &Runner,
    baseline: &BaselineFile,
    verbose: u8,
) -> Result<Report, u8> {
    let is_kept = runner.run_file.is_some() || baseline.needs_identities();
    let report = watched(verbose, async |on_event| {
        // What is not kept is not reused.
        let mut on_event = |event: RunEvent| match event {
            RunEvent::NotResumable { .. } if !is_kept => {}
            event => on_event(event),
        };
        runner.run(request, &mut on_event).await
    })?;
    match &report.refusal {
        Some(refusal) => Err(unusable(refusal)),
        None => Ok(report),
    }
}

/// Writes the report of a run and sends its events. Returns the exit code.
pub(super) fn finish(
    report: &Report,
    outputs: &[ReportOutput],
    events: Option<(EventSwitches, Exporter)>,
    (config, runner): (&Config, &Runner),
    baseline: &BaselineFile,
    verbose: u8,
) -> u8 {
    let code = show(report, outputs);
    if let Some((switches, exporter)) = events {
        let records = events::records(report, config, &runner.registries.metrics, switches);
        // The report is written by now, and no error here changes it.
        if let Err(error) = exporter.export(records) {
            render::warning(&format!("{error}; this changes nothing about the results"));
        }
    }
    // Writing the report may have found results that cannot be read back.
    let code = exit::worst([code, report.standing().exit_code()]);
    let code = baseline.update(report, code);
    render::verdict(report, code, verbose > 0);
    code
}

/// Writes the last line of a run of a shard. Returns the exit code: whether the part is whole, whatever is in it.
pub(super) fn finish_part(report: &Report, shard: Shard) -> u8 {
    let is_whole = report.partial.is_none() && !report.unsaved;
    let code = if is_whole { exit::OK } else { exit::ERRORED };
    render::part_verdict(report, shard, code);
    code
}

/// Opens the file that the run is saved in, if one is requested.
pub(super) fn run_file(
    file: Option<PathBuf>,
    resume: bool,
    shard: Option<Shard>,
    default: impl FnOnce() -> PathBuf,
) -> Result<Option<Arc<RunFile>>, RunFileError> {
    let file = file.or_else(|| resume.then(default));
    let part = shard.map(Part::Shard);
    file.map(|file| RunFile::open_part(&file, resume, part).map(Arc::new)).transpose()
}

/// Returns the value of an environment variable.
fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
