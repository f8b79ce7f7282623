//! `evaluator run`.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_host::{
    config::{Config, OutputFormat, Overrides},
    events::{self, EventSwitches, Exporter},
    files::{WriteOptions, atomic_write},
    journal::{self, Journal, JournalError},
    metric::{Metrics, UnknownMetric},
    report::Report,
    run::{Request, Runner},
};

use super::{discovery, print_document, print_with, trace_format, watched};
use crate::{
    args::{ReportOutput, RunArgs, outputs},
    exit,
    render::{self, Painted, Target},
    signals, streams,
};

/// Names the file of the job summary in GitHub workflows.
const JOB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Whether all metrics that the command line names exist.
fn known(names: &[String], metrics: &Metrics) -> Result<(), String> {
    names.iter().try_for_each(|name| match metrics.get(name) {
        Ok(_) => Ok(()),
        Err(UnknownMetric { name, similar }) => {
            let name = render::one_line(&name);
            let meant = similar.map(|similar| format!("; did you mean `{similar}`?"));
            let meant = meant.unwrap_or_default();
            Err(format!(
                "there is no metric `{name}`{meant} (`evaluator list -s builtin` lists them)"
            ))
        }
    })
}

pub(super) fn run(args: RunArgs, verbose: u8, runner: Runner) -> u8 {
    let args = match args.resolved() {
        Ok(args) => args,
        Err(error) => {
            render::message(error);
            return exit::USAGE;
        }
    };
    if let Err(problem) = known(&args.metrics, &runner.metrics) {
        render::message(&problem);
        return exit::USAGE;
    }
    if args.config.is_none() && !args.no_config && !args.metrics.is_empty() {
        discovery::passed_over();
    }
    let no_config = args.no_config || !args.metrics.is_empty();
    let config_file = match discovery::configuration(args.config, no_config) {
        Ok(config_file) => config_file,
        Err(code) => return code,
    };
    if config_file.is_none() {
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
    let overrides = Overrides {
        metrics: args.metrics,
        threshold: args.threshold,
        judge_model: args.judge_model,
        match_type: args.trajectory_match_type.map(Into::into),
        retries: args.retries,
    };
    let mut config = match config_file.as_deref().map(|file| runner.load_config(file)).transpose() {
        Ok(config) => config.unwrap_or_default(),
        Err(error) => {
            render::config_error(&error);
            return exit::USAGE;
        }
    };
    overrides.apply(&mut config);
    config.eval_set = args.eval_set.or(config.eval_set);
    config.trace_format = trace_format(args.format, &runner).or(config.trace_format);
    config.group_by = args.group_by.map(Into::into).or(config.group_by);
    config.require_evaluated |= args.require_evaluated;
    config.require_all_cases |= args.require_all_cases;
    config.allow_unevaluated |= args.allow_unevaluated;
    config.strict_matching |= args.strict_matching;
    config.fail_fast |= args.fail_fast;
    config.max_error_rate = args.max_error_rate.unwrap_or(config.max_error_rate);
    let outputs = match outputs(args.output, args.output_file, config.output) {
        Ok(outputs) => outputs,
        Err(error) => {
            render::message(&error);
            return exit::USAGE;
        }
    };
    if config.require_all_cases && config.eval_set.is_none() {
        render::message(
            "every golden case has to have a recording (`require_all_cases`), and there is no eval set; give one, as \
             `eval_set` or with --eval-set",
        );
        return exit::USAGE;
    }
    render::config_remarks(&config, verbose > 0);
    if let Err(error) = config.ensure_runnable() {
        render::config_error(&error);
        return exit::USAGE;
    }

    let mut runner = Runner { locked: args.locked, ..runner };
    if let Some(jobs) = args.jobs {
        runner.jobs = jobs;
    }
    runner.journal = match journal(args.journal, args.resume, &config) {
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
            render::warning(&format!("evaluation events will not be sent: {error}"));
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
    let code = outputs
        .iter()
        .map(|output| show_report(&report, output.form, output.file.as_deref()))
        .max()
        .unwrap_or(exit::OK);
    if outputs.iter().any(|output| output.form == OutputFormat::Github) {
        append_job_summary(&report, &outputs);
    }
    if let Some((switches, exporter)) = events {
        send_events(&report, &request.config, &runner.metrics, switches, &exporter);
    }
    // A report that could not be read to its end is not green, whoever noticed it.
    let code = code.max(report.standing().exit_code());
    render::verdict(&report, code, verbose > 0);
    code
}

/// The journal of a run, if one was asked for.
fn journal(
    file: Option<PathBuf>,
    resume: bool,
    config: &Config,
) -> Result<Option<Arc<Journal>>, JournalError> {
    let default = || {
        let names = config.evaluators.iter().map(|evaluator| evaluator.name.as_str());
        journal::default_file(config.file.as_deref(), names)
    };
    let file = file.or_else(|| resume.then(default));
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
    if let Err(error) = exporter.export(records) {
        render::warning(&format!("{error}; this changes nothing about the results"));
    }
}

/// Shows the report, without having all of it in memory.
fn show_report(report: &Report, output: OutputFormat, file: Option<&Path>) -> u8 {
    let code = report.standing().exit_code();
    let for_people = matches!(output, OutputFormat::Table | OutputFormat::Summary);
    let width = if file.is_none() { streams::stdout_width() } else { None };
    let write = |out: &mut dyn io::Write| match output {
        OutputFormat::Table => render::table(report, width, out),
        OutputFormat::Summary => render::summary(report, out),
        OutputFormat::Markdown => render::markdown(report, out),
        OutputFormat::Github => render::github(report, out),
        OutputFormat::Junit => render::junit(report, out),
        OutputFormat::Json => report.write_json(out).and_then(|()| out.write_all(b"\n")),
    };
    let errors = match output {
        OutputFormat::Summary => render::errors_of_summary(report),
        _ => Ok(Vec::new()),
    };
    match file {
        // On stdout the forms for people are those that others know, and the outcome stands on stderr beside it. A file
        // stands alone.
        Some(file) if for_people => {
            let write = |out: &mut dyn io::Write| {
                let mut out = Painted::new(out, Target::File);
                write(&mut out)?;
                errors?.into_iter().try_for_each(|error| writeln!(out, "{error}"))?;
                writeln!(out, "{}", render::sentence(report))?;
                out.flush()
            };
            write_file(file, write, code)
        }
        Some(file) => write_file(file, write, code),
        // For people; the other forms are for programs, whatever stdout is.
        None if for_people => {
            let code = print_with(
                |out| {
                    let mut out = Painted::new(out, Target::Stdout);
                    write(&mut out).and_then(|()| out.flush())
                },
                code,
            );
            // What cannot be read back has been said.
            errors.into_iter().flatten().for_each(|error| render::remark(&error));
            code
        }
        None => print_document(write, code),
    }
}

/// Appends the report to the summary of a GitHub job, if the environment names its file. The annotations are out by then, so
/// a summary that cannot be written is a warning.
fn append_job_summary(report: &Report, outputs: &[ReportOutput]) {
    let Some(file) = env::var_os(JOB_SUMMARY).filter(|file| !file.is_empty()) else { return };
    let file = Path::new(&file);
    // The report may be written there as another output.
    if outputs.iter().any(|output| output.file.as_deref() == Some(file)) {
        return;
    }
    let appended =
        fs::OpenOptions::new().append(true).create(true).open(file).and_then(|summary| {
            let mut out = io::BufWriter::new(summary);
            render::markdown(report, &mut out)?;
            writeln!(out)?;
            out.flush()
        });
    if let Err(error) = appended {
        let file = file.display();
        render::warning(&format!(
            "cannot append to the job summary {file} ({JOB_SUMMARY}): {error}"
        ));
    }
}

fn write_file(
    file: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    code: u8,
) -> u8 {
    match atomic_write(file, WriteOptions::default(), write) {
        Ok(()) => code,
        Err(error) => {
            render::message(&format!("cannot write the report to {}: {error}", file.display()));
            code.max(exit::ERRORED)
        }
    }
}

#[cfg(test)]
mod tests {
    use evaluator_host::report::{Collector, ConversationReport};

    use super::*;

    #[test]
    fn a_report_that_cannot_be_read_back_is_an_error_and_no_file() {
        let mut collector = Collector::new(0, 2);
        let conversation = ConversationReport {
            trace_id: "t".into(),
            turns: 1,
            warnings: Vec::new(),
            evaluations: Vec::new(),
            performance: None,
            events: None,
        };
        // The other one is missing.
        collector.put(0, &conversation).unwrap();
        let report = Report { conversations: collector.finish(), ..Report::default() };
        assert!(render::sentence(&report).starts_with("NOTHING EVALUATED: "));
        let file = env::temp_dir().join(format!("evaluator-unreadable-{}", std::process::id()));
        for output in [OutputFormat::Table, OutputFormat::Summary, OutputFormat::Json] {
            assert_eq!(show_report(&report, output, Some(&file)), exit::ERRORED);
            assert!(!file.exists());
        }
        let sentence = render::sentence(&report);
        assert!(sentence.starts_with("ERROR: "), "{sentence}");
        assert!(
            sentence.ends_with(
                "not whole: what came of conversation 2 cannot be read back: it was never finished"
            ),
            "{sentence}"
        );
    }
}
