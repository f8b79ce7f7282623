//! Models that programs may ask: a proxy for each evaluation.

use std::{io, sync::Arc};

use evaluator_protocol::TargetAccess;
use tokio::sync::Semaphore;

use super::{
    PlannedEvaluator, Runner,
    plan::{Program, Work, broken},
};
use crate::{
    config::Config,
    executor::Listener,
    judging::{ProgramModels, Session},
    models::{self, ListenerReceiver, Offer, Proxy, ProxyServer, ProxyUsage},
    runtime::Reuse,
    verdict::Verdict,
};

/// Port of the proxy in sandboxes. Each has a network namespace of its own, in which nothing else listens.
const PORT: u16 = 8127;

/// Returns where the sandboxes of a new entry find their proxy.
///
/// # Errors
///
/// The system has no random bytes left.
pub(super) fn listener() -> io::Result<Listener> {
    Ok(Listener { port: PORT, socket: models::receiver_name()? })
}

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
                Target::new((&planned.name, program), models, session, started, runner.jobs.get())
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
    /// Receives the listeners of its sandboxes, if they have no network.
    receiver: Option<Arc<ListenerReceiver>>,
    offer: Arc<Offer>,
    /// Limits the proxies that are open while documents wait for workers.
    pub(super) places: Arc<Semaphore>,
}

impl Target {
    /// Connects a program with its models.
    ///
    /// # Errors
    ///
    /// A model, key, price or recording that is needed is missing, or the proxy cannot be started.
    fn new(
        (evaluator, program): (&str, &Program),
        models: &ProgramModels,
        session: &Session,
        server: Arc<ProxyServer>,
        jobs: usize,
    ) -> Result<Self, String> {
        let offer = session.offer(evaluator, models).map_err(|error| error.message)?;
        let places = Arc::new(Semaphore::new(jobs.min(Semaphore::MAX_PERMITS)));
        // Forks share the sandbox of their interpreter.
        let evaluations = if let Reuse::Fork(_) = program.reuse { jobs } else { 1 };
        let receive =
            |listener: &Listener| server.receive(&listener.socket, listener.port, evaluations);
        let receiver = program.forked.listener.as_ref().map(receive).transpose();
        let receiver =
            receiver.map_err(|error| format!("the target proxy cannot be started: {error}"))?;
        Ok(Self { server, receiver: receiver.map(Arc::new), offer: Arc::new(offer), places })
    }

    /// Opens the proxy of an evaluation.
    ///
    /// # Errors
    ///
    /// The system has no port or descriptor left at the moment.
    pub(super) fn open(&self) -> io::Result<Access> {
        let offer = Arc::clone(&self.offer);
        let opened = match &self.receiver {
            Some(receiver) => receiver.open(offer),
            None => self.server.open(offer),
        };
        opened.map(|proxy| Access { proxy })
    }
}

/// Returns the verdict of an evaluation whose proxy cannot be opened.
pub(super) fn not_opened(error: &io::Error) -> Verdict {
    let reason = format!("its target proxy cannot be opened: {error}");
    Verdict::SpawnFailed { reason, transient: true }
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
