//! `evaluator run`.

use std::{
    env, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_host::{
    config::{Config, OutputFormat, Overrides},
    events::{self, EventSwitches, Exporter},
    journal::{self, Journal, JournalError},
    metric::Metrics,
    report::Report,
    run::{Request, Runner},
};

use super::{print, print_with, replace, show, watched};
use crate::{args::RunArgs, exit, render, signals};

pub(super) fn run(args: RunArgs, verbose: u8, runner: Runner) -> u8 {
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
        retries: args.retries,
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
    config.fail_fast |= args.fail_fast;
    config.max_error_rate = args.max_error_rate.unwrap_or(config.max_error_rate);
    let output = output.or(config.output).unwrap_or_default();
    render::config_remarks(&config, verbose > 0);
    if let Err(error) = config.ensure_runnable() {
        render::config_error(&error);
        return exit::USAGE;
    }

    let mut runner = Runner { locked: args.locked, ..runner };
    if let Some(jobs) = args.jobs {
        runner.jobs = jobs;
    }
    let config_file = config.file.as_deref();
    runner.journal = match journal(args.journal, args.resume, config_file, &args.traces) {
        Ok(journal) => journal,
        Err(error) => {
            render::message(&error.to_string());
            return exit::USAGE;
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
    let report = watched(verbose, async |on_event| runner.run(&request, on_event).await);
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            render::message(&format!("cannot start: {error}"));
            return exit::ERRORED;
        }
    };
    let code = show_report(&report, output, args.output_file.as_deref());
    if let Some((switches, exporter)) = events {
        send_events(&report, &request.config, &runner.metrics, switches, &exporter);
    }
    render::verdict(&report, verbose > 0);
    code
}

/// The journal of a run, if one was asked for.
fn journal(
    file: Option<PathBuf>,
    resume: bool,
    config: Option<&Path>,
    traces: &[PathBuf],
) -> Result<Option<Arc<Journal>>, JournalError> {
    let file = file.or_else(|| resume.then(|| journal::default_file(config, traces)));
    file.map(|file| Journal::open(&file, resume).map(Arc::new)).transpose()
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

fn show_report(report: &Report, output: OutputFormat, file: Option<&Path>) -> u8 {
    let code = report.standing().exit_code();
    let for_people = matches!(output, OutputFormat::Table | OutputFormat::Summary);
    let rendered = match output {
        OutputFormat::Table => Ok(render::table(report)),
        OutputFormat::Summary => Ok(render::summary(report)),
        OutputFormat::Markdown => Ok(render::markdown(report)),
        OutputFormat::Github => Ok(render::github(report)),
        OutputFormat::Junit => render::junit(report),
        OutputFormat::Json => return show_json(report, file, code),
    };
    match (rendered, file) {
        (Err(error), _) => {
            render::message(&format!("cannot write the report in this form: {error}"));
            exit::ERRORED
        }
        // On stdout the forms for people are those that others know, and the outcome stands on stderr beside it. A file
        // stands alone.
        (Ok(text), Some(file)) if for_people => {
            let text = text + &render::sentence(report) + "\n";
            write_file(file, |out| out.write_all(text.as_bytes()), code)
        }
        (Ok(text), Some(file)) => write_file(file, |out| out.write_all(text.as_bytes()), code),
        // For people; the other forms are for programs, whatever stdout is.
        (Ok(text), None) if for_people => show(&text, code),
        (Ok(text), None) => print(&text, code),
    }
}

/// Shows the form that says everything of every conversation, without having all of it in memory.
fn show_json(report: &Report, file: Option<&Path>, code: u8) -> u8 {
    let write = |out: &mut dyn io::Write| {
        report.write_json(out)?;
        out.write_all(b"\n")
    };
    match file {
        Some(file) => write_file(file, write, code),
        None => print_with(write, code),
    }
}

fn write_file(
    file: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    code: u8,
) -> u8 {
    match replace(file, write) {
        Ok(()) => code,
        Err(error) => {
            render::message(&format!("cannot write the report to {}: {error}", file.display()));
            code.max(exit::ERRORED)
        }
    }
}
