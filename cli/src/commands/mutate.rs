//! `evaluator mutate`: damaged conversations, and whether evaluators notice.

mod calls;
mod eval_files;
mod graders;
mod sources;
mod trials;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_host::{
    config::{Config, EvaluatorConfig, EvaluatorKind},
    document::did_you_mean,
    files::{WriteOptions, atomic_write},
    json,
    run::{Request, Runner, turns_document},
};
use evaluator_mutation::{
    Choice, Effect, EvaluatorReport, Expectations, Kind, MutationReport, OTHER_ORDER, Observed,
    Outcome, RelationCounts, Role, Shown, Sums, Tried, Violation, changed, diff, of_metric,
};

use self::{
    sources::Bases,
    trials::{Laboratory, Names, RAISED, Raised, Subjected, Tested},
};
use super::{
    broken, eval_file, load_config, open_session, run, unusable, watched, written::Written,
};
use crate::{
    args::{MutateArgs, ResultForm, ResultOutput, RunArgs, run_again},
    exit, render, signals,
};

/// Tries evaluators on damaged conversations. Returns the exit code.
pub(super) fn mutate(args: MutateArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    runner.locked = args.locked;
    runner.jobs = args.jobs.unwrap_or(runner.jobs);
    signals::watch(runner.cancellation.clone());
    let tested = tested(&args, verbose, &mut runner)?;
    let Tested { originals, tests, config, mut subjected, paths } = tested;
    let mut laboratory =
        Laboratory { runner: &runner, config, originals, tests, verbose, names: HashMap::new() };
    laboratory.evaluate_undamaged(&mut subjected, args.case.as_deref())?;
    let choice = Choice {
        sample: args.sample,
        seed: args.seed,
        relations: !args.no_relations,
        operators: args.operators.clone(),
        only: args.only,
    };
    let reports = match subjected.iter().all(|it| it.refusal.is_some()) {
        true => subjected.iter().map(refused).collect(),
        false => tried(&laboratory, &mut subjected, &choice, (&args, &paths))?,
    };
    let max_error_rate = args.max_error_rate.unwrap_or(laboratory.config.max_error_rate);
    let code = exit::worst(reports.iter().map(|it| code(it, args.min_killed, max_error_rate)));
    let MutateArgs { seed, sample, min_killed, .. } = args;
    let report = MutationReport { seed, sample, min_killed, evaluators: reports };
    let code = exit::worst([code, write(&report, code, &args.output)]);
    render::mutation_verdict(&report.evaluators, min_killed, code);
    Ok(code)
}

/// Tries evaluators on edited conversations. Returns their reports.
fn tried(
    laboratory: &Laboratory<'_>,
    subjected: &mut [Subjected],
    choice: &Choice,
    (args, paths): (&MutateArgs, &HashMap<String, String>),
) -> Result<Vec<EvaluatorReport>, u8> {
    let bases = laboratory.evaluate_edited(subjected, choice)?;
    let is_only = |tried: &Tried| args.only.is_some_and(|only| tried.trial.mutation == only);
    let has_only = subjected.iter().flat_map(|it| &it.tried).any(is_only);
    if let (Some(only), false) = (args.only, has_only) {
        let (any, evaluator) = match laboratory.tests {
            None => ("any conversation", "evaluator"),
            Some(_) => ("any test", "grader"),
        };
        let case = args.case.as_deref().unwrap_or(any);
        return Err(unusable(format!(
            "`{only}` does not apply to {case}, or no {evaluator} passes {case} as it is"
        )));
    }
    let is_damage = |tried: &Tried| matches!(tried.trial.role, Role::Damage(_));
    if args.only.is_none() && !subjected.iter().flat_map(|it| &it.tried).any(is_damage) {
        for it in subjected.iter_mut().filter(|it| it.refusal.is_none()) {
            let noun = it.conversations.noun;
            it.refusal = Some(format!(
                "nothing to damage: no operator that concerns it changes one of the {noun}s that it passes"
            ));
        }
    }
    if choice.relations && choice.only.is_none() {
        laboratory.evaluate_raised(subjected)?;
    }
    let shown = Shower { bases: &bases, names: &laboratory.names, args, paths };
    let reports = subjected.iter().map(|it| shown.report(it)).collect::<Result<_, _>>();
    let reports = reports.map_err(broken)?;
    if let Some(directory) = &args.save {
        shown.save(directory, subjected).map_err(broken)?;
    }
    Ok(reports)
}

