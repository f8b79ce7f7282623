//! `evaluator run`.

use std::{
    mem,
    path::{Path, PathBuf},
};

use evaluator_host::{
    config::{Config, EvaluatorConfig, EvaluatorKind, Overrides},
    hosts::Mismatch,
    metric::{Metrics, UnknownMetric},
    report::{
        RunningGate,
        run_file::{Shard, default_file},
    },
    run::{Request, Runner},
};
use evaluator_publish::{manifest, program_at};

use super::{
    baseline::BaselineFile,
    bundle, discovery, ensure_contained, eval_file, has_extension_of, load_config, open_session,
    outcome::{evaluate, event_exporter, finish, finish_part, gated, refuse_stopping, run_file},
    report::begin,
    settings_of_paths, trace_format,
    types::is_type,
    unusable,
};
use crate::{
    args::{RunArgs, default_transcripts, outputs},
    render, signals,
};

/// Runs evaluators over traces, and writes the report.
pub(super) fn run(mut args: RunArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    let shard = args.shard;
    let reports = outputs(args.output.clone(), args.output_file.clone(), None).map_err(unusable)?;
    let named = [&args.config, &args.eval_set, &args.eval_file.outputs, &args.eval_file.targets];
    let inputs = args.traces.iter().chain(&args.evaluators).chain(&args.baseline.baseline);
    let inputs: Vec<PathBuf> = inputs.chain(named.into_iter().flatten()).cloned().collect();
    let cassette = args.judge.judge_cassette.clone();
    let planned = Planned::new(&mut args, &mut runner);
    let files = PlanFiles::of(planned.as_ref().ok(), &args);
    let saved = args.save_run.iter().map(|file| ("--save-run", file));
    let cassette = cassette.iter().map(|file| ("--judge-cassette", file));
    let written = files.written.iter().map(|(option, file)| (*option, file));
    let written = saved.chain(cassette).chain(written);
    begin(&reports, inputs.iter().chain(&files.read), written)?;
    let mut config = match planned? {
        Planned::EvalFile(file) => return eval_file::run(&file, args, verbose, runner),
        Planned::Traces(config) => *config,
    };
    let events = event_exporter(args.emit_otel)?;
    dividable(shard, &config, events.is_some()).map_err(unusable)?;
    let confidence = args.gates.confidence;
    let names: Vec<String> = config.evaluators.iter().map(|it| it.name.clone()).collect();
    gated(&mut config, mem::take(&mut args.gates), &names).map_err(unusable)?;
    decidable(&config, args.baseline.baseline.as_deref()).map_err(unusable)?;
    let outputs = outputs(args.output, args.output_file, config.output).map_err(unusable)?;
    let transcripts = args.transcripts.or(config.transcripts);
    config.transcripts = Some(transcripts.unwrap_or_else(|| default_transcripts(&outputs)));
    if config.require_all_cases && config.eval_set.is_none() {
        return Err(unusable(
            "every golden case must have a recording (`require_all_cases`), but there is no eval set; name one with \
             `eval_set` or --eval-set",
        ));
    }
    let written = (args.save_run.as_deref(), &*outputs);
    let baseline =
        BaselineFile::open(&args.baseline, config.baseline.as_deref(), confidence, written)?;
    refuse_stopping(&config, &baseline).map_err(unusable)?;
    let is_certified = config.evaluators.iter().any(|it| it.certificate.is_some());
    runner.identify = baseline.needs_identities() || events.is_some() || is_certified;
    runner.session = Some(open_session(&config, verbose, &runner)?);
    runner.locked = args.locked;
    runner.jobs = args.jobs.unwrap_or(runner.jobs);
    let default = || default_run_file(&config);
    runner.run_file =
        run_file(args.save_run, args.resume, args.shard, default).map_err(unusable)?;
    let mut request = Request::new(args.traces, config);
    request.options = Some(args.given.deciding);
    request.events = events.is_some();
    request.shard = shard;
    request.baseline.clone_from(&baseline.baseline);
    signals::watch(runner.cancellation.clone());
    let report = evaluate(&request, &runner, &baseline, verbose)?;
    if let Some(shard) = shard {
        return Ok(finish_part(&report, shard));
    }
    Ok(finish(&report, &outputs, events, (&request.config, &runner), &baseline, verbose))
}

