//! `evaluator check`.

use std::path::Path;

use evaluator_host::{
    config::{Config, ConfigError},
    run::{Finding, Runner},
};

use super::{
    bundle, discovery, ensure_contained, ensure_runnable, eval_file, load_config, show_table,
    unusable, watched,
};
use crate::{
    args::{CheckArgs, JudgeFlags, eval_file::OF_EVAL_FILES},
    exit, render,
    render::Columns,
    signals,
};

/// Loads a configuration, looks for everything it names, and asks programs for their descriptions. Evaluates nothing.
pub(super) fn check(mut args: CheckArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    let file =
        discovery::required(args.config.take().or(args.named.take()), "name the configuration")?;
    if eval_file::is_eval_file(&file) {
        if let Some(option) = args.given.first_of("locked build") {
            return Err(unusable(format!(
                "{option} belongs to configurations, and {} is an eval file",
                file.display()
            )));
        }
        return eval_file::check(&file, args, &runner);
    }
    if let Some(option) = args.given.first_of(OF_EVAL_FILES) {
        return Err(unusable(eval_file::not_one(&option, &file)));
    }
    let config = load(&file, args.judge, &mut runner)?;
    let runnable = ensure_runnable(&config, verbose);
    let judged = runner.judges(&config).inspect_err(render::config_error);
    let contained = ensure_contained(args.contain, &config, &runner);
    let remotes = runner.uncontained_remotes(&config);
    if !remotes.is_empty() {
        render::note(&render::uncontained(&remotes));
    }
    runner.locked = args.locked;
    let mut findings = runner.check(&config);
    signals::watch(runner.cancellation.clone());
    let examination =
        watched(verbose, async |on_event| runner.examine(&config, args.build, on_event).await)?;
    for problem in examination.problems {
        let known = findings
            .iter_mut()
            .find(|finding| finding.subject == problem.subject && finding.result.is_ok());
        if let Some(finding) = known {
            *finding = problem;
        }
    }
    if !examination.not_built.is_empty() {
        render::warning(&format!(
            "not built, so that names and settings were not checked: {} (`check --build` builds them)",
            examination.not_built.join(", ")
        ));
    }
    if let Err(error) = &judged {
        mark_unusable(&mut findings, &config, error);
    }
    let mut table = Columns::new(["", "Name", "Finding"]);
    for finding in &findings {
        let (mark, text) = match &finding.result {
            Ok(what) => ("[PASS]", what),
            Err(problem) => ("[FAIL]", problem),
        };
        table.row([mark.to_owned(), finding.subject.clone(), text.clone()]);
    }
    let sound = runnable.is_ok()
        && judged.is_ok()
        && contained.is_ok()
        && findings.iter().all(|finding| finding.result.is_ok());
    Ok(show_table(table, 2, if sound { exit::OK } else { exit::USAGE }))
}

/// Loads a configuration, with the options about judges, and opens its bundle if it is in one.
fn load(file: &Path, judge: JudgeFlags, runner: &mut Runner) -> Result<Config, u8> {
    bundle::open(Some(file), runner)?;
    let mut config = load_config(Some(file), runner)?;
    judge.overrides().apply(&mut config, &runner.registries.metrics);
    Ok(config)
}

/// Replaces the findings of evaluators whose models cannot be used.
fn mark_unusable(findings: &mut [Finding], config: &Config, error: &ConfigError) {
    for problem in &error.problems {
        // The position may be that of settings for all entries.
        let is_about = |name: &str| problem.message.starts_with(&format!("`{name}`"));
        let entry = config.evaluators.iter().find(|it| is_about(&it.name));
        let finding = findings
            .iter_mut()
            .find(|finding| entry.is_some_and(|entry| entry.name == finding.subject));
        if let Some(finding) = finding {
            finding.result = Err(problem.message.clone());
        }
    }
}