/// Returns the evaluators that are tried.
fn tested(args: &MutateArgs, verbose: u8, runner: &mut Runner) -> Result<Tested, u8> {
    let run_args = run_again(&args.given.deciding, &args.traces).map_err(unusable)?;
    if let Some(file) = eval_file::given(&run_args, runner).map_err(unusable)? {
        let tested = eval_files::tested(&file, (args, run_args), runner)?;
        let hint = "name graders whose type says so with --evaluator";
        refuse_unknown_kinds(args, &tested.subjected, hint)?;
        return Ok(tested);
    }
    let (config, paths) = configuration(args, run_args, runner)?;
    let subjected = |it: &EvaluatorConfig| {
        Subjected::new(&it.name, expectations(it), it.threshold(), "conversation")
    };
    let subjected: Vec<Subjected> = config.evaluators.iter().map(subjected).collect();
    let hint = "write `mutate: {kind: answer}` into its entry (or tools, rubric, form, budget)";
    refuse_unknown_kinds(args, &subjected, hint)?;
    runner.session = Some(open_session(&config, verbose, runner)?);
    let request = Request::new(args.traces.clone(), config.clone());
    let recordings =
        watched(verbose, async |on_event| runner.recordings(&request, on_event).await)?;
    let recordings = recordings.map_err(|_| match runner.cancellation.is_cancelled() {
        true => broken("it was interrupted; there is no report"),
        // The errors have been shown.
        false => unusable("the traces or the eval set cannot be used as they are"),
    })?;
    Ok(Tested { originals: Arc::new(recordings), tests: None, config, subjected, paths })
}

/// Returns the configuration of the evaluators that are tried, and the paths of programs that were given by them, by their names.
fn configuration(
    args: &MutateArgs,
    mut run_args: RunArgs,
    runner: &mut Runner,
) -> Result<(Config, HashMap<String, String>), u8> {
    let names = programs(args, &mut run_args, runner)?;
    run_args.judge.judge_budget.clone_from(&args.judge.judge_budget);
    let programs = run_args.evaluators.clone();
    let mut config = run::configuration(&mut run_args, runner)?;
    // They follow the entries.
    let entries = config.evaluators.len().saturating_sub(programs.len());
    let names_of_programs = config.evaluators.iter().skip(entries).map(|it| it.name.clone());
    let shown = programs.iter().map(|path| path.display().to_string());
    let paths: HashMap<String, String> = names_of_programs.zip(shown).collect();
    for name in &names {
        if !config.evaluators.iter().any(|it| it.name == *name) {
            let known = || config.evaluators.iter().map(|it| it.name.as_str());
            let hint = did_you_mean(name, known())
                .unwrap_or_else(|| format!("there are {}", known().collect::<Vec<_>>().join(", ")));
            return Err(unusable(format!(
                "there is no evaluator `{name}` in the configuration, and no program of that path; {hint}"
            )));
        }
    }
    if !args.named.is_empty() && args.config.is_some() || !names.is_empty() {
        config.evaluators.retain(|it| names.contains(&it.name) || paths.contains_key(&it.name));
    }
    config.gates.clear();
    config.until_decided = false;
    config.fail_fast = false;
    config.baseline = None;
    own_cassettes(&mut config, args.judge.judge_cassette.is_some());
    Ok((config, paths))
}

