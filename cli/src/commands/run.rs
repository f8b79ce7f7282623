//! `evaluator run`.

use std::{env, path::PathBuf, sync::Arc};

use evaluator_host::{
    config::{Config, Overrides},
    events::{self, EventSwitches, Exporter},
    metric::{Metrics, UnknownMetric},
    report::{
        Report,
        run_file::{RunFile, RunFileError, default_file},
    },
    run::{Request, Runner},
};

use super::{discovery, report::show, trace_format, watched};
use crate::{
    args::{RunArgs, outputs},
    exit, render, signals,
};

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
    overrides.apply(&mut config, &runner.metrics);
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

    let mut runner = runner;
    runner.locked = args.locked;
    if let Some(jobs) = args.jobs {
        runner.jobs = jobs;
    }
    runner.run_file = match run_file(args.save_run, args.resume, &config) {
        Ok(run_file) => run_file,
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
    let mut request = Request::new(args.traces, config);
    request.events = events.is_some();
    signals::watch(runner.cancellation.clone());
    let report = watched(verbose, async |on_event| runner.run(&request, on_event).await);
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            render::message(&format!("cannot start: {error}"));
            return exit::ERRORED;
        }
    };
    let code = show(&report, &outputs);
    if let Some((switches, exporter)) = events {
        send_events(&report, &request.config, &runner.metrics, switches, &exporter);
    }
    // A report that could not be read to its end is not green, whoever noticed it.
    let code = code.max(report.standing().exit_code());
    render::verdict(&report, code, verbose > 0);
    code
}

/// The file that a run is saved in, if it is.
fn run_file(
    file: Option<PathBuf>,
    resume: bool,
    config: &Config,
) -> Result<Option<Arc<RunFile>>, RunFileError> {
    let default = || {
        let names = config.evaluators.iter().map(|evaluator| evaluator.name.as_str());
        default_file(config.file.as_deref(), names)
    };
    let file = file.or_else(|| resume.then(default));
    file.map(|file| RunFile::open(&file, resume).map(Arc::new)).transpose()
}

/// A variable of the environment.
fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Sends the results. The report is written by now, and no error here changes it.
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
