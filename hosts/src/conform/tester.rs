//! Runs the cases of all suites with the program that is tested: a command line, or a file that a runtime prepares.

use std::{
    ffi::OsString,
    fmt::Display,
    io,
    num::NonZeroUsize,
    panic::resume_unwind,
    path::{Path, PathBuf, absolute},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use futures_util::stream::{self, StreamExt as _};
use tokio::{sync::mpsc, task};

use super::{
    super::functions_of,
    case::Case,
    model::Release,
    registry::cases,
    report::{CaseReport, Conformance, HostReport},
};
use crate::{
    executor::{Executor, wrap_with_defaults},
    json::Object,
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome},
    runtime::{
        Entrypoint, Environment, EnvironmentFilter, Inherit, Launch, PrepareEvent,
        PrivateDirectory, Runtimes,
    },
};

/// Number of timeouts after which the other cases are not run: each would most likely take as long.
const MAX_TIMEOUTS: usize = 3;

/// Sends documents and faults to a program.
#[derive(Clone, Debug)]
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

/// Reason why a program cannot be tested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConformError(String);

fn failed(reason: impl ToString) -> ConformError {
    ConformError(reason.to_string())
}

const INTERRUPTED: &str = "it was interrupted";

impl Tester {
    /// Runs every case, each with a process of its own.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled.
    ///
    /// # Errors
    ///
    /// The program cannot be started, a file that belongs to a document cannot be written, or the test was cancelled.
    pub async fn run(&self, program: &Program) -> Result<Conformance, ConformError> {
        let cases = cases(&self.releases, &self.settings);
        let mut runs = Vec::with_capacity(cases.len());
        // The first case runs alone: a program that cannot be started is not started for every case.
        if let Some(case) = cases.first() {
            runs.push(Some(self.play(&program.command, case).await?));
        }
        let timeouts = AtomicUsize::new(0);
        let others = cases[runs.len()..].iter().map(async |case| {
            if timeouts.load(Ordering::Relaxed) >= MAX_TIMEOUTS {
                return Ok(None);
            }
            let run = self.play(&program.command, case).await;
            if matches!(&run, Ok(Outcome { ending: Ending::TimedOut { .. }, .. })) {
                timeouts.fetch_add(1, Ordering::Relaxed);
            }
            run.map(Some)
        });
        for run in run_concurrently(self.jobs, others).await {
            runs.push(run?);
        }
        Ok(report(&self.releases, &cases, &runs))
    }

    async fn play(&self, command: &CommandSpec, case: &Case) -> Result<Outcome, ConformError> {
        let no_file = |error: io::Error| failed(format!("cannot write a temporary file: {error}"));
        // Removed when the program has exited, as the host does.
        let written = case.body.file().map(|content| {
            let directory = PrivateDirectory::new("conform")?;
            Ok((directory.write("output.json", &content)?, directory))
        });
        let answer = written.transpose().map_err(no_file)?;
        let input = case.body.bytes(answer.as_ref().map(|(file, _)| file.as_path()));
        let limits = Limits::with_timeout(self.timeout);
        let run = process::run(command, &input, &limits, &self.cancellation).await;
        match run.ending {
            Ending::SpawnFailed(error) => Err(failed(error)),
            Ending::Cancelled => Err(failed(INTERRUPTED)),
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
            None => CaseReport::not_run(case),
        });
        HostReport::new(release, cases.collect())
    };
    let hosts = Release::all().filter(|release| releases.contains(release)).map(report).collect();
    Conformance { hosts }
}

/// Runs tasks, at most `jobs` at a time. Returns their results in order.
pub async fn run_concurrently<F: Future>(
    jobs: NonZeroUsize,
    tasks: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    // A slow task does not keep others from being started, as it would in an ordered buffer.
    let numbered = tasks.into_iter().enumerate().map(async |(index, task)| (index, task.await));
    let mut results: Vec<_> = stream::iter(numbered).buffer_unordered(jobs.get()).collect().await;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Command line, which is started for every document.
    pub command: CommandSpec,
}

