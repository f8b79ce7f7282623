//! What each test needs, checked before anything runs.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    path::PathBuf,
    sync::Arc,
};

use evaluator_host::{
    config::{Config, ContainmentConfig, changeable_paths},
    report::SuiteReport,
    run::{Request, Suite, SuiteInput},
};
use evaluator_judging::{Connection, Identity, Session};
use globset::Glob;
use tokio::sync::Semaphore;

use super::programs::ProgramTable;
use crate::{
    files::has_extension,
    model::{Aggregator, Check, EvalFile, Evaluator, Judge, Test},
    output::{Fixture, Output, Recordings, find, fixtures, joined},
    targets::{CliTarget, ReplayTarget, Target, TargetKind, TargetSession},
};

/// Default of the score from which on a test passes.
const THRESHOLD: f64 = 0.8;

/// Name of the tested target of a suite that names none.
const DEFAULT_TARGET: &str = "default";

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threshold of tests without one of their own.
    pub threshold: Option<f64>,
    /// Patterns of the ids of the tests to run; all if there are none.
    pub test_ids: Vec<String>,
    /// Name of the tested target.
    pub target: Option<String>,
    /// Name of the target that judges.
    pub grader_target: Option<String>,
    /// Repetitions of commands of targets that took too long, whether they are tested or judge.
    pub max_retries: u32,
    /// Whether results hold the prompts of judges.
    pub prompts: bool,
    /// Whether programs run in the sandbox.
    pub contained: bool,
}

/// Reasons why a run cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct PlanError(pub Vec<String>);

/// Tests with what they need.
#[derive(Debug)]
pub struct Plan {
    /// Eval file.
    pub(super) suite: EvalFile,
    /// Tests to run.
    pub(super) tests: Vec<Planned>,
    /// Ids of the tests.
    pub(super) ids: Vec<Arc<str>>,
    /// Programs that the tests start.
    pub(super) programs: ProgramTable,
    /// Indexes of those that are commands of targets, by the names of the targets.
    pub(super) commands: HashMap<String, usize>,
    /// How programs are contained.
    containment: Option<ContainmentConfig>,
    /// Targets.
    pub(super) targets: TargetSession,
    /// Options.
    pub(super) options: Options,
    /// Warnings about the run.
    pub(super) notes: Vec<String>,
}

/// A test to run.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) test: Test,
    /// Score from which on it passes.
    pub(super) threshold: f64,
    /// Where its output comes from.
    pub(super) source: Source,
    /// Name of the judge of entries that name none.
    pub(super) judge: Option<String>,
    /// The tested target; `None` if the output was recorded.
    pub(super) tested: Option<Tested>,
    /// Indexes of the programs of its evaluators.
    pub(super) programs: Vec<usize>,
}

/// The target that is tested.
#[derive(Debug)]
pub(super) struct Tested {
    pub(super) name: String,
    pub(super) provider: String,
    /// Whether it reads files itself.
    pub(super) reads_files: bool,
}

/// Where the output of a test comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// A recording, or the reason why there is none.
    Recorded(Result<Box<Output>, String>),
    /// A command.
    Command(Box<TestedCommand>),
    /// A model.
    Model(Arc<Connection>),
}

/// The command of a tested target.
#[derive(Debug)]
pub(super) struct TestedCommand {
    pub(super) target: CliTarget,
    /// Command with its placeholders.
    pub(super) command: String,
    /// Index of its program.
    pub(super) program: usize,
    /// Limits how many run at the same time.
    pub(super) places: Option<Arc<Semaphore>>,
}

/// State of planning.
struct Planner<'p> {
    suite: &'p EvalFile,
    targets: &'p TargetSession,
    options: &'p Options,
    recordings: Option<&'p Recordings>,
    /// Reasons why the run cannot start.
    problems: Vec<String>,
    notes: Vec<String>,
    /// Limits of the commands of targets, by their names.
    workers: HashMap<String, Arc<Semaphore>>,
    fixtures: HashMap<PathBuf, Vec<Fixture>>,
    programs: ProgramTable,
    commands: HashMap<String, usize>,
    containment: Option<ContainmentConfig>,
}