/// What is run.
enum Planned {
    EvalFile(PathBuf),
    /// Traces, with this configuration.
    Traces(Box<Config>),
}

impl Planned {
    /// Reads what the arguments name. Nothing is written: the configuration may name a file that no report may replace.
    ///
    /// # Errors
    ///
    /// Returns the exit code, after a message, if it cannot be run.
    fn new(args: &mut RunArgs, runner: &mut Runner) -> Result<Self, u8> {
        if let Some(file) = eval_file::given(args, runner).map_err(unusable)? {
            if args.shard.is_some() {
                return Err(unusable("--shard divides traces, and this is an eval file"));
            }
            return Ok(Self::EvalFile(file));
        }
        args.traces.iter().try_for_each(|path| refuse_program(path, runner)).map_err(unusable)?;
        configuration(args, runner).map(|config| Self::Traces(Box::new(config)))
    }
}

/// Returns the run file of `--resume` without a name.
fn default_run_file(config: &Config) -> PathBuf {
    let names = config.evaluators.iter().map(|evaluator| evaluator.name.as_str());
    default_file(config.file.as_deref(), names)
}

/// Files that no argument names, and no report may replace.
#[derive(Default)]
struct PlanFiles {
    read: Vec<PathBuf>,
    /// Those that are written, each with the option or the key that has it written.
    written: Vec<(&'static str, PathBuf)>,
}

impl PlanFiles {
    /// Returns those of a plan. Without one, the configurations that may be the reason count.
    fn of(planned: Option<&Planned>, args: &RunArgs) -> Self {
        let mut files = Self::default();
        let default = match planned {
            None => {
                files.read.extend(discovery::candidates().into_iter().map(PathBuf::from));
                return files;
            }
            Some(Planned::EvalFile(file)) => default_file(Some(file), []),
            Some(Planned::Traces(config)) => {
                files.add(config);
                default_run_file(config)
            }
        };
        if args.resume && args.save_run.is_none() {
            files.written.push(("--resume", default));
        }
        files
    }