/// Moves the paths of programs to the arguments of a run. Returns the names of entries.
fn programs(args: &MutateArgs, run_args: &mut RunArgs, runner: &Runner) -> Result<Vec<String>, u8> {
    let config = load_config(args.config.as_deref(), runner)?;
    let mut names = Vec::new();
    for name in &args.named {
        let is_entry = config.evaluators.iter().any(|it| it.name == *name);
        match Path::new(name).exists() && !is_entry {
            true => run_args.evaluators.push(PathBuf::from(name)),
            false => names.push(name.clone()),
        }
    }
    Ok(names)
}

/// Gives judges recordings of their own, next to those of runs: damaged conversations are other questions.
fn own_cassettes(config: &mut Config, is_named: bool) {
    let own = |path: &mut PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let extension = path.extension().map(|it| format!(".{}", it.to_string_lossy()));
        path.set_file_name(format!("{stem}-mutate{}", extension.unwrap_or_default()));
    };
    if !is_named {
        config.judge.cassette.iter_mut().for_each(own);
    }
    let judges = config.evaluators.iter_mut().filter_map(EvaluatorConfig::judge_mut);
    judges.filter_map(|judge| judge.cassette.as_mut()).for_each(own);
}

/// Returns what an evaluator has to notice: what its entry says, else what is known about its type.
fn expectations(evaluator: &EvaluatorConfig) -> Expectations {
    // A judge must not obey what it judges.
    let judged = |compares: bool| match compares {
        true => Expectations::of(Kind::Answer).with(&["inject_judge"], Effect::Down),
        false => Expectations::of(Kind::Rubric),
    };
    let mut expectations = match &evaluator.kind {
        EvaluatorKind::Builtin(builtin) => of_metric(&evaluator.name, &builtin.settings),
        EvaluatorKind::LlmJudge(llm_judge) => judged(llm_judge.judged_by.compares()),
        EvaluatorKind::OpenAiEval(openai) if openai.judge.is_some() => {
            judged(openai.grader.compares())
        }
        EvaluatorKind::OpenAiEval(openai) if openai.grader.compares() => {
            Expectations::of(Kind::Answer)
        }
        _ => Expectations::default(),
    };
    let own = &evaluator.mutate;
    if own.kind.is_some_and(|kind| expectations.kind != Some(kind)) {
        expectations = Expectations { kind: own.kind, ..Expectations::default() };
    }
    expectations.effects.extend(own.effects.iter().cloned());
    expectations.skip.extend(own.skip.iter().cloned());
    expectations
}

/// Refuses a limit for evaluators of which nothing is known. `hint` says what to do.
fn refuse_unknown_kinds(args: &MutateArgs, subjected: &[Subjected], hint: &str) -> Result<(), u8> {
    let unknown = subjected.iter().find(|it| it.expectations.kind.is_none());
    match unknown.filter(|_| args.min_killed.is_some()) {
        None => Ok(()),
        Some(it) => Err(unusable(format!(
            "`--min-killed` needs to know what `{}` measures: {hint}, or leave the option out to see what it notices",
            it.name
        ))),
    }
}

/// Returns the exit code of an evaluator.
fn code(report: &EvaluatorReport, min_killed: Option<f64>, max_error_rate: f64) -> u8 {
    let undamaged = &report.conversations;
    let asked = undamaged.passed + undamaged.failed + undamaged.errors + undamaged.unstable.len();
    let broke =
        |errors: usize, all: usize| errors > 0 && errors as f64 > max_error_rate * all as f64;
    let mut codes = vec![exit::OK];
    let of_relations: usize = report.relations.iter().map(|it| it.broke).sum();
    let compared: usize = report.relations.iter().map(|it| it.checked).sum();
    if broke(undamaged.errors, asked)
        || broke(report.counts.broke, report.counts.mutants)
        || broke(of_relations, of_relations + compared)
    {
        codes.push(exit::ERRORED);
    }
    if report.refusal.is_some() {
        codes.push(exit::USAGE);
    }
    let rate = report.counts.kill_rate.map(|rate| rate.rate);
    match min_killed.zip(rate) {
        Some((limit, rate)) if rate < limit => codes.push(exit::FAILED),
        None if min_killed.is_some() => codes.push(exit::USAGE),
        _ => {}
    }
    if report.violations > 0 {
        codes.push(exit::FAILED);
    }
    exit::worst(codes)
}

