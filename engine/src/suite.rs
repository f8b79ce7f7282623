//! Suites: cases that are graded as wholes, such as the tests of an eval file. They run on the engine of all runs.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    future::Future,
    num::NonZeroUsize,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    evaluation_report::target_proxy,
    identity::{Fingerprint, value_digest},
    permits::Permits,
    prepared::{Input, PreparedEvaluator},
    retry,
    settings::ExecutionSettings,
    transcripts::CaseTranscript,
    work::{Closing, MissingTurns, PlannedEvaluator, SuiteWork, Work},
};
use crate::{
    conversation::{Conversation, Labels, Turn},
    json::Object,
    models::ProxyUsage,
    pool::Document,
    process::Cancellation,
    report::{
        TargetProxyReport,
        run_file::{Digest, Digester, FingerprintParts},
    },
    verdict::{Answer, Evaluation, Status, Verdict},
};

/// Cases that are graded as wholes. In a report, each is a conversation with one evaluation, which has the name of the suite.
pub trait Suite: fmt::Debug + Send + Sync {
    /// Name.
    fn name(&self) -> &str;

    /// File that the cases are from.
    fn file(&self) -> &Path;

    /// Unique ids of the cases, in their order.
    fn ids(&self) -> &[Arc<str>];

    /// Score from which on a case passes.
    fn threshold(&self, case: usize) -> f64;

    /// Indexes of the programs that the grading of a case starts, among the evaluators of the configuration.
    fn programs(&self, case: usize) -> Vec<usize>;

    /// Index of the program whose output is graded, if the case starts it. It is not a part of what measures: two runs with
    /// different ones can be compared. None by default.
    fn tested(&self, _case: usize) -> Option<usize> {
        None
    }

    /// Text that the agent gets first.
    fn prompt(&self, case: usize) -> String;

    /// Returns the values of attributes of a case, by their names, for clusters and slices. Default: none.
    fn labels(&self, _case: usize, _attributes: &[&str]) -> Labels {
        Labels::default()
    }

    /// Returns the names of the attributes of a case. Default: none.
    fn label_names(&self, _case: usize) -> Vec<String> {
        Vec::new()
    }

    /// Returns what decides about the result of a case, apart from its programs. `None` if changes would not be noticed, so that
    /// the case is graded again in every run.
    fn identity(&self, case: usize) -> Option<CaseIdentity>;

    /// Called once, before the first case. `program` returns a program by its index, for starts outside of a grading, e.g. by a
    /// model of the session, or the reason why it cannot be started.
    fn prepared(&self, _program: &dyn Fn(usize) -> Result<SuiteProgram, String>) {}

    /// Returns what was said and done in a case whose output is known without grading it, for results of an earlier run. None by
    /// default.
    fn transcript(&self, _case: usize) -> Option<CaseTranscript> {
        None
    }

    /// Grades a case.
    fn grade<'s>(&'s self, case: usize, programs: Programs<'s>) -> Grading<'s>;
}

/// Result of the grading of a case, later.
pub type Grading<'s> = Pin<Box<dyn Future<Output = CaseResult> + Send + 's>>;

/// What decides about the result of a case, apart from its programs.
#[derive(Clone, Copy, Debug)]
pub struct CaseIdentity {
    /// Digest of the case and of everything that grades it.
    pub settings: Digest,
    /// Digest of what is graded; `None` if every run produces it again.
    pub content: Option<Digest>,
    /// Digest of what answers questions to models; `None` if no earlier answer may be used.
    pub answers: Option<Digest>,
}

/// Result of a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Score from 0 to 1, or the reason why there is none.
    pub score: Result<f64, String>,
    /// Data for reports.
    pub details: Object,
    /// Warnings, each a sentence about the case.
    pub warnings: Vec<String>,
    /// What was said and done, for a run that keeps it; `None` if that is not known.
    pub transcript: Option<CaseTranscript>,
}

/// The programs of a suite during the grading of a case.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("{:?}", prepared.iter().map(PreparedEvaluator::name).collect::<Vec<_>>())]
pub struct Programs<'r> {
    prepared: &'r [PreparedEvaluator],
    repeat: u32,
    permits: &'r Permits,
    state: &'r State,
}

/// State of the grading of a case.
#[derive(Debug, Default)]
struct State {
    /// Whether a program was not started, because the run has stopped.
    was_stopped: AtomicBool,
    /// Whether a call of a program to a model failed.
    calls_failed: AtomicBool,
}

/// Output of a program.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProgramOutput {
    /// Its standard output, or the error as a clause that follows "the program".
    pub printed: Result<Vec<u8>, String>,
    /// Stable name of the error, such as `timed_out`; `None` if there is none.
    pub error_type: Option<&'static str>,
    /// Time from its start to its end.
    pub duration: Duration,
    /// Its calls to models; `None` if it was offered none.
    pub asked: Option<TargetProxyReport>,
    /// Failed calls to models.
    pub warning: Option<String>,
}

impl<'r> Programs<'r> {
    /// Returns the number of the repeat of the case, from 0.
    pub fn repeat(self) -> u32 {
        self.repeat
    }