    fn add(&mut self, config: &Config) {
        let named = [&config.file, &config.eval_set, &config.baseline];
        self.read.extend(named.into_iter().flatten().cloned());
        let programs = config.evaluators.iter().filter_map(|it| match &it.kind {
            EvaluatorKind::Code(code) => Some(code.path.clone()),
            _ => None,
        });
        self.read.extend(programs);
        let judges = config.evaluators.iter().filter_map(EvaluatorConfig::judge);
        let cassettes = judges.chain([&config.judge]).filter_map(|it| it.cassette.clone());
        self.written.extend(cassettes.map(|file| ("the key `cassette`", file)));
    }
}

/// Returns the configuration of a run: that of its file, with the options of the command line. If it is in a bundle, the runner
/// takes what is there.
///
/// # Errors
///
/// Returns the exit code, after a message, if the configuration or the options cannot be used.
pub(super) fn configuration(args: &mut RunArgs, runner: &mut Runner) -> Result<Config, u8> {
    ensure_known(&args.metrics, &runner.registries.metrics).map_err(unusable)?;
    let file = config_file(args)?;
    bundle::open(file.as_deref(), runner)?;
    let mut config = load_config(file.as_deref(), runner)?;
    let programs = programs(args, &config, runner).map_err(unusable)?;
    configure(&mut config, programs, args, runner);
    ensure_contained(args.contain, &config, runner)?;
    Ok(config)
}

/// Checks that a configuration has nothing that a share of the conversations cannot do.
fn dividable(shard: Option<Shard>, config: &Config, has_events: bool) -> Result<(), String> {
    let found = [
        (config.fail_fast, "the key `fail_fast`", "other shards would go on"),
        (config.until_decided, "the key `until_decided`", "gates are decided by all cases"),
        (
            config.baseline.is_some(),
            "the key `baseline`",
            "all shards are compared together, by `evaluator report --baseline`",
        ),
        (
            has_events,
            "AGENTEVALS_EVALUATION_EVENTS",
            "a share of the results would look like all of them",
        ),
    ];
    match found.iter().find(|(is_set, ..)| shard.is_some() && *is_set) {
        Some((_, what, why)) => Err(format!("`--shard` and {what} exclude each other: {why}")),
        None => Ok(()),
    }
}

/// Checks that a run that ends with its gates has a gate for each evaluator that can be decided case by case.
fn decidable(config: &Config, baseline: Option<&Path>) -> Result<(), String> {
    if !config.until_decided {
        return Ok(());
    }
    if config.fail_fast {
        return Err(
            "`--until-decided` and the key `fail_fast` exclude each other: a failure decides no gate"
                .to_owned(),
        );
    }
    if baseline.or(config.baseline.as_deref()).is_some() {
        return Err(
            "`--until-decided` and a baseline exclude each other: a comparison needs all cases"
                .to_owned(),
        );
    }
    if config.cluster.is_some() {
        return Err(
            "`--until-decided` and `--cluster` exclude each other: cases of a cluster are not independent"
                .to_owned(),
        );
    }
    if let Some(gate) = config.gates.iter().find(|it| RunningGate::new(it).is_none()) {
        return Err(format!(
            "`--until-decided` decides gates of `mean` and `pass_rate` without `certified` case by case, and `{gate}` is another one"
        ));
    }
    let has_gate = |name: &str| config.gates.iter().any(|gate| gate.evaluator == name);
    match config.evaluators.iter().find(|it| !has_gate(&it.name)) {
        Some(EvaluatorConfig { name, .. }) => Err(format!(
            "`--until-decided` needs a gate for every evaluator, and `{name}` has none; add e.g. --gate '{name}: mean >= 0.8'"
        )),
        None => Ok(()),
    }
}

/// Refuses a program in the place of a trace file.
fn refuse_program(path: &Path, runner: &Runner) -> Result<(), String> {
    // The file is not opened: what was read from a pipe is gone.
    let is_source =
        runner.registries.runtimes.iter().any(|it| has_extension_of(it.extensions(), path));
    if !is_source && !manifest::has_manifest(path) {
        return Ok(());
    }
    let path = path.display();
    Err(format!(
        "{path} is a program, and trace files are expected: `--evaluator {path}` runs it over them"
    ))
}

/// Checks that all metrics of the command line exist.
fn ensure_known(names: &[String], metrics: &Metrics) -> Result<(), String> {
    names.iter().try_for_each(|name| match metrics.get(name) {
        Ok(_) => Ok(()),
        Err(UnknownMetric { name, similar }) => {
            let hint = match similar {
                _ if Path::new(&name).exists() => {
                    format!("; `--evaluator {name}` runs the program of that name")
                }
                _ if is_type(&name) => {
                    format!("; `evaluator config {name}` prints an entry for it")
                }
                Some(similar) => format!("; did you mean `{similar}`?"),
                None => String::new(),
            };
            let (name, hint) = (render::one_line(&name), render::one_line(&hint));
            Err(format!(
                "there is no metric `{name}`{hint} (`evaluator list -s builtin` lists them)"
            ))
        }
    })
}

/// Returns entries for the programs of `--evaluator`.
///
/// # Errors
///
/// Returns a message if a program cannot be run here, or has the name of another evaluator.
fn programs(
    args: &RunArgs,
    config: &Config,
    runner: &Runner,
) -> Result<Vec<EvaluatorConfig>, String> {
    let mut names: Vec<&str> = args.metrics.iter().map(String::as_str).collect();
    names.extend(config.evaluators.iter().map(|evaluator| evaluator.name.as_str()));
    let mut programs: Vec<EvaluatorConfig> = Vec::new();
    let settings = settings_of_paths(args.contain, config);
    for path in &args.evaluators {
        let mut program = program_at(path, &settings)?;
        if let EvaluatorKind::Code(code) = &mut program.kind {
            runner.registries.runtimes.for_path(&code.path).map_err(|error| error.to_string())?;
            if let Some(mismatch) = Mismatch::of(&code.path, None) {
                code.contract = Some(mismatch.contract());
                code.function = mismatch.function().map(str::to_owned);
            }
        }
        let earlier = programs.iter().map(|program| &*program.name);
        if names.iter().copied().chain(earlier).any(|name| name == program.name) {
            return Err(format!(
                "two evaluators are called `{}`, one of them is {}; `evaluator config PATH` prints an entry whose name you can \
                 change",
                program.name,
                path.display()
            ));
        }
        programs.push(program);
    }
    Ok(programs)
}

/// Returns the configuration to load, if there is one.
///
/// # Errors
///
/// Returns the exit code, after a message, if the configuration is ambiguous or a metric is named twice, or if nothing says
/// what to run.
fn config_file(args: &mut RunArgs) -> Result<Option<PathBuf>, u8> {
    let by_option = match (args.metrics.is_empty(), args.evaluators.is_empty()) {
        (false, _) => Some("-m"),
        (true, false) => Some("--evaluator"),
        (true, true) => None,
    };
    if let Some(option) = by_option.filter(|_| args.config.is_none() && !args.no_config) {
        discovery::warn_ignored(option);
    }
    let no_config = args.no_config || by_option.is_some();
    let file = discovery::configuration(args.config.take(), no_config)?;
    if file.is_none() && !no_config && args.eval_set.is_none() {
        return Err(unusable(
            "nothing says what to run: there is no eval_config.yaml here\n\
             --evaluator PATH runs a program, -m NAME a metric (`evaluator list` shows them), -c FILE a configuration\n\
             `evaluator init NAME` creates an evaluator and an eval_config.yaml that runs it\n\
             `evaluator inspect TRACE_FILE` prints what evaluators see",
        ));
    }
    // With a configuration, a repeated name is harmless: it replaces the same entry twice.
    let mut metrics = args.metrics.iter().enumerate();
    match metrics.find(|(index, name)| args.metrics[..*index].contains(name)) {
        Some((_, name)) if file.is_none() => {
            Err(unusable(format!("the metric `{name}` is given twice; name it once")))
        }
        _ => Ok(file),
    }
}

/// Applies the options of the command line to a configuration.
fn configure(
    config: &mut Config,
    programs: Vec<EvaluatorConfig>,
    args: &mut RunArgs,
    runner: &Runner,
) {
    let overrides = Overrides {
        metrics: mem::take(&mut args.metrics),
        programs,
        threshold: args.threshold,
        match_type: args.trajectory_match_type,
        retries: args.retries,
        repeat: args.repeat,
        ..mem::take(&mut args.judge).overrides()
    };
    overrides.apply(config, &runner.registries.metrics);
    config.eval_set = args.eval_set.take().or(config.eval_set.take());
    config.trace_format = trace_format(args.format.take(), runner).or(config.trace_format.take());
    config.group_by = args.group_by.or(config.group_by);
    config.case_key = args.case_key.take().or(config.case_key.take());
    config.cluster = args.cluster.take().or(config.cluster.take());
    if !args.by.is_empty() {
        config.by = mem::take(&mut args.by);
    }
    config.require_evaluated |= args.require_evaluated.is_some();
    config.required_share = args.require_evaluated.unwrap_or(config.required_share);
    config.require_all_cases |= args.require_all_cases;
    config.allow_unevaluated |= args.allow_unevaluated;
    config.strict_matching |= args.strict_matching;
    config.fail_fast |= args.fail_fast;
    config.until_decided |= args.until_decided;
    config.seed = args.seed.unwrap_or(config.seed);
    config.max_error_rate = args.max_error_rate.unwrap_or(config.max_error_rate);
}
