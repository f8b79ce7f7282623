//! `evaluator run`.

use std::{
    cell::RefCell,
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    config::{Config, OutputFormat, Overrides},
    events::{self, EventSwitches, Exporter},
    metric::Metrics,
    report::Report,
    run::{Request, Runner},
};

use tokio::time::sleep;

use super::{print, show};
use crate::{args::RunArgs, exit, render, signals};

/// How often a terminal shows the time that has passed.
const TICK: Duration = Duration::from_millis(250);

pub(super) fn run(args: RunArgs, verbose: u8) -> u8 {
    if args.config.is_none() {
        // Beside a configuration a repeated name is harmless: it replaces the same entry twice.
        let repeated = args
            .metrics
            .iter()
            .enumerate()
            .find(|(index, name)| args.metrics[..*index].contains(name));
        if let Some((_, name)) = repeated {
            render::message(&format!("the metric `{name}` is given twice; name it once"));
            return exit::USAGE;
        }
    }
    let switches = match EventSwitches::read(args.emit_otel, &variable) {
        Ok(switches) => switches,
        Err(error) => {
            render::message(&error.to_string());
            return exit::USAGE;
        }
    };
    let output = args.output.map(OutputFormat::from);
    let overrides = Overrides {
        metrics: args.metrics,
        threshold: args.threshold,
        judge_model: args.judge_model,
        match_type: args.trajectory_match_type.map(Into::into),
    };
    let mut config = match args.config.as_deref().map(Config::load).transpose() {
        Ok(config) => config.unwrap_or_default(),
        Err(error) => {
            render::config_error(&error);
            return exit::USAGE;
        }
    };
    overrides.apply(&mut config);
    config.eval_set = args.eval_set.or(config.eval_set);
    config.trace_format = args.format.map(Into::into).or(config.trace_format);
    config.group_by = args.group_by.map(Into::into).or(config.group_by);
    config.require_evaluated |= args.require_evaluated;
    let output = output.or(config.output).unwrap_or_default();
    render::config_remarks(&config, verbose > 0);
    if let Err(error) = config.ensure_runnable() {
        render::config_error(&error);
        return exit::USAGE;
    }

    let mut runner = Runner { locked: args.locked, ..Runner::default() };
    if let Some(jobs) = args.jobs {
        runner.jobs = jobs;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            render::message(&format!("cannot start: {error}"));
            return exit::ERRORED;
        }
    };
    // A mistake in where events go is told now; a run may take long.
    let events = switches.and_then(|switches| match Exporter::new(&variable) {
        Ok(exporter) => Some((switches, exporter)),
        Err(error) => {
            render::message(&format!("evaluation events will not be sent: {error}"));
            None
        }
    });
    let request = Request { traces: args.traces, config, events: events.is_some() };
    signals::watch(runner.cancellation.clone());
    let report = runtime.block_on(watched(&runner, &request, verbose));
    // What makes evaluators ready may be stuck, and has been given up then.
    runtime.shutdown_background();
    let code = show_report(&report, output, args.output_file.as_deref());
    if let Some((switches, exporter)) = events {
        send_events(&report, &request.config, &runner.metrics, switches, &exporter);
    }
    render::verdict(&report, verbose > 0);
    code
}

/// A variable of the environment.
fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Sends what the run came to. The report is out by now, and whatever happens here changes nothing about it.
fn send_events(
    report: &Report,
    config: &Config,
    metrics: &Metrics,
    switches: EventSwitches,
    exporter: &Exporter,
) {
    let records = events::records(report, config, metrics, switches);
    if let Err(error) = exporter.export(&records) {
        render::message(&format!("{error}; this changes nothing about the results"));
    }
}

/// A run, with what a person sees of it while it lasts.
async fn watched(runner: &Runner, request: &Request, verbose: u8) -> Report {
    let progress = RefCell::new(render::Progress::new(verbose));
    let ticking = async {
        loop {
            sleep(TICK).await;
            progress.borrow().tick();
        }
    };
    let mut on_event = |event| progress.borrow_mut().event(&event);
    let report = tokio::select! {
        report = runner.run(request, &mut on_event) => report,
        // It never ends.
        report = ticking => report,
    };
    progress.into_inner().finish();
    report
}

fn show_report(report: &Report, output: OutputFormat, file: Option<&Path>) -> u8 {
    let code = report.standing().exit_code();
    let for_people = matches!(output, OutputFormat::Table | OutputFormat::Summary);
    let rendered = match output {
        OutputFormat::Table => Ok(render::table(report)),
        OutputFormat::Summary => Ok(render::summary(report)),
        OutputFormat::Markdown => Ok(render::markdown(report)),
        OutputFormat::Github => Ok(render::github(report)),
        OutputFormat::Junit => render::junit(report),
        OutputFormat::Json => report.to_json().map(|json| json + "\n").map_err(io::Error::from),
    };
    match (rendered, file) {
        (Err(error), _) => {
            render::message(&format!("cannot write the report in this form: {error}"));
            exit::ERRORED
        }
        // On stdout the forms for people are those that others know, and the outcome stands on stderr beside it. A file
        // stands alone.
        (Ok(text), Some(file)) if for_people => {
            write_file(file, &(text + &render::sentence(report) + "\n"), code)
        }
        (Ok(text), Some(file)) => write_file(file, &text, code),
        // For people; the other forms are for programs, whatever stdout is.
        (Ok(text), None) if for_people => show(&text, code),
        (Ok(text), None) => print(&text, code),
    }
}

/// Writes beside the file and renames, so that whoever reads it never finds half a report.
fn write_file(file: &Path, text: &str, code: u8) -> u8 {
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, file));
    match written {
        Ok(()) => code,
        Err(error) => {
            // It may not have come that far.
            let _ = fs::remove_file(&beside);
            render::message(&format!("cannot write the report to {}: {error}", file.display()));
            code.max(exit::ERRORED)
        }
    }
}
