//! Models that programs may ask: a proxy for each evaluation.

use std::{io, sync::Arc};

use evaluator_protocol::TargetAccess;
use tokio::sync::Semaphore;

use super::{
    PlannedEvaluator, Runner,
    plan::{Work, broken},
};
use crate::{
    config::Config,
    judges::{ProgramModels, Session},
    models::{Offer, Proxy, ProxyServer, ProxyUsage},
    verdict::Verdict,
};

/// Connects the programs of a plan with their models. Sends nothing.
pub(super) fn connect(
    evaluators: &mut [PlannedEvaluator],
    config: &Config,
    session: &Result<Session, String>,
    runner: &Runner,
) {
    let mut server: Option<Arc<ProxyServer>> = None;
    for (entry, planned) in config.evaluators.iter().zip(evaluators) {
        let (Some(models), Work::Program(program)) = (entry.models(), &mut planned.work) else {
            continue;
        };
        let started = server.clone().map_or_else(|| ProxyServer::start().map(Arc::new), Ok);
        let target = match (session, started) {
            (Ok(session), Ok(started)) => {
                server = Some(Arc::clone(&started));
                Target::new(&planned.name, models, session, started, runner.jobs.get())
            }
            (Err(reason), _) => Err(reason.clone()),
            (_, Err(error)) => Err(format!("the target proxy cannot be started: {error}")),
        };
        match target {
            Ok(target) => program.target = Some(target),
            Err(reason) => planned.work = broken(reason),
        }
    }
}

/// The models of an evaluator.
#[derive(Clone, Debug)]
pub(super) struct Target {
    server: Arc<ProxyServer>,
    offer: Arc<Offer>,
    /// Limits the proxies that are open while documents wait for workers.
    pub(super) places: Arc<Semaphore>,
}

impl Target {
    /// Connects a program with its models.
    ///
    /// # Errors
    ///
    /// A model, key, price or recording that is needed is missing.
    fn new(
        evaluator: &str,
        models: &ProgramModels,
        session: &Session,
        server: Arc<ProxyServer>,
        jobs: usize,
    ) -> Result<Self, String> {
        let offer = session.offer(evaluator, models).map_err(|error| error.message)?;
        let places = Arc::new(Semaphore::new(jobs.min(Semaphore::MAX_PERMITS)));
        Ok(Self { server, offer: Arc::new(offer), places })
    }

    /// Opens the proxy of an evaluation.
    ///
    /// # Errors
    ///
    /// The verdict of the evaluation: the system has no port or descriptor left at the moment.
    pub(super) fn open(&self) -> Result<Access, Verdict> {
        let opened = self.server.open(Arc::clone(&self.offer));
        opened.map(|proxy| Access { proxy }).map_err(|error: io::Error| Verdict::SpawnFailed {
            reason: format!("its target proxy cannot be opened: {error}"),
            transient: true,
        })
    }
}

/// The open proxy of an evaluation, which closes when it is dropped.
#[derive(Debug)]
pub(super) struct Access {
    proxy: Proxy,
}

impl Access {
    /// Returns the variables of a process that evaluates one document.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        self.proxy.variables().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns what a process that evaluates several documents is sent with the document.
    pub(super) fn of_document(&self) -> TargetAccess {
        TargetAccess::new(self.proxy.url(), self.proxy.token())
    }

    /// Closes the proxy and returns what was asked.
    pub(super) fn close(self) -> ProxyUsage {
        self.proxy.close()
    }
}
