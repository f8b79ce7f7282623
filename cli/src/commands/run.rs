//! `evaluator run`.

use std::{
    cell::RefCell,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    config::{Config, OutputFormat, Overrides},
    report::Report,
    run::{Request, Runner},
};

use tokio::time::sleep;

use super::{print, print_with, show};
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
    let output = output.or(config.output).unwrap_or_default();

    let mut runner = Runner::default();
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
    let request = Request { traces: args.traces, config };
    signals::watch(runner.cancellation.clone());
    let report = runtime.block_on(watched(&runner, &request, verbose));
    // What makes evaluators ready may be stuck, and has been given up then.
    runtime.shutdown_background();
    show_report(&report, output, args.output_file.as_deref())
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
    let rendered = match output {
        OutputFormat::Table => Ok(render::table(report)),
        OutputFormat::Summary => Ok(render::summary(report)),
        OutputFormat::Markdown => Ok(render::markdown(report)),
        OutputFormat::Github => Ok(render::github(report)),
        OutputFormat::Junit => render::junit(report),
        OutputFormat::Json => return show_json(report, file, code),
    };
    let code = match (rendered, file) {
        (Err(error), _) => {
            render::message(&format!("cannot write the report in this form: {error}"));
            exit::ERRORED
        }
        (Ok(text), Some(file)) => write_file(file, |out| out.write_all(text.as_bytes()), code),
        // For people; the other forms are for programs, whatever stdout is.
        (Ok(text), None) if matches!(output, OutputFormat::Table | OutputFormat::Summary) => {
            show(&text, code)
        }
        (Ok(text), None) => print(&text, code),
    };
    render::verdict(report);
    code
}

/// Shows the form that says everything of every conversation, without having all of it in memory.
fn show_json(report: &Report, file: Option<&Path>, code: u8) -> u8 {
    let write = |out: &mut dyn io::Write| {
        report.write_json(out)?;
        out.write_all(b"\n")
    };
    let code = match file {
        Some(file) => write_file(file, write, code),
        None => print_with(write, code),
    };
    render::verdict(report);
    code
}

/// Writes beside the file and renames, so that whoever reads it never finds half a report.
fn write_file(
    file: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    code: u8,
) -> u8 {
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside)
        .and_then(|created| {
            let mut out = io::BufWriter::new(created);
            write(&mut out)?;
            out.flush()
        })
        .and_then(|()| fs::rename(&beside, file));
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