/// Plans a run: which tests run, where their outputs come from, and which models judge them.
///
/// # Errors
///
/// A target is missing or cannot be used, no model judges, or no test has such an id.
pub fn plan(
    mut suite: EvalFile,
    mut targets: TargetSession,
    options: Options,
    recordings: Option<&Recordings>,
) -> Result<Plan, PlanError> {
    let ids: BTreeSet<String> = suite.tests.iter().map(|test| test.id.clone()).collect();
    let chosen = chosen(&mut suite, &options.test_ids)?;
    targets.command_attempts = Some(options.max_retries.saturating_add(1));
    let mut planner = Planner {
        suite: &suite,
        targets: &targets,
        options: &options,
        recordings,
        problems: Vec::new(),
        notes: Vec::new(),
        workers: HashMap::new(),
        fixtures: HashMap::new(),
        programs: ProgramTable::default(),
        commands: HashMap::new(),
        containment: containment(&suite, &options),
    };
    let planned = chosen.into_iter().map(|test| planner.test(test));
    let tests: Vec<Planned> = planned.collect::<Vec<_>>().into_iter().flatten().collect();
    let Planner { mut problems, mut notes, programs, commands, containment, .. } = planner;
    problems.extend(changeable_paths(&programs.entries).into_iter().map(|it| it.message));
    if !problems.is_empty() {
        return Err(PlanError(problems));
    }
    let recorded = recordings.into_iter().flat_map(Recordings::ids);
    let unused = recorded.filter(|id| !ids.contains(*id));
    notes.extend(unused.map(|id| format!("no test has the id of the recording `{id}`")));
    let ids = tests.iter().map(|planned| Arc::from(&*planned.test.id)).collect();
    Ok(Plan { ids, tests, programs, commands, containment, notes, suite, targets, options })
}

/// Takes the tests whose ids match one of the patterns.
fn chosen(suite: &mut EvalFile, patterns: &[String]) -> Result<Vec<Test>, PlanError> {
    let tests = std::mem::take(&mut suite.tests);
    if patterns.is_empty() {
        return Ok(tests);
    }
    let glob = |pattern: &String| match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(PlanError(vec![format!("--test-id {pattern}: {}", error.kind())])),
    };
    let globs = patterns.iter().map(glob).collect::<Result<Vec<_>, _>>()?;
    let (chosen, others): (Vec<_>, Vec<_>) =
        tests.into_iter().partition(|test| globs.iter().any(|glob| glob.is_match(&test.id)));
    if chosen.is_empty() {
        let ids: Vec<&str> = others.iter().map(|test| &*test.id).take(10).collect();
        let more = if others.len() > ids.len() { ", .." } else { "" };
        let message = format!(
            "no test has an id like {}; ids: {}{more}",
            patterns.join(", "),
            ids.join(", ")
        );
        return Err(PlanError(vec![message]));
    }
    Ok(chosen)
}

impl Plan {
    /// Returns the request that runs the tests with these settings.
    pub fn request(self, config: Config) -> Request {
        let plan = Arc::new(self);
        plan.request_of(Arc::<Self>::clone(&plan), config)
    }

    /// Returns the request that runs a suite with the programs of the plan.
    pub(super) fn request_of(&self, suite: Arc<dyn Suite>, mut config: Config) -> Request {
        config.evaluators.clone_from(&self.programs.entries);
        // Files of programs are named from its directory.
        config.file.get_or_insert_with(|| self.suite.file.clone());
        let form = if self.suite.is_v2() { "2" } else { "4" };
        let warnings = self.suite.warnings.iter().map(ToString::to_string).collect();
        let about = SuiteReport {
            name: self.suite.name.clone(),
            file: self.suite.file.to_string_lossy().into_owned(),
            form: form.to_owned(),
            warnings,
        };
        let warnings = self.notes.clone();
        let mut request = Request::new([] as [PathBuf; 0], config);
        request.suite = Some(SuiteInput { suite, about, warnings });
        request
    }

    /// Returns the name of the suite.
    pub fn name(&self) -> &str {
        &self.suite.name
    }

    /// Returns true if programs are contained.
    pub(super) fn is_contained(&self) -> bool {
        self.containment.is_some()
    }

    /// Returns the session in which the targets are asked.
    pub fn session(&self) -> Session {
        self.targets.session.clone()
    }

