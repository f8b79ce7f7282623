//! What each test needs, checked before anything runs.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use evaluator_models::{ModelError, ProxiedModel};
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::{
    model::{Aggregator, Check, Evaluator, Generation, Judge, Suite, Test},
    output::{Fixture, Output, Recordings, Wanted, fixtures},
    targets::{CliTarget, JudgeTarget, Provider, Starter, Target, Targets},
};

/// Score from which on a test passes if nothing says otherwise.
const THRESHOLD: f64 = 0.8;

/// Name of the tested target of a suite that names none.
const DEFAULT_TARGET: &str = "default";

/// Options of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Threshold of tests without one of their own.
    pub threshold: Option<f64>,
    /// Patterns of the ids of the tests to run; all if there are none.
    pub test_ids: Vec<String>,
    /// Name of the tested target.
    pub target: Option<String>,
    /// Name of the target that judges.
    pub grader_target: Option<String>,
    /// Repetitions of commands that took too long.
    pub max_retries: u32,
}

/// Reasons why a run cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct PlanError(pub Vec<String>);

/// Tests with what they need.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Eval file.
    pub(super) suite: Suite,
    /// Tests to run.
    pub(super) tests: Vec<Planned>,
    /// Targets that judge, by name and model.
    pub(super) judges: HashMap<(String, Option<String>), JudgeTarget>,
    /// Targets that programs may ask, by name.
    pub(super) proxied: Vec<(String, Proxied)>,
    /// What starts targets.
    pub(super) starter: Starter,
    /// Options.
    pub(super) options: Options,
    /// Warnings about the run.
    pub(super) notes: Vec<String>,
}

/// A target that programs may ask.
#[derive(Clone, Debug)]
pub(super) enum Proxied {
    Target(Box<JudgeTarget>),
    /// It cannot be asked, for this reason.
    Unusable(String),
}

/// A test to run.
#[derive(Debug)]
pub(super) struct Planned {
    /// Index in the suite.
    pub(super) index: usize,
    /// Score from which on it passes.
    pub(super) threshold: f64,
    /// Where its output comes from.
    pub(super) source: Source,
    /// Name of the judge of entries that name none.
    pub(super) judge: Option<String>,
}

/// Where the output of a test comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A recording.
    Recorded(Box<Output>),
    /// There is none, for this reason.
    Missing(String),
    /// A command; at most so many at the same time.
    Command(CliTarget, Option<Arc<tokio::sync::Semaphore>>),
    /// A model.
    Model(JudgeTarget),
}

impl Plan {
    /// Returns the test of an index.
    pub(super) fn test(&self, planned: &Planned) -> Option<&Test> {
        self.suite.tests.get(planned.index)
    }

    /// Returns provider and model of every judge, to check budgets.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.judges.values().map(|judge| (judge.endpoint.provider(), judge.endpoint.model()))
    }

    /// Returns the number of tests that will run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Returns true if no test will run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

/// State of planning.
struct Planner<'p> {
    suite: &'p Suite,
    targets: &'p Targets,
    starter: &'p Starter,
    options: &'p Options,
    recordings: Option<&'p Recordings>,
    problems: BTreeSet<String>,
    /// In the order in which they were found.
    messages: Vec<String>,
    notes: Vec<String>,
    judges: HashMap<(String, Option<String>), JudgeTarget>,
    sources: HashMap<String, Result<Tested, String>>,
    needs_proxy: bool,
}

/// A tested target.
#[derive(Clone, Debug)]
enum Tested {
    Command(CliTarget, Option<Arc<tokio::sync::Semaphore>>),
    Mock(String),
    Replay(Arc<Vec<Fixture>>, Box<crate::targets::ReplayTarget>),
    Model(JudgeTarget),
}

