//! Eval files: `evaluator run EVAL.yaml`, `evaluator check EVAL.yaml`.

use std::{
    env, fs,
    io::Read as _,
    mem,
    path::{Path, PathBuf},
    slice,
};

use evaluator_agentv::{
    model::EvalFile,
    output::Recordings,
    read::{self, ReadOptions},
    run::{Options, Plan, plan},
    targets::{self, TargetSession, Targets},
};
use evaluator_host::{
    config::{Config, ConfigError, EvaluatorConfig},
    json::{ParseOptions, parse},
    judging::JudgeSettings,
    report::run_file::default_file,
    run::Runner,
    trace::trace_files,
};

use super::{
    baseline::BaselineFile,
    broken,
    outcome::{evaluate, event_exporter, finish, gated, refuse_stopping, run_file},
    print, unusable,
};
use crate::{
    args::{
        CheckArgs, RunArgs, default_transcripts,
        eval_file::{EvalFileFlags, OF_EVAL_FILES, OF_TRACES},
        outputs,
    },
    exit, render, signals,
};

/// Beginning of a file that is looked at; whole eval files are hardly ever longer, traces often are.
const BEGINNING: u64 = 4 << 20;

/// Bytes by which the common traces are recognized.
const FIRST_LOOK: u64 = 1024;

/// Repetitions of commands that took too long.
const MAX_RETRIES: u32 = 2;

/// Returns the eval file that the arguments name, if they do.
///
/// # Errors
///
/// An eval file is mixed with other files, or with options that belong to traces; or options of eval files are given with
/// traces.
pub(super) fn given(args: &RunArgs, runner: &Runner) -> Result<Option<PathBuf>, String> {
    let Some(file) =
        args.traces.iter().find(|file| is_eval_file(file) || is_other_yaml(file, runner))
    else {
        if let Some((directory, file)) = args.traces.iter().find_map(|it| Some((it, inside(it)?))) {
            return Err(format!(
                "{} is a directory with eval files; run them one by one, e.g. {}",
                directory.display(),
                file.display()
            ));
        }
        if let Some(file) = args.traces.iter().find(|file| is_configuration(file)) {
            return Err(format!(
                "{} is a configuration; name it with -c, and a trace file",
                file.display()
            ));
        }
        return match args.given.first_of(OF_EVAL_FILES) {
            Some(option) => {
                Err(not_one(&option, args.traces.first().map_or(Path::new(""), PathBuf::as_path)))
            }
            None => Ok(None),
        };
    };
    if args.traces.len() > 1 {
        return Err(format!(
            "{} is an eval file; run it alone, without other files",
            file.display()
        ));
    }
    match args.given.first_of(OF_TRACES) {
        Some(option) => Err(for_traces(&option, file)),
        None => Ok(Some(file.clone())),
    }
}

/// Returns the message about an option of eval files with a file that is not one.
pub(super) fn not_one(option: &str, file: &Path) -> String {
    format!(
        "{option} belongs to AgentV eval files, and {} is not one (it has no `tests`)",
        file.display()
    )
}

/// Returns the message about an option that has no meaning for an eval file.
fn for_traces(option: &str, file: &Path) -> String {
    format!("{option} belongs to trace files, and {} is an eval file", file.display())
}

/// Returns the first eval file of a directory without trace files.
fn inside(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let file = entries.filter(|path| is_eval_file(path)).min()?;
    trace_files(&[directory.to_owned()]).files.is_empty().then_some(file)
}

/// Returns true if a file is an eval file. Only its beginning is read.
pub(super) fn is_eval_file(file: &Path) -> bool {
    not_read(file).is_some()
        || beginning(file, &["yaml", "yml", "json", "jsonl"])
            .is_some_and(|text| read::is_eval_file(file, &text))
}