/// Returns the report of an evaluator that was not tried.
fn refused(it: &Subjected) -> EvaluatorReport {
    let sums = Sums::new(&it.tried, &[], it.expectations.kind.is_some());
    EvaluatorReport {
        evaluator: it.name.to_string(),
        kind: it.expectations.kind,
        conversations: it.conversations.clone(),
        refusal: it.refusal.clone(),
        counts: sums.counts,
        ..EvaluatorReport::default()
    }
}

/// Returns what is shown of an error.
fn error(observed: &Observed) -> Option<String> {
    match observed {
        Observed::Error { error_type, message } => Some(format!("{error_type}: {message}")),
        _ => None,
    }
}

/// Shows edits of conversations.
struct Shower<'s> {
    bases: &'s Bases,
    names: &'s HashMap<usize, Names>,
    args: &'s MutateArgs,
    paths: &'s HashMap<String, String>,
}

impl Shower<'_> {
    /// Returns the report of an evaluator.
    fn report(&self, it: &Subjected) -> Result<EvaluatorReport, String> {
        if it.refusal.is_some() {
            return Ok(refused(it));
        }
        let sums = Sums::new(&it.tried, &it.operators, it.expectations.kind.is_some());
        let survived = |tried: &&Tried| {
            let outcome = tried.outcome();
            matches!(outcome, Some((Effect::Down, Outcome::Survived | Outcome::Noticed)))
        };
        let mut survivors = Vec::new();
        for tried in it.tried.iter().filter(survived) {
            survivors.push(self.shown(it, tried, "down", tried.before)?);
        }
        survivors.sort_by_cached_key(|shown: &Shown| changed(&shown.diff));
        let all = |all: &[Violation<'_>]| -> Result<Vec<Shown>, String> {
            all.iter().map(|one| self.shown(it, one.tried, &one.relation, one.before)).collect()
        };
        let (mut broken, mut violated) = (all(&sums.broken)?, all(&sums.violations)?);
        let Sums { counts, operators, mut relations, .. } = sums;
        let mut counts_of_raised =
            RelationCounts { relation: RAISED.to_owned(), ..Default::default() };
        for raised in &it.raised {
            let is_broken = matches!(raised.observed, Observed::Error { .. });
            counts_of_raised.broke += usize::from(is_broken);
            counts_of_raised.checked += usize::from(!is_broken);
            if is_broken {
                broken.push(self.raised(it, raised));
            } else if matches!(raised.observed, Observed::Scored { passed: true, .. }) {
                counts_of_raised.violations += 1;
                violated.push(self.raised(it, raised));
            }
        }
        relations.extend((!it.raised.is_empty()).then_some(counts_of_raised));
        let violations = violated.len();
        Ok(EvaluatorReport {
            counts,
            violations,
            operators,
            relations,
            survivors,
            violated,
            broken,
            ..refused(it)
        })
    }

    fn shown(
        &self,
        it: &Subjected,
        tried: &Tried,
        expected: &str,
        before: f64,
    ) -> Result<Shown, String> {
        let names = self.names.get(&tried.trial.conversation).cloned().unwrap_or_default();
        let [old, new] = self.documents(tried)?;
        let mutant = tried.trial.mutation.to_string();
        let case = format!("--case={}", names.case);
        // The order differs only if there are other conversations.
        let is_alone = tried.trial.mutation.operator.name != OTHER_ORDER;
        let options = ["--only", &*mutant, &*case];
        Ok(Shown {
            again: self.command(it, if is_alone { &options } else { &options[..2] }),
            mutant,
            case: names.case,
            trace_id: names.trace_id,
            expected: expected.to_owned(),
            before,
            after: tried.observed.score(),
            diff: diff(&old, &new),
            error: error(&tried.observed),
        })
    }

    /// Returns a failure that passes with a higher threshold.
    fn raised(&self, it: &Subjected, raised: &Raised) -> Shown {
        let Raised { number, thresholds: [before, after], observed } = raised;
        let names = self.names.get(number).cloned().unwrap_or_default();
        Shown {
            mutant: RAISED.to_owned(),
            case: names.case,
            trace_id: names.trace_id,
            expected: RAISED.to_owned(),
            before: *before,
            after: observed.score(),
            diff: format!("-  \"threshold\": {before},\n+  \"threshold\": {after},\n"),
            error: error(observed),
            again: self.command(it, &[]),
        }
    }

    /// Returns the documents of a conversation and of its edit.
    fn documents(&self, tried: &Tried) -> Result<[String; 2], String> {
        let number = tried.trial.conversation;
        let read = |error: &dyn std::fmt::Display| error.to_string();
        let base = self.bases.load(number).map_err(|error| read(&error))?;
        let edited = self.bases.edited(number, &tried.trial.mutation).map_err(|it| read(&it))?;
        let golden = self.bases.golden(&base);
        let text = |conversation| json::to_pretty(&turns_document(conversation, golden)) + "\n";
        Ok([text(&base.conversation), text(&edited)])
    }

    /// Returns the command line with these options for an evaluator.
    fn command(&self, it: &Subjected, options: &[&str]) -> String {
        let mut words = vec!["evaluator".to_owned(), "mutate".to_owned()];
        words.extend(self.args.traces.iter().map(|path| path.display().to_string()));
        words.extend(self.args.given.deciding.iter().cloned());
        let name = self.paths.get(&*it.name).map_or(&*it.name, String::as_str);
        words.push(format!("--evaluator={name}"));
        words.extend(options.iter().map(|word| (*word).to_owned()));
        let quoted: Vec<_> = words.iter().map(|word| shell_words::quote(word)).collect();
        quoted.join(" ")
    }

    /// Writes the names of what was killed and of what survived, and the documents of survivors.
    fn save(&self, directory: &Path, subjected: &[Subjected]) -> Result<(), String> {
        let failed = |path: &Path, error: std::io::Error| {
            format!("cannot write {}: {error}", path.display())
        };
        fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            atomic_write(&path, WriteOptions::default(), |out| out.write_all(text.as_bytes()))
                .map_err(|error| failed(&path, error))
        };
        let (mut killed, mut survived) = (String::new(), String::new());
        let mut number = 0;
        for it in subjected {
            for tried in &it.tried {
                let names = self.names.get(&tried.trial.conversation).cloned().unwrap_or_default();
                let line = format!("{}\t{}\t{}\n", it.name, tried.trial.mutation, names.case);
                match tried.outcome() {
                    Some((_, Outcome::Killed)) => killed.push_str(&line),
                    Some((_, Outcome::Survived)) => {
                        number += 1;
                        survived.push_str(&format!("survivor-{number:04}.json\t{line}"));
                        let [_, document] = self.documents(tried)?;
                        write(&format!("survivor-{number:04}.json"), &document)?;
                    }
                    _ => {}
                }
            }
        }
        write("killed.txt", &killed)?;
        write("survived.txt", &survived)
    }
}

/// Writes the report in all forms; `outcome` is the exit code of what was found. Returns the exit code.
fn write(report: &MutationReport, outcome: u8, outputs: &[ResultOutput]) -> u8 {
    Written("report").write_forms(outputs, |form, width| match form {
        ResultForm::Table => Ok(render::mutation(&report.evaluators, width)),
        ResultForm::Markdown => Ok(render::mutation_markdown(report)),
        ResultForm::Json => Ok(serde_json::to_string_pretty(report)? + "\n"),
        ResultForm::Html => render::mutation_html(report, outcome),
    })
}