/// Plans a run: which tests run, where their outputs come from, and which models judge them.
///
/// # Errors
///
/// A target is missing or cannot be used, no model judges, or no test has such an id.
pub fn plan(
    suite: Suite,
    targets: &Targets,
    starter: Starter,
    options: Options,
    recordings: Option<&Recordings>,
) -> Result<Plan, PlanError> {
    let chosen = chosen(&suite, &options.test_ids)?;
    let mut planner = Planner {
        suite: &suite,
        targets,
        starter: &starter,
        options: &options,
        recordings,
        problems: BTreeSet::new(),
        messages: Vec::new(),
        notes: Vec::new(),
        judges: HashMap::new(),
        sources: HashMap::new(),
        needs_proxy: false,
    };
    let mut tests = Vec::new();
    for index in chosen {
        tests.extend(suite.tests.get(index).and_then(|test| planner.test(index, test)));
    }
    if let Some(recordings) = recordings {
        let ids: BTreeSet<&str> = suite.tests.iter().map(|test| &*test.id).collect();
        let unused = recordings.ids().filter(|id| !ids.contains(id));
        planner
            .notes
            .extend(unused.map(|id| format!("no test has the id of the recording `{id}`")));
    }
    let proxied = if planner.needs_proxy { planner.proxied() } else { Vec::new() };
    let Planner { messages, notes, judges, .. } = planner;
    if !messages.is_empty() {
        return Err(PlanError(messages));
    }
    Ok(Plan { tests, judges, proxied, notes, suite, starter, options })
}

/// Returns the indexes of the tests whose ids match one of the patterns.
fn chosen(suite: &Suite, patterns: &[String]) -> Result<Vec<usize>, PlanError> {
    let all = 0..suite.tests.len();
    if patterns.is_empty() {
        return Ok(all.collect());
    }
    let globs = globs(patterns).map_err(|error| PlanError(vec![error]))?;
    let chosen: Vec<usize> = all
        .filter(|index| suite.tests.get(*index).is_some_and(|test| globs.is_match(&test.id)))
        .collect();
    if chosen.is_empty() {
        let ids: Vec<&str> = suite.tests.iter().map(|test| &*test.id).take(10).collect();
        let more = if suite.tests.len() > ids.len() { ", .." } else { "" };
        let message = format!(
            "no test has an id like {}; ids: {}{more}",
            patterns.join(", "),
            ids.join(", ")
        );
        return Err(PlanError(vec![message]));
    }
    Ok(chosen)
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(
            Glob::new(pattern).map_err(|error| format!("--test-id {pattern}: {}", error.kind()))?,
        );
    }
    builder.build().map_err(|error| error.to_string())
}