impl Program {
    /// Prepares a command line: the first word is an evaluator's file (a source, a package, an executable) or a program on
    /// `PATH`. A single word that is not a file is split as a shell does.
    ///
    /// The program inherits the environment of evaluators: all variables except secrets. `executor` contains the program and
    /// its build, if it is given: it can read the directories of the files in its command line. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// The command line is empty or malformed, or the file is not a program or cannot be prepared.
    pub async fn prepare(
        words: &[OsString],
        (runtimes, executor): (&Runtimes, Option<&dyn Executor>),
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<Self, ConformError> {
        let words = split(words)?;
        let Some((first, rest)) = words.split_first() else {
            return Err(not_a_command("it is empty"));
        };
        for word in &words {
            if let Some(defined) = functions_of(Path::new(word)) {
                let path = Path::new(word).display();
                return Err(failed(format!(
                    "{path} is not a program: {defined}; `evaluator run` can run it then"
                )));
            }
        }
        let launch = match is_file(first, runtimes)? {
            true => launched(first, (runtimes, executor.is_some()), cancellation, on_event).await?,
            false => Launch::new(CommandSpec::new(first)),
        };
        let visible = EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]);
        // The test writes no files next to the source.
        let command = launch.one_shot.args(rest);
        let command = visible.give_to(command).env("PYTHONDONTWRITEBYTECODE", "1");
        let Some(executor) = executor else { return Ok(Self { command }) };
        let mut visible = launch.visible;
        visible.paths.extend(rest.iter().filter_map(|word| directory_of(Path::new(word))));
        let command = wrap_with_defaults(executor, command, &visible).map_err(failed)?;
        Ok(Self { command })
    }
}

/// Returns the directory of a file; `None` if it does not exist.
fn directory_of(file: &Path) -> Option<PathBuf> {
    let file = absolute(file).ok().filter(|file| file.is_file())?;
    file.parent().map(Path::to_owned)
}

fn split(words: &[OsString]) -> Result<Vec<OsString>, ConformError> {
    match words {
        [line] if !Path::new(line).exists() => match line.to_str().map(shell_words::split) {
            Some(Ok(words)) => Ok(words.into_iter().map(OsString::from).collect()),
            Some(Err(error)) => Err(not_a_command(error)),
            None => Ok(words.to_vec()),
        },
        _ => Ok(words.to_vec()),
    }
}

fn not_a_command(reason: impl Display) -> ConformError {
    failed(format!("this is not a command line: {reason}"))
}

/// Returns true if the first word names an evaluator and not a program on `PATH`.
fn is_file(first: &OsString, runtimes: &Runtimes) -> Result<bool, ConformError> {
    let path = Path::new(first);
    let bare = path.components().count() == 1 && !path.has_root();
    match runtimes.for_path(path) {
        Ok(_) => Ok(true),
        // `python3` is not a file here, and a file `data` may not be meant.
        Err(_) if bare && path.extension().is_none() => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

async fn launched(
    path: &OsString,
    (runtimes, is_contained): (&Runtimes, bool),
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<Launch, ConformError> {
    let (runtimes, cancellation) = (runtimes.clone(), cancellation.clone());
    let contained = is_contained.then(Arc::default);
    let entrypoint = Entrypoint { contained, ..Entrypoint::from(PathBuf::from(path)) };
    let work = move |on_event: &mut dyn FnMut(PrepareEvent)| {
        runtimes.prepare(&entrypoint, &cancellation, on_event)
    };
    match prepare_on_thread(work, on_event).await {
        Some(launch) => launch.map_err(failed),
        None => Err(failed(INTERRUPTED)),
    }
}

/// Prepares evaluators on a thread of its own, because compilers are slow. Returns `None` if the tokio runtime is shut down.
pub async fn prepare_on_thread<T: Send + 'static>(
    work: impl FnOnce(&mut dyn FnMut(PrepareEvent)) -> T + Send + 'static,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Option<T> {
    let (sender, mut events) = mpsc::unbounded_channel();
    // The receiver of the events waits for the end of the work.
    let working = task::spawn_blocking(move || work(&mut |event| drop(sender.send(event))));
    while let Some(event) = events.recv().await {
        on_event(event);
    }
    match working.await {
        Ok(result) => Some(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => None,
        },
    }
}
