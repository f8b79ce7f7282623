//! Contents of a plan: evaluators, each prepared or with the reason why it is not, and their programs.

use std::{fmt, future::Future, io, path::Path, pin::Pin, sync::Arc, time::Duration};

use evaluator_protocol::{Contract, Description};

use super::{
    context::ExecutionContext,
    describe::describe,
    grading::GradedEvaluator,
    identity::Fingerprint,
    judged::JudgedEvaluator,
    permits::Permits,
    snapshot::ProgramSnapshot,
    target::{Access, Target},
    transcripts::CaseTranscript,
};
use crate::{
    executor::{Containment, Executor, Listener, Scope, Visible, wrap_server},
    hosts::{Driver, Mismatch, library::LibraryMetric},
    json::Object,
    linked::LinkedEvaluator,
    metric::Metric,
    pool::WorkerFault,
    process::{Cancellation, CommandSpec, forks::ServerCommand},
    report::{Contained, run_file::Digest},
    runtime::Reuse,
    verdict::{Evaluation, Verdict},
};

/// Effect of golden turns without a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingTurns {
    /// The evaluation fails, regardless of its score.
    #[default]
    Fail,
    /// The score decides.
    Ignore,
}

/// An evaluator, prepared or with the reason why it is not.
#[derive(Debug)]
pub struct PlannedEvaluator {
    /// Name.
    pub name: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// Effect of a golden turn without a recording on an evaluation.
    pub missing_turns: MissingTurns,
    /// Number of evaluations of each conversation, as configured.
    #[doc(hidden)]
    pub repeat: u32,
    #[doc(hidden)]
    pub work: Work,
    /// Identifies the evaluator in saved runs; `None` if the run is not saved or changes of the evaluator would not be
    /// noticed.
    #[doc(hidden)]
    pub fingerprint: Option<Fingerprint>,
}

impl PlannedEvaluator {
    /// Returns true if golden turns that are not recorded fail an evaluation. A program may compare the golden turns of its
    /// document, so it counts as one that does.
    pub(crate) fn requires_all_turns(&self) -> bool {
        let compares = match &self.work {
            Work::Metric { metric, .. } => metric.compares_golden_turns(),
            Work::Judge(judged) => judged.needs_golden,
            Work::Grader(graded) => graded.compares(),
            Work::Program(_) | Work::Linked { .. } => true,
            Work::Broken(_) | Work::Suite(_) => false,
        };
        compares && self.missing_turns == MissingTurns::Fail
    }

    /// Returns the number of evaluations of each conversation, at least 1. What computes the same each time is computed once.
    pub fn repeats(&self) -> u32 {
        match &self.work {
            Work::Metric { .. } | Work::Broken(_) => 1,
            _ => self.repeat.max(1),
        }
    }

    /// Returns its kind in run files: `builtin`, `judge`, `grader`, `code`, `linked`, `suite`, or `broken` if it cannot run.
    pub fn kind(&self) -> &'static str {
        match self.work {
            Work::Metric { .. } => "builtin",
            Work::Judge(_) => "judge",
            Work::Grader(_) => "grader",
            Work::Program(_) => "code",
            Work::Linked { .. } => "linked",
            Work::Suite(_) => "suite",
            Work::Broken(_) => "broken",
        }
    }

    /// Returns the reason why the evaluator cannot run; `None` if it can.
    pub fn problem(&self) -> Option<String> {
        match &self.work {
            Work::Broken(verdict) => verdict.explain(&self.name, ""),
            _ => None,
        }
    }

    /// Returns the contract that its entry names.
    pub fn contract(&self) -> Option<Contract> {
        match &self.work {
            Work::Program(program) => program.contract,
            Work::Linked { contract, .. } => *contract,
            _ => None,
        }
    }

    /// Returns the description of its program; `None` if it has none. Must be called inside a tokio runtime with time and I/O
    /// enabled.
    pub async fn describe(
        &self,
        limit: Duration,
        cancellation: &Cancellation,
    ) -> Option<Description> {
        match &self.work {
            Work::Program(program) if program.may_describe => {
                describe(&program.one_shot, limit, cancellation).await
            }
            _ => None,
        }
    }

    /// Returns the reason why the program of the evaluator cannot be started, as far as its file on this machine shows it.
    pub fn start_problem(&self) -> Option<String> {
        let Work::Program(program) = &self.work else { return None };
        // Of an image, only the container engine is on this machine.
        let command = match program.one_shot.container {
            Some(_) => &program.one_shot,
            None => &program.forked.command,
        };
        let reason = command.start_problem()?;
        Some(format!("{}: {reason}", Path::new(&command.program).display()))
    }
}

impl Work {
    /// Returns true if it is computed in this process from a recording.
    pub(crate) fn is_metric(&self) -> bool {
        matches!(self, Self::Metric { .. } | Self::Judge(_) | Self::Grader(_) | Self::Suite(_))
    }
}