impl Planner<'_> {
    /// Adds a reason why the run cannot start, once.
    fn refuse(&mut self, message: String) {
        if self.problems.insert(message.clone()) {
            self.messages.push(message);
        }
    }

    fn test(&mut self, index: usize, test: &Test) -> Option<Planned> {
        let threshold = test.threshold.or(self.options.threshold).or(self.suite.threshold);
        let tested = self.tested_name(test);
        let source = match self.recordings {
            Some(recordings) => match recordings.get(&test.id) {
                Some(Ok(output)) => Some(Source::Recorded(Box::new(output.clone()))),
                Some(Err(reason)) => Some(Source::Missing(reason.clone())),
                None => Some(Source::Missing(format!(
                    "there is no recording of the test `{}`",
                    test.id
                ))),
            },
            None => self.source(test, &tested),
        };
        let judge = self.judge_name(&tested);
        self.check(&test.evaluators, judge.as_deref());
        let threshold = threshold.unwrap_or(THRESHOLD);
        Some(Planned { index, threshold, source: source?, judge })
    }

    fn tested_name(&mut self, test: &Test) -> String {
        let named =
            self.options.target.as_ref().or(test.target.as_ref()).or(self.suite.target.as_ref());
        let named = named.map_or(DEFAULT_TARGET, String::as_str);
        let is_known = |name: &str| self.targets.targets.iter().any(|target| target.name == name);
        // AgentV does not look at the target of the file next to a JSONL file.
        let is_lines =
            self.suite.file.extension().is_some_and(|it| it.eq_ignore_ascii_case("jsonl"));
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
        let target = self.targets.get(tested, &self.starter.variables).ok()?;
        // An alias may have a judge of its own.
        let alias = self.targets.targets.iter().find(|target| target.name == tested);
        let judge = alias.and_then(|alias| alias.judge.as_ref()).or(target.judge.as_ref())?;
        judge.resolve(&self.starter.variables).ok()
    }

    fn source(&mut self, test: &Test, tested: &str) -> Option<Source> {
        if !self.sources.contains_key(tested) {
            let target = self.targets.get(tested, &self.starter.variables);
            let found = target.and_then(|target| self.tested(target));
            self.sources.insert(tested.to_owned(), found);
        }
        match self.sources.get(tested)?.clone() {
            Ok(Tested::Command(command, places)) => Some(Source::Command(command, places)),
            Ok(Tested::Mock(response)) => {
                Some(Source::Recorded(Box::new(Output::of_text(&response))))
            }
            Ok(Tested::Model(model)) => Some(Source::Model(model)),
            Ok(Tested::Replay(fixtures, replay)) => {
                let wanted = Wanted {
                    suite: replay.suite.as_deref().unwrap_or(&self.suite.name),
                    test_id: &test.id,
                    source_target: Some(&replay.source_target),
                    variant: replay.variant.as_deref(),
                };
                Some(match wanted.find(&fixtures) {
                    Ok(output) => Source::Recorded(Box::new(output)),
                    Err(reason) => Source::Missing(reason),
                })
            }
            Err(reason) => {
                self.refuse(reason);
                None
            }
        }
    }

    fn tested(&self, target: &Target) -> Result<Tested, String> {
        match &target.provider {
            Provider::Mock(response) => Ok(Tested::Mock(response.clone())),
            Provider::Cli(command) => {
                command.command.resolve(&self.starter.variables)?;
                let places = target.workers.map(|count| {
                    Arc::new(tokio::sync::Semaphore::new(
                        usize::try_from(count).unwrap_or(usize::MAX),
                    ))
                });
                Ok(Tested::Command(command.clone(), places))
            }
            Provider::Replay(replay) => {
                let recorded = fixtures(&replay.fixtures).map_err(|error| error.to_string())?;
                Ok(Tested::Replay(Arc::new(recorded), Box::new(replay.clone())))
            }
            Provider::Model(_) => self.starter.connect(target, None).map(Tested::Model),
            Provider::Unsupported(provider) => Err(format!(
                "{}: the provider `{provider}` of the target `{}` is not supported: run the tests with AgentV, and grade their outputs with --outputs",
                target.position, target.name
            )),
            Provider::Alias(_) => {
                Err(format!("{}: the target `{}` is an alias", target.position, target.name))
            }
        }
    }

    /// Checks that every entry that asks a model has one.
    fn check(&mut self, evaluators: &[Evaluator], judge: Option<&str>) {
        for evaluator in evaluators {
            match &evaluator.check {
                Check::Judge(asked) => self.connect(evaluator, asked, judge),
                Check::Program(program) if program.max_calls.is_some() => {
                    self.needs_proxy = true;
                    self.connect(evaluator, &Judge::new(Judge::NUMBER), judge);
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

    fn connect(&mut self, evaluator: &Evaluator, asked: &Judge, judge: Option<&str>) {
        let Some(name) = asked.target.as_deref().or(judge) else {
            self.refuse(format!(
                "{}: `{}` needs a model that judges: name one with `grader_target` of the tested target, or with --grader-target",
                evaluator.position, evaluator.name
            ));
            return;
        };
        let key = (name.to_owned(), asked.model.clone());
        if self.judges.contains_key(&key) {
            return;
        }
        let target = self.targets.get(name, &self.starter.variables);
        let connected =
            target.and_then(|target| self.starter.connect(target, asked.model.as_deref()));
        match connected {
            Ok(target) => {
                self.judges.insert(key, target);
            }
            Err(reason) => {
                let place = asked.target.as_ref().map(|_| format!("{}: ", evaluator.position));
                self.refuse(format!("{}{reason}", place.unwrap_or_default()));
            }
        }
    }

    /// Returns all targets for programs. Those that cannot be asked are there with the reason.
    fn proxied(&self) -> Vec<(String, Proxied)> {
        let connect = |target: &Target| {
            let behind = self.targets.get(&target.name, &self.starter.variables);
            match behind.and_then(|behind| self.starter.connect(behind, None)) {
                Ok(connected) => Proxied::Target(Box::new(connected)),
                Err(reason) => Proxied::Unusable(reason),
            }
        };
        self.targets.targets.iter().map(|target| (target.name.clone(), connect(target))).collect()
    }
}

/// A model that cannot be asked.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) name: String,
    pub(super) reason: String,
}

impl ProxiedModel for Unusable {
    fn label(&self) -> String {
        self.name.clone()
    }

    fn ask(
        &self,
        _request: evaluator_models::Request,
        _limit: std::time::Duration,
    ) -> Result<evaluator_models::Answer, ModelError> {
        Err(ModelError::new(evaluator_models::ErrorKind::Config, self.reason.clone()))
    }
}

/// Returns true for the generation in which replies are not repaired.
pub(super) fn is_v2(suite: &Suite) -> bool {
    suite.generation == Generation::V2
}
