//! Runs the cases of all suites.

use std::{
    io,
    num::NonZeroUsize,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    Program, Release,
    case::{Case, cases},
    report::{CaseReport, Conformance, HostReport},
};
use crate::{
    json::Object,
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome, SpawnError},
    runtime::PrivateFolder,
};

/// Number of timeouts after which the other cases are not run: each would most likely take as long.
const MAX_TIMEOUTS: usize = 3;

/// Sends documents and faults to a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tester {
    /// Time limit for one document; 30 s by default.
    pub timeout: Duration,
    /// Number of cases that run at a time; the number of processors by default.
    pub jobs: NonZeroUsize,
    /// Releases whose documents are sent; all by default.
    pub releases: Vec<&'static Release>,
    /// Settings of the evaluator, for hosts that send settings; none by default.
    pub settings: Object,
    /// Cancels the test.
    pub cancellation: Cancellation,
}

impl Default for Tester {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            releases: Release::all().collect(),
            settings: Object::default(),
            cancellation: Cancellation::new(),
        }
    }
}

/// Error of a conformance test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TesterError {
    /// The program cannot be started.
    #[error("{0}")]
    NotStarted(#[from] SpawnError),
    /// A file that belongs to a document cannot be written.
    #[error("cannot write a temporary file: {reason}")]
    NoFile {
        /// Error of the system.
        reason: String,
    },
    /// The test was cancelled.
    #[error("it was interrupted")]
    Interrupted,
}

impl Tester {
    /// Runs every case, each with a process of its own.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled.
    ///
    /// # Errors
    ///
    /// [`TesterError`]: the program cannot be started, or the test was cancelled.
    pub async fn run(&self, program: &Program) -> Result<Conformance, TesterError> {
        let cases: Arc<[Case]> = cases(&self.releases, &self.settings).into();
        let mut runs = Vec::with_capacity(cases.len());
        // The first case runs alone: a program that cannot be started is not started for every case.
        if let Some(case) = cases.first() {
            runs.push(Some(self.play(&program.command, case).await?));
        }
        let timeouts = Arc::new(AtomicUsize::new(0));
        let others = (runs.len()..cases.len()).map(|index| {
            let (tester, command) = (self.clone(), program.command.clone());
            let (cases, timeouts) = (Arc::clone(&cases), Arc::clone(&timeouts));
            async move {
                if timeouts.load(Ordering::Relaxed) >= MAX_TIMEOUTS {
                    return Ok(None);
                }
                let run = tester.play(&command, &cases[index]).await;
                if matches!(&run, Ok(Outcome { ending: Ending::TimedOut { .. }, .. })) {
                    timeouts.fetch_add(1, Ordering::Relaxed);
                }
                run.map(Some)
            }
        });
        for run in run_concurrently(self.jobs, others).await {
            runs.push(run?);
        }
        Ok(report(&self.releases, &cases, &runs))
    }

    async fn play(&self, command: &CommandSpec, case: &Case) -> Result<Outcome, TesterError> {
        let no_file = |error: io::Error| TesterError::NoFile { reason: error.to_string() };
        // Removed when the program has exited, as the host does.
        let directory = match case.body.file() {
            Some(content) => {
                let directory = PrivateFolder::new("conform").map_err(no_file)?;
                let file = directory.write("output.json", &content).map_err(no_file)?;
                Some((directory, file))
            }
            None => None,
        };
        let input = case.body.bytes(directory.as_ref().map(|(_, file)| file.as_path()));
        let limits = Limits::with_timeout(self.timeout);
        let run = process::run(command, &input, &limits, &self.cancellation).await;
        match run.ending {
            Ending::SpawnFailed(error) => Err(error.into()),
            Ending::Cancelled => Err(TesterError::Interrupted),
            _ => Ok(run),
        }
    }
}

/// Returns what each release records of the processes that received its documents.
fn report(releases: &[&'static Release], cases: &[Case], runs: &[Option<Outcome>]) -> Conformance {
    let report = |release: &'static Release| {
        let mine = cases.iter().zip(runs).filter(|(case, _)| case.is_sent_by(release));
        let cases = mine.map(|(case, run)| match run {
            Some(run) => CaseReport::new(case, run, (release.record)(run, case.turns)),
            None => CaseReport::not_played(case),
        });
        HostReport::new(release, cases.collect())
    };
    let hosts = Release::all().filter(|release| releases.contains(release)).map(report).collect();
    Conformance { hosts }
}

/// Runs tasks, at most `jobs` at a time. Returns their results in order. Panics if a task does.
pub async fn run_concurrently<T, F>(
    jobs: NonZeroUsize,
    tasks: impl IntoIterator<Item = F>,
) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(jobs.get().min(Semaphore::MAX_PERMITS)));
    let mut running = JoinSet::new();
    for (index, task) in tasks.into_iter().enumerate() {
        let permits = Arc::clone(&permits);
        running.spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await.ok();
            (index, task.await)
        });
    }
    let mut results = Vec::new();
    while let Some(joined) = running.join_next().await {
        match joined {
            Ok(result) => results.push(result),
            Err(error) => {
                if let Ok(panic) = error.try_into_panic() {
                    resume_unwind(panic);
                }
            }
        }
    }
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
