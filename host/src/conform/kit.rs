//! Plays all cases at a program.

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
    Case, Host, Program, documents, faults, hosts,
    report::{CaseReport, Conformance, HostReport},
};
use crate::{
    json::Object,
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome, SpawnError},
    runtime::PrivateDirectory,
};

/// After so many cases whose time ran out the others are not played: it would most likely take as long again for each.
const PATIENCE: usize = 3;

/// Plays documents and faults at a program.
#[derive(Clone, Debug)]
pub struct Kit {
    /// How long the program may take for one document; 30 s by default.
    pub timeout: Duration,
    /// Cases that are played at a time; as many as there are processors by default.
    pub jobs: NonZeroUsize,
    /// The hosts whose documents are played; all by default.
    pub hosts: Vec<Host>,
    /// Settings that the evaluator gets from the hosts that have such a thing; none by default.
    pub settings: Object,
    /// Ends it early when cancelled.
    pub cancellation: Cancellation,
}

impl Default for Kit {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            hosts: Host::ALL.into(),
            settings: Object::default(),
            cancellation: Cancellation::new(),
        }
    }
}

/// Why a program could not be tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// It cannot be started.
    #[error("{0}")]
    NotStarted(#[from] SpawnError),
    /// A file that belongs to a document could not be written.
    #[error("cannot write a temporary file: {reason}")]
    NoFile {
        /// What the system said.
        reason: String,
    },
    /// It was interrupted.
    #[error("it was interrupted")]
    Interrupted,
}

impl Kit {
    /// Plays every case, each at a process of its own.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled.
    ///
    /// # Errors
    ///
    /// The program cannot be started, or this was interrupted.
    pub async fn run(&self, program: &Program) -> Result<Conformance, KitError> {
        let mut cases = documents::all();
        cases.extend(faults::all());
        cases.retain(|case| case.hosts.iter().any(|host| self.hosts.contains(host)));
        let cases: Arc<[Case]> = cases.into();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; cases.len()];
        // The first one alone: a program that cannot be started is not tried a hundred times.
        if let (Some(case), Some(outcome)) = (cases.first(), outcomes.first_mut()) {
            *outcome = Some(self.play(&program.command, case).await?);
        }

        let late = Arc::new(AtomicUsize::new(0));
        let permits = Arc::new(Semaphore::new(self.jobs.get().min(Semaphore::MAX_PERMITS)));
        let mut tasks = JoinSet::new();
        for index in 1..cases.len() {
            let (kit, command) = (self.clone(), program.command.clone());
            let (cases, permits, late) =
                (Arc::clone(&cases), Arc::clone(&permits), Arc::clone(&late));
            tasks.spawn(async move {
                // Never closed; a task without a permit is as good as one with it.
                let _permit = permits.acquire().await.ok();
                if late.load(Ordering::Relaxed) >= PATIENCE {
                    return (index, Ok(None));
                }
                let outcome = kit.play(&command, &cases[index]).await;
                if matches!(&outcome, Ok(Outcome { ending: Ending::TimedOut { .. }, .. })) {
                    late.fetch_add(1, Ordering::Relaxed);
                }
                (index, outcome.map(Some))
            });
        }
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((index, outcome)) => outcomes[index] = outcome?,
                Err(error) => {
                    if let Ok(panic) = error.try_into_panic() {
                        resume_unwind(panic);
                    }
                }
            }
        }
        Ok(judged(&self.hosts, &cases, &outcomes))
    }

    async fn play(&self, command: &CommandSpec, case: &Case) -> Result<Outcome, KitError> {
        let no_file = |error: io::Error| KitError::NoFile { reason: error.to_string() };
        // Removed when the program has ended, as the host does it.
        let folder = match case.body.file() {
            Some(content) => {
                let folder = PrivateDirectory::new("conform").map_err(no_file)?;
                let file = folder.write("output.json", &content).map_err(no_file)?;
                Some((folder, file))
            }
            None => None,
        };
        let input =
            case.body.bytes(folder.as_ref().map(|(_, file)| file.as_path()), &self.settings);
        let limits = Limits::with_timeout(self.timeout);
        let outcome = process::run(command, &input, &limits, &self.cancellation).await;
        match outcome.ending {
            Ending::SpawnFailed(error) => Err(error.into()),
            Ending::Cancelled => Err(KitError::Interrupted),
            _ => Ok(outcome),
        }
    }
}

/// What each host makes of the ends of the processes that were given its documents.
fn judged(hosts: &[Host], cases: &[Case], outcomes: &[Option<Outcome>]) -> Conformance {
    let report = |host: Host| {
        let mine = cases.iter().zip(outcomes).filter(|(case, _)| case.hosts.contains(&host));
        let cases = mine
            .map(|(case, outcome)| match outcome {
                Some(outcome) => {
                    let recorded = hosts::recorded(host, outcome, case.turns);
                    CaseReport::new((case.name, case.kind), outcome, recorded)
                }
                None => {
                    let why = "not played: its time ran out too often";
                    CaseReport::not_played((case.name, case.kind), why)
                }
            })
            .collect();
        HostReport::new(host, cases)
    };
    let listed = Host::ALL.into_iter().filter(|host| hosts.contains(host));
    Conformance { hosts: listed.map(report).collect() }
}