    /// Gives a document to the program with this index, and returns its output.
    pub async fn run(self, program: usize, document: &[u8]) -> ProgramOutput {
        let Some(prepared) = self.prepared.get(program) else {
            let (printed, error_type) = (Err("is not known".to_owned()), Some("lost"));
            let duration = Duration::ZERO;
            return ProgramOutput { printed, error_type, duration, asked: None, warning: None };
        };
        let document = Document::from(document);
        let input = Input::Document(&document, self.repeat);
        let evaluation = retry::evaluate(prepared, input, self.permits).await;
        if evaluation.has_failed_calls() {
            self.state.calls_failed.store(true, Ordering::Relaxed);
        }
        if matches!(evaluation.verdict, Verdict::NotRun) {
            self.state.was_stopped.store(true, Ordering::Relaxed);
        }
        output(prepared, evaluation)
    }
}

/// A program of a suite that is started outside of gradings.
#[derive(derive_more::Debug)]
#[debug("SuiteProgram({:?})", prepared.name())]
pub struct SuiteProgram {
    prepared: PreparedEvaluator,
    permits: Permits,
}

impl SuiteProgram {
    fn new(planned: &PlannedEvaluator, settings: &ExecutionSettings) -> Result<Self, String> {
        let Work::Program(program) = &planned.work else {
            return Err(planned.problem().unwrap_or_else(|| "it is not a program".to_owned()));
        };
        let planned = PlannedEvaluator {
            name: planned.name.clone(),
            threshold: planned.threshold,
            missing_turns: planned.missing_turns,
            repeat: 1,
            work: Work::Program(program.clone()),
            fingerprint: None,
        };
        let prepared = PreparedEvaluator::new(planned, settings, 1).expecting_any_output();
        // The connection that asks it bounds its processes, as it bounds the calls to a server.
        Ok(Self { prepared, permits: Permits::new(NonZeroUsize::MAX, false) })
    }

    /// Gives a document to the program in a process of its own, and returns its output.
    pub async fn run(&self, document: &[u8]) -> ProgramOutput {
        let document = Document::from(document);
        let input = Input::Document(&document, 0);
        output(&self.prepared, retry::evaluate(&self.prepared, input, &self.permits).await)
    }
}

/// Returns what a program printed, or its error.
fn output(prepared: &PreparedEvaluator, mut evaluation: Evaluation) -> ProgramOutput {
    let (error_type, duration) = (evaluation.verdict.error_type(), evaluation.duration);
    let printed = match error_type {
        None => Ok(std::mem::take(&mut evaluation.answer)),
        Some(_) => Err(prepared.whole_error(&evaluation)),
    };
    let warning = evaluation.asked.as_ref().and_then(ProxyUsage::warning);
    let asked = evaluation.asked.map(target_proxy);
    ProgramOutput { printed, error_type, duration, asked, warning }
}

/// A suite with its prepared programs.
#[derive(derive_more::Debug)]
#[debug("{suite:?}")]
struct PreparedSuite {
    suite: Arc<dyn Suite>,
    programs: Vec<PreparedEvaluator>,
    /// Keys of the cases for saved results.
    keys: Vec<Option<Digest>>,
    identities: Vec<Option<CaseIdentity>>,
    /// Transcripts of cases that were graded, until their conversations are finished.
    transcripts: Mutex<HashMap<usize, CaseTranscript>>,
}

/// Returns a suite as an evaluator that grades its cases `repeat` times, with its programs.
pub fn planned(
    suite: Arc<dyn Suite>,
    planned: Vec<PlannedEvaluator>,
    repeat: u32,
    settings: &ExecutionSettings,
) -> PlannedEvaluator {
    let cases = 0..suite.ids().len();
    let mut uses = vec![0_usize; planned.len()];
    let grading: Vec<Vec<usize>> = cases.clone().map(|case| suite.programs(case)).collect();
    let used = |case: usize| grading[case].iter().copied().chain(suite.tested(case));
    cases.clone().flat_map(used).for_each(|program| uses[program] += 1);
    let identity = |case| settings.is_identified.then(|| suite.identity(case)).flatten();
    let identities: Vec<Option<CaseIdentity>> = cases.clone().map(identity).collect();
    let of_program =
        |program: usize| planned[program].fingerprint.as_ref()?.key(&Digest::default());
    let key = |case: usize| {
        let programs: Option<Vec<Digest>> = used(case).map(of_program).collect();
        let CaseIdentity { settings, content, answers } = identities[case]?;
        let case = [settings, content?, answers?];
        Some(Digester::new("case").json("case", &case).json("programs", &programs?).finish())
    };
    let keys: Vec<Option<Digest>> = cases.clone().map(key).collect();
    suite.prepared(&|program| {
        let planned = planned.get(program).ok_or("it is not known")?;
        SuiteProgram::new(planned, settings)
    });
    let cases = suite.ids().iter().zip(&identities).zip(&grading);
    let fingerprint = parts(cases, &planned).map(Fingerprint::new);
    let prepared = planned.into_iter().zip(uses);
    let prepared = prepared.map(|(program, uses)| {
        PreparedEvaluator::new(program, settings, uses).expecting_any_output()
    });
    let programs = prepared.collect();
    let (transcripts, graded) = (Mutex::default(), Arc::clone(&suite));
    let work = PreparedSuite { programs, keys, identities, transcripts, suite: graded };
    let (name, missing_turns) = (suite.name().to_owned(), MissingTurns::Ignore);
    let work = Work::Suite(Box::new(work));
    let threshold = 1.0;
    PlannedEvaluator { name, threshold, missing_turns, repeat, work, fingerprint }
}