/// Computes the results of an evaluator.
#[derive(Debug)]
pub enum Work {
    /// A metric, computed in this process.
    Metric {
        /// The metric, with its settings.
        metric: Arc<dyn Metric>,
        /// Settings of the entry.
        settings: Object,
        /// Name of a credential that the settings refer to and this program cannot provide.
        credential: Option<String>,
    },
    /// A judge, which asks models.
    Judge(Box<JudgedEvaluator>),
    /// A grader that needs a model, Python or a server.
    Grader(Box<GradedEvaluator>),
    /// A program.
    Program(Box<Program>),
    /// An evaluator that is linked into this program.
    Linked {
        /// The evaluator.
        evaluator: Arc<dyn LinkedEvaluator>,
        /// Time limit of an evaluation.
        timeout: Duration,
        /// Settings that it gets.
        config: Object,
        /// The contract of its entry.
        contract: Option<Contract>,
    },
    /// Cases that are graded as wholes.
    Suite(Box<dyn SuiteWork>),
    /// Cannot run; every evaluation has this verdict.
    Broken(Verdict),
}

/// Cases that are graded as wholes, and their programs.
pub trait SuiteWork: fmt::Debug + Send + Sync {
    /// Returns the key of a case for saved results.
    fn key(&self, case: usize) -> Option<Digest>;

    /// Returns the digest of what is graded, if it is known before.
    fn content(&self, case: usize) -> Option<Digest>;

    /// Returns the score from which on a case passes.
    fn threshold(&self, case: usize) -> f64;

    /// Grades a case, which has the number of the repeat next to it.
    fn evaluate<'s>(
        &'s self,
        case: (usize, u32),
        permits: &'s Permits,
        cancellation: &'s Cancellation,
    ) -> Pin<Box<dyn Future<Output = Evaluation> + Send + 's>>;

    /// Returns what was said and done in a case; `None` if it was not graded, and its output is not known.
    fn take_transcript(&self, case: usize) -> Option<CaseTranscript>;

    /// Returns the reason why evaluations of a program do not share work, if that was decided since the last call.
    fn take_unshared(&self) -> Option<String>;

    /// Returns a future for each program that ends its processes.
    fn into_closings(self: Box<Self>) -> Vec<Closing>;
}

/// The name of a program, and a future that ends its processes. Its error is the reason why answers are unreliable.
pub type Closing = (String, Pin<Box<dyn Future<Output = Result<(), WorkerFault>> + Send>>);

/// A program and its settings.
#[derive(Clone, Debug)]
pub struct Program {
    /// The form that reads one document.
    pub one_shot: CommandSpec,
    /// The streaming form, if the runtime has one. The description of the program states whether the program supports this
    /// form.
    pub worker: Option<CommandSpec>,
    /// Whether the program may be started with `--describe`. A script would ignore the option and evaluate.
    pub may_describe: bool,
    /// Work that its evaluations share.
    pub reuse: Reuse,
    /// The program as a fork server starts it.
    pub forked: ForkedProgram,
    /// Time limit of an evaluation.
    pub timeout: Duration,
    /// Number of retries after a verdict that may be transient.
    pub retries: u32,
    /// Settings that it gets.
    pub config: Object,
    /// The contract of its entry.
    pub contract: Option<Contract>,
    /// File that calls its function, if the entry names one; deleted when dropped.
    pub driver: Option<Driver>,
    /// The metric of a library that it calls, if it is the program for that.
    pub library: Option<Arc<LibraryMetric>>,
    /// Description of the program, if it need not be asked.
    pub description: Option<Description>,
    /// Reason why its file does not work with that contract.
    pub mismatch: Option<Mismatch>,
    /// Conditions under which its processes run.
    pub context: ExecutionContext,
    /// Its files at the start of the run.
    pub snapshot: Arc<ProgramSnapshot>,
    /// Models that it may ask.
    pub target: Option<Target>,
    /// Containment; `None` if it is not contained.
    pub contained: Option<Arc<Contained>>,
}

/// A program as its runtime starts it, and the executor that starts it.
#[derive(Clone, Debug)]
pub struct ForkedProgram {
    /// The form that reads one document, without the executor.
    pub command: CommandSpec,
    /// The executor.
    pub executor: Arc<dyn Executor>,
    /// What it may use if the executor contains it.
    pub containment: Arc<Containment>,
    /// What it needs to see if the executor contains it.
    pub visible: Visible,
    /// Listener for the proxy of its models, if it has no network.
    pub listener: Option<Listener>,
}

impl ForkedProgram {
    /// Returns the command of a server, which `make` makes from that of the program.
    ///
    /// # Errors
    ///
    /// The program cannot be served: the reason.
    pub(crate) fn server(
        &self,
        make: fn(&CommandSpec) -> Result<ServerCommand, String>,
    ) -> Result<ServerCommand, String> {
        let Self { command, executor, containment, visible, listener } = self;
        // No server runs in an image: only executors of this machine fork.
        let scope = Scope { listener: listener.as_ref(), ..Scope::new(containment, visible) };
        wrap_server(executor.as_ref(), make(command)?, &scope)
    }
}

impl Program {
    /// Returns true if one process may evaluate several documents. With models, each document has a proxy of its own.
    pub(crate) fn may_stream(&self, description: &Description) -> bool {
        match self.target {
            None => description.streams(),
            Some(_) => description.takes_targets(),
        }
    }

    /// Opens the proxy of a repeat of an evaluation; `None` without models.
    ///
    /// # Errors
    ///
    /// See [`Target::open`].
    pub(crate) fn open_target(&self, repeat: u32) -> io::Result<Option<Access>> {
        self.target.as_ref().map(|target| target.open(repeat)).transpose()
    }
}

/// Returns the work of an evaluator that could not be prepared.
pub fn broken(reason: String) -> Work {
    Work::Broken(Verdict::PrepareFailed { reason })
}