/// Returns the reason why a file cannot be read that is named like an eval file; `None` if it may be one.
fn not_read(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_string_lossy().to_ascii_lowercase();
    if name.starts_with("promptfooconfig.") {
        let (message, hint) = read::PROMPTFOO;
        return Some(format!("{}: {message} ({hint})", file.display()));
    }
    let (_, extension) = name.rsplit_once(".eval.")?;
    let language = match extension {
        "ts" | "mts" | "cts" => "TypeScript",
        "js" | "mjs" | "cjs" => "JavaScript",
        _ => return None,
    };
    Some(format!("{}: {language} eval files are not read; write YAML", file.display()))
}

/// Returns true if a YAML file has the evaluators of a configuration.
fn is_configuration(file: &Path) -> bool {
    beginning(file, &["yaml", "yml"])
        .is_some_and(|text| text.lines().any(|line| line.starts_with("evaluators:")))
}

/// Returns true if a file is YAML that is neither a configuration nor a trace: an eval file without tests, or with an error.
fn is_other_yaml(file: &Path, runner: &Runner) -> bool {
    beginning(file, &["yaml", "yml"]).is_some_and(|text| {
        let parsed = parse(&text, &ParseOptions::default());
        let is_trace =
            runner.registries.trace_formats.iter().any(|format| format.detect(&text, &parsed));
        !is_trace && !is_configuration(file)
    })
}