/// Returns the parts of the fingerprint of a suite, whose settings are those of its cases, by their ids. `cases` have the programs
/// that grade them.
fn parts<'c>(
    cases: impl Iterator<Item = ((&'c Arc<str>, &'c Option<CaseIdentity>), &'c Vec<usize>)>,
    programs: &[PlannedEvaluator],
) -> Option<FingerprintParts> {
    let mut parts = FingerprintParts::default();
    // Names tell only the files of one program apart.
    let mut code = BTreeMap::<&String, BTreeSet<(&str, Digest)>>::new();
    let mut environment = BTreeMap::<&String, BTreeSet<Digest>>::new();
    for ((id, identity), used) in cases {
        let mut settings = vec![value_digest(&identity.as_ref()?.settings)];
        for program in used {
            let PlannedEvaluator { name: program, fingerprint, .. } = &programs[*program];
            let own = fingerprint.as_ref()?.parts();
            settings.push(value_digest(&own.settings));
            for (name, digest) in &own.code {
                code.entry(name).or_default().insert((program, *digest));
            }
            for (name, digest) in &own.environment {
                environment.entry(name).or_default().insert(*digest);
            }
        }
        parts.settings.insert(id.to_string(), value_digest(&settings));
    }
    let files = code.into_iter().map(|(name, all)| (name.clone(), value_digest(&all)));
    parts.code = files.collect();
    let environment = environment.into_iter();
    parts.environment = environment.map(|(name, all)| (name.clone(), value_digest(&all))).collect();
    Some(parts)
}

impl SuiteWork for PreparedSuite {
    fn key(&self, case: usize) -> Option<Digest> {
        *self.keys.get(case)?
    }

    fn content(&self, case: usize) -> Option<Digest> {
        self.identities.get(case)?.as_ref()?.content
    }

    fn threshold(&self, case: usize) -> f64 {
        self.suite.threshold(case)
    }

    fn evaluate<'s>(
        &'s self,
        (case, repeat): (usize, u32),
        permits: &'s Permits,
        cancellation: &'s Cancellation,
    ) -> Pin<Box<dyn Future<Output = Evaluation> + Send + 's>> {
        Box::pin(async move {
            let started = Instant::now();
            if cancellation.is_cancelled() {
                return Evaluation::without_process(Verdict::Cancelled, started.elapsed());
            }
            let state = State::default();
            let programs = Programs { prepared: &self.programs, repeat, permits, state: &state };
            let graded = self.suite.grade(case, programs).await;
            let CaseResult { score, details, warnings, transcript } = graded;
            let mut transcripts = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
            transcripts.extend(transcript.map(|transcript| (case, transcript)));
            drop(transcripts);
            let mut lost = Some(details);
            let verdict = match score {
                Ok(score) => {
                    let passes = score >= self.suite.threshold(case);
                    Verdict::Answer(Answer {
                        score: Some(score),
                        status: Some(if passes { Status::Passed } else { Status::Failed }),
                        details: lost.take(),
                        ..Answer::default()
                    })
                }
                Err(_) if cancellation.is_cancelled() => Verdict::Cancelled,
                Err(_) if state.was_stopped.into_inner() => Verdict::NotRun,
                Err(reason) => Verdict::MetricFailed { reason },
            };
            Evaluation {
                details: lost,
                warnings,
                attempts: 1,
                calls_failed: state.calls_failed.into_inner(),
                ..Evaluation::without_process(verdict, started.elapsed())
            }
        })
    }

    fn take_transcript(&self, case: usize) -> Option<CaseTranscript> {
        let mut graded = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
        graded.remove(&case).or_else(|| self.suite.transcript(case))
    }

    fn take_unshared(&self) -> Option<String> {
        self.programs.iter().find_map(PreparedEvaluator::take_unshared)
    }

    fn into_closings(self: Box<Self>) -> Vec<Closing> {
        self.programs.into_iter().flat_map(PreparedEvaluator::into_closings).collect()
    }
}

/// Returns the conversation that stands for a case, with the values of these attributes.
pub(crate) fn conversation(suite: &dyn Suite, case: usize, attributes: &[&str]) -> Conversation {
    Conversation {
        trace_id: suite.ids().get(case).cloned().unwrap_or_else(|| Arc::from("")),
        file: suite.file().to_owned(),
        turns: vec![Turn { user_text: Some(suite.prompt(case)), ..Turn::default() }],
        case_id: None,
        labels: suite.labels(case, attributes),
        warnings: Vec::new(),
        errors: Vec::new(),
        operations: Vec::new(),
        dropped_copies: 0,
        performance: None,
    }
}