    /// Returns what decides about the answers of the judges of evaluators; `None` if changes would not be noticed.
    pub(super) fn judges(
        &self,
        evaluators: &[Evaluator],
        judge: Option<&str>,
    ) -> Option<Vec<Identity>> {
        let mut all = Vec::new();
        for evaluator in evaluators {
            let asked = match &evaluator.check {
                Check::Judge(asked) => Some(asked),
                Check::Composite(composite) => {
                    all.extend(self.judges(&composite.members, judge)?);
                    match &composite.aggregator {
                        Aggregator::Judge(asked) => Some(asked),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some(asked) = asked else { continue };
            let name = asked.target.as_deref().or(judge)?;
            let connection = self.targets.connect(name, asked.model.as_deref()).ok()?;
            all.push(connection.identity().ok()?);
        }
        Some(all)
    }
}

/// Returns how programs are contained; `None` if they are not. They may read the directory of the eval file.
fn containment(suite: &EvalFile, options: &Options) -> Option<ContainmentConfig> {
    let mut config = suite.containment.clone();
    if config == ContainmentConfig::default() {
        "sandbox".clone_into(options.contained.then_some(&mut config.executor)?);
    }
    Arc::make_mut(&mut config.containment).read.insert(0, suite.directory.clone());
    Some(config)
}

impl Planner<'_> {
    /// Adds a reason why the run cannot start, once.
    fn refuse(&mut self, message: String) {
        if !self.problems.contains(&message) {
            self.problems.push(message);
        }
    }

    fn test(&mut self, mut test: Test) -> Option<Planned> {
        let threshold = test.threshold.or(self.options.threshold).or(self.suite.threshold);
        let tested = self.tested_name(&test);
        let source = match self.recordings {
            Some(recordings) => Ok(Source::Recorded(match recordings.get(&test.id) {
                Some(recorded) => recorded.clone().map(Box::new),
                None => Err(format!("there is no recording of the test `{}`", test.id)),
            })),
            None => self.source(&test, &tested),
        };
        let source = source.map_err(|reason| self.refuse(reason)).ok();
        let judge = self.judge_name(&tested);
        self.check(&test.evaluators, judge.as_deref());
        let where_from = (self.targets, self.containment.as_ref());
        let programs = self.programs.add(&mut test.evaluators, judge.as_deref(), where_from);
        let threshold = threshold.unwrap_or(THRESHOLD);
        let target = self.targets.get(&tested).ok().filter(|_| self.recordings.is_none());
        let tested = target.map(|target| Tested {
            name: target.name.clone(),
            provider: target.provider.name().to_owned(),
            reads_files: matches!(target.provider, TargetKind::Cli(_)),
        });
        Some(Planned { test, threshold, source: source?, judge, tested, programs })
    }

    /// Adds the command of a target, and returns the command and the index of its program.
    fn command(&mut self, target: &Target, cli: &CliTarget) -> Result<(String, usize), String> {
        let variables = self.targets.variables();
        let command = cli.command_line(variables)?;
        let directory = match &cli.directory {
            Some(directory) => self.suite.directory.join(directory.resolve(variables)?),
            None => self.suite.directory.clone(),
        };
        let place = (self.targets, self.containment.as_ref());
        let program = self.programs.add_command((&target.name, cli), directory, place);
        self.commands.insert(target.name.clone(), program);
        Ok((command, program))
    }

    fn tested_name(&mut self, test: &Test) -> String {
        let named =
            self.options.target.as_ref().or(test.target.as_ref()).or(self.suite.target.as_ref());
        let named = named.map_or(DEFAULT_TARGET, String::as_str);
        let is_known =
            |name: &str| self.targets.targets.targets.iter().any(|target| target.name == name);
        // AgentV does not look at the target of the file next to a JSONL file.
        let is_lines = has_extension(&self.suite.file, "jsonl");
        if is_lines && self.options.target.is_none() && !is_known(named) && is_known(DEFAULT_TARGET)
        {
            let note = format!("there is no target `{named}`; `{DEFAULT_TARGET}` is tested");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            return DEFAULT_TARGET.to_owned();
        }
        named.to_owned()
    }

    /// Returns the name of the judge: that of the command line, or that of the tested target.
    fn judge_name(&self, tested: &str) -> Option<String> {
        if let Some(name) = &self.options.grader_target {
            return Some(name.clone());
        }
        let target = self.targets.get(tested).ok()?;
        // An alias may have a judge of its own.
        let alias = self.targets.targets.targets.iter().find(|target| target.name == tested);
        let judge = alias.and_then(|alias| alias.judge.as_ref()).or(target.judge.as_ref())?;
        judge.resolve(self.targets.variables()).ok()
    }

    fn source(&mut self, test: &Test, tested: &str) -> Result<Source, String> {
        let targets = self.targets;
        let target = targets.get(tested)?;
        match &target.provider {
            TargetKind::Mock(response) => {
                Ok(Source::Recorded(Ok(Box::new(Output::of_text(response)))))
            }
            TargetKind::Cli(cli) => {
                let (command, program) = self.command(target, cli)?;
                let places = self.workers(target);
                let command = TestedCommand { target: cli.clone(), command, program, places };
                Ok(Source::Command(Box::new(command)))
            }
            TargetKind::Replay(replay) => self.replay(test, replay),
            TargetKind::Model(_) => targets.connect(tested, None).map(Source::Model),
            TargetKind::Unsupported(provider) => Err(format!(
                "{}: the provider `{provider}` of the target `{}` is not supported: run the tests with AgentV, and grade their outputs with --outputs",
                target.position, target.name
            )),
            TargetKind::Alias(_) => {
                Err(format!("{}: the target `{}` is an alias", target.position, target.name))
            }
        }
    }

    /// Returns the limit of the commands of a target.
    fn workers(&mut self, target: &Target) -> Option<Arc<Semaphore>> {
        let most = usize::try_from(target.workers?).unwrap_or(Semaphore::MAX_PERMITS);
        let known = self.workers.entry(target.name.clone());
        Some(Arc::clone(known.or_insert_with(|| Arc::new(Semaphore::new(most)))))
    }

    fn replay(&mut self, test: &Test, replay: &ReplayTarget) -> Result<Source, String> {
        let fixtures = match self.fixtures.entry(replay.fixtures.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(fixtures(&replay.fixtures).map_err(|errors| joined(&errors))?)
            }
        };
        let suite = replay.suite.as_deref().unwrap_or(&self.suite.name);
        let source = (&*replay.source_target, replay.variant.as_deref());
        Ok(Source::Recorded(find(fixtures, (suite, &test.id), source).map(Box::new)))
    }

    /// Checks that every entry that asks a model has one.
    fn check(&mut self, evaluators: &[Evaluator], judge: Option<&str>) {
        for evaluator in evaluators {
            match &evaluator.check {
                Check::Judge(asked) => self.connect(evaluator, asked, judge),
                Check::Program(program) if program.max_calls.is_some() => {
                    self.connect(evaluator, &Judge::new(Judge::NUMBER), judge);
                    self.commands();
                    let refused = self.containment.as_ref().and_then(|it| it.models_problem());
                    if let Some((message, hint)) = refused {
                        let position = &evaluator.position;
                        self.refuse(format!("{position}: `target` is {message} ({hint})"));
                    }
                }
                Check::Composite(composite) => {
                    self.check(&composite.members, judge);
                    if let Aggregator::Judge(asked) = &composite.aggregator {
                        self.connect(evaluator, asked, judge);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the commands of all targets that can be asked, for a program that may name any.
    fn commands(&mut self) {
        let targets = self.targets;
        for target in targets.targets.targets.iter().filter(|_| !targets.is_offline()) {
            if let TargetKind::Cli(cli) = &target.provider {
                // One whose variable is not set is not offered.
                let _ = self.command(target, cli);
            }
        }
    }

    fn connect(&mut self, evaluator: &Evaluator, asked: &Judge, judge: Option<&str>) {
        let Some(name) = asked.target.as_deref().or(judge) else {
            self.refuse(format!(
                "{}: `{}` needs a model that judges: name one with `grader_target` of the tested target, or with --grader-target",
                evaluator.position, evaluator.name
            ));
            return;
        };
        let (targets, mut reason) = (self.targets, None);
        if let Ok(target @ Target { provider: TargetKind::Cli(judge), .. }) = targets.get(name)
            && !targets.is_offline()
        {
            reason = self.command(target, judge).err();
        }
        let connected = targets.connect(name, asked.model.as_deref()).map(drop);
        if let Some(reason) = reason.or(connected.err()) {
            let place = asked.target.as_ref().map(|_| format!("{}: ", evaluator.position));
            self.refuse(format!("{}{reason}", place.unwrap_or_default()));
        }
    }
}
