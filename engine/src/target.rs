//! Models that programs may ask: a proxy for each evaluation.

use std::{io, sync::Arc};

use evaluator_protocol::TargetAccess;
use tokio::sync::Semaphore;

use crate::{
    executor::Listener,
    judging::{ProgramModels, Session},
    models::{self, Offer, Proxy, ProxyServer, ProxyUsage, SharedListener},
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
pub fn listener() -> io::Result<Listener> {
    Ok(Listener { port: PORT, socket: models::receiver_name()? })
}

/// The models of an evaluator.
#[derive(Clone, Debug)]
pub struct Target {
    server: Arc<ProxyServer>,
    /// Address of all evaluations: that of the listeners of its sandboxes, if they have no network, or one that clients keep.
    shared: Option<Arc<SharedListener>>,
    offer: Arc<Offer>,
    /// Limits the proxies that are open while documents wait for workers.
    pub(crate) places: Arc<Semaphore>,
}

impl Target {
    /// Connects a program with its models. `keeps_clients`: all evaluations have one address, as the clients of a process keep it.
    ///
    /// # Errors
    ///
    /// A model, key, price or recording that is needed is missing, or the proxy cannot be started.
    pub fn new(
        evaluator: &str,
        models: &ProgramModels,
        session: &Session,
        server: Arc<ProxyServer>,
        jobs: usize,
        (reuse, listener, keeps_clients): (&Reuse, Option<&Listener>, bool),
    ) -> Result<Self, String> {
        let offer = session.offer(evaluator, models).map_err(|error| error.message)?;
        let places = Arc::new(Semaphore::new(jobs.min(Semaphore::MAX_PERMITS)));
        // Forks share the sandbox of their interpreter.
        let evaluations = if let Reuse::Fork(_) = reuse { jobs } else { 1 };
        let shared = match listener {
            Some(listener) => {
                server.receive(&listener.socket, listener.port, evaluations).map(Some)
            }
            None if keeps_clients => server.listen(jobs).map(Some),
            None => Ok(None),
        };
        let shared =
            shared.map_err(|error| format!("the target proxy cannot be started: {error}"))?;
        Ok(Self { server, shared: shared.map(Arc::new), offer: Arc::new(offer), places })
    }

    /// Opens the proxy of a repeat of an evaluation.
    ///
    /// # Errors
    ///
    /// The system has no port or descriptor left at the moment.
    pub(crate) fn open(&self, repeat: u32) -> io::Result<Access> {
        let offer = Arc::clone(&self.offer);
        let opened = match &self.shared {
            Some(shared) => shared.open(offer),
            None => self.server.open(offer),
        };
        let first = models::first_sample(repeat);
        opened.map(|proxy| Access { proxy: proxy.with_samples_from(first) })
    }
}

/// Returns the verdict of an evaluation whose proxy cannot be opened.
pub(crate) fn not_opened(error: &io::Error) -> Verdict {
    let reason = format!("its target proxy cannot be opened: {error}");
    Verdict::SpawnFailed { reason, transient: true }
}

/// The open proxy of an evaluation, which closes when it is dropped.
#[derive(Debug)]
pub(crate) struct Access {
    proxy: Proxy,
}

impl Access {
    /// Returns the variables of a process that evaluates one document.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        self.proxy.variables().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns what a process that evaluates several documents is sent with the document.
    pub(crate) fn of_document(&self) -> TargetAccess {
        TargetAccess::new(self.proxy.url(), self.proxy.token())
    }

    /// Closes the proxy and returns what was asked.
    pub(crate) fn close(self) -> ProxyUsage {
        self.proxy.close()
    }
}