/// Returns the beginning of a file with one of these extensions, if it does not start like a trace.
fn beginning(file: &Path, extensions: &[&str]) -> Option<String> {
    let extension = file.extension()?.to_string_lossy().to_ascii_lowercase();
    if !extensions.contains(&&*extension) || !file.is_file() {
        return None;
    }
    let (mut bytes, mut file) = (Vec::new(), fs::File::open(file).ok()?);
    file.by_ref().take(FIRST_LOOK).read_to_end(&mut bytes).ok()?;
    if read::is_span_data(&String::from_utf8_lossy(&bytes)) {
        return None;
    }
    file.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs the tests of an eval file, and writes the report.
pub(super) fn run(file: &Path, mut args: RunArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    let outputs =
        outputs(mem::take(&mut args.output), args.output_file.take(), None).map_err(unusable)?;
    let events = event_exporter(args.emit_otel)?;
    let plan = planned(file, &mut args, verbose > 0, &runner)?;
    let (name, mut runner) = (plan.name().to_owned(), runner);
    let written = (args.save_run.as_deref(), &*outputs);
    let baseline = BaselineFile::open(&args.baseline, None, args.gates.confidence, written)?;
    runner.identify = baseline.needs_identities() || events.is_some();
    runner.session = Some(plan.session());
    runner.jobs = args.jobs.unwrap_or(runner.jobs);
    let mut config = Config::default();
    config.fail_fast = args.fail_fast;
    configure(&mut config, &args);
    config.max_error_rate = args.max_error_rate.unwrap_or_default();
    gated(&mut config, args.gates, slice::from_ref(&name)).map_err(unusable)?;
    refuse_stopping(&config, &baseline).map_err(unusable)?;
    // What is refused before leaves no new file.
    let default = || default_file(Some(file), []);
    runner.run_file =
        run_file(args.save_run.take(), args.resume, None, default).map_err(unusable)?;
    config.transcripts = args.transcripts.or_else(|| Some(default_transcripts(&outputs)));
    let mut request = plan.request(config);
    request.options = Some(args.given.deciding);
    request.events = events.is_some();
    request.baseline.clone_from(&baseline.baseline);
    signals::watch(runner.cancellation.clone());
    let report = evaluate(&request, &runner, &baseline, verbose)?;
    // Events name the suite, which has no entry of its own.
    let mut config = Config::default();
    config.evaluators.push(EvaluatorConfig::linked(name));
    Ok(finish(&report, &outputs, events, (&config, &runner), &baseline, verbose))
}

/// Returns the plan of a run of an eval file. With `prompts`, details have the prompts of judges.
pub(super) fn planned(
    file: &Path,
    args: &mut RunArgs,
    prompts: bool,
    runner: &Runner,
) -> Result<Plan, u8> {
    let suite = load(file, &args.eval_file)?;
    let flags = &args.eval_file;
    let mut options = options(flags, args.threshold, prompts);
    options.contained = args.contain;
    let judge = mem::take(&mut args.judge).settings();
    let (targets, recorded) = (flags.targets.as_deref(), flags.outputs.as_deref());
    prepare(suite, targets, recorded, options, judge, runner)
}

/// Applies the options of the command line that decide how tests are repeated and which belong together.
pub(super) fn configure(config: &mut Config, args: &RunArgs) {
    config.retries = args.retries.unwrap_or_default();
    config.repeat = args.repeat;
    config.cluster.clone_from(&args.cluster);
    config.by.clone_from(&args.by);
}

/// Checks an eval file, its targets, and everything that they name. Runs nothing.
pub(super) fn check(file: &Path, args: CheckArgs, runner: &Runner) -> Result<u8, u8> {
    let CheckArgs { given, eval_file: flags, judge, contain, .. } = args;
    if let Some(option) = given.first_of("judge_model judge_samples") {
        return Err(unusable(for_traces(&option, file)));
    }
    let suite = load(file, &flags)?;
    let count = suite.tests.len();
    let file = suite.file.clone();
    let directory = suite.directory.clone();
    let is_planned = contain
        || given.first_of(OF_EVAL_FILES).is_some()
        || targets::find(&directory, &working_directory()?).is_some();
    if is_planned {
        let (targets, outputs) = (flags.targets.as_deref(), flags.outputs.as_deref());
        let mut options = options(&flags, None, false);
        options.contained = contain;
        prepare(suite, targets, outputs, options, judge.settings(), runner)?;
    }
    let targets = if is_planned {
        ""
    } else {
        "; targets were not checked, because no targets.yaml was found"
    };
    let tests = render::counted(u64::try_from(count).unwrap_or(u64::MAX), "test");
    let text = format!("{}: {tests}, no problems{targets}\n", file.display());
    Ok(print(&render::painted(&text), exit::OK))
}

fn options(flags: &EvalFileFlags, threshold: Option<f64>, prompts: bool) -> Options {
    Options {
        threshold,
        test_ids: flags.test_ids.clone(),
        target: flags.target.clone(),
        grader_target: flags.grader_target.clone(),
        prompts,
        max_retries: flags.max_retries.unwrap_or(MAX_RETRIES),
        ..Options::default()
    }
}

fn working_directory() -> Result<PathBuf, u8> {
    env::current_dir()
        .map_err(|error| broken(format!("cannot find the working directory: {error}")))
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Reads an eval file, and shows its problems or its warnings.
fn load(file: &Path, flags: &EvalFileFlags) -> Result<EvalFile, u8> {
    if let Some(reason) = not_read(file) {
        return Err(unusable(reason));
    }
    let mut options = ReadOptions::new(working_directory()?, variable);
    options.is_recorded = flags.outputs.is_some();
    options.has_target = flags.target.is_some();
    let suite = read::read(file, &options).map_err(problems)?;
    suite.warnings.iter().for_each(|it| render::warning(&it.to_string()));
    Ok(suite)
}

fn problems(errors: Vec<ConfigError>) -> u8 {
    errors.iter().for_each(render::config_error);
    exit::USAGE
}

/// Finds the targets and recordings of a suite, and plans its run.
fn prepare(
    suite: EvalFile,
    targets: Option<&Path>,
    outputs: Option<&Path>,
    options: Options,
    judge: JudgeSettings,
    runner: &Runner,
) -> Result<Plan, u8> {
    let found = targets.map(Path::to_owned);
    let directory = working_directory()?;
    let found = found.or_else(|| targets::find(&suite.directory, &directory));
    let targets = match found {
        Some(file) => targets::read(&file, &runner.registries.models).map_err(problems)?,
        None => Targets::default(),
    };
    targets.warnings.iter().for_each(|it| render::warning(&it.to_string()));
    let recordings =
        outputs.map(|outputs| Recordings::read(outputs, runner)).transpose().map_err(unusable)?;
    let session = TargetSession::new(targets, judge, runner.environment()).map_err(unusable)?;
    plan(suite, session, options, recordings.as_ref()).map_err(unusable)
}
