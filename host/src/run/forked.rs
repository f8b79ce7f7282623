//! Evaluations of one program that are forked from a server, as long as that works.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Mutex as AsyncMutex;

use crate::{
    process::{
        Cancellation, CommandSpec, Limits, Outcome,
        forks::{ForkError, ForkServer},
    },
    runtime::ForkServerOf,
};

/// How long a server may take for its imports.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// Servers of one program that may die before no other is started.
const DEATHS: u32 = 3;

/// Where the evaluations of a program are forked.
#[derive(Debug)]
pub(super) struct Forked {
    command: CommandSpec,
    make: ForkServerOf,
    server: AsyncMutex<Server>,
    /// Why evaluations are started after all, until somebody has asked.
    reason: Mutex<Option<String>>,
}

#[derive(Debug)]
enum Server {
    /// To be started, after so many have died.
    Missing {
        deaths: u32,
    },
    Running {
        server: Arc<ForkServer>,
        deaths: u32,
    },
    GivenUp,
}

impl Forked {
    /// No server is started before the first evaluation.
    pub(super) fn new(command: CommandSpec, make: ForkServerOf) -> Self {
        let server = AsyncMutex::new(Server::Missing { deaths: 0 });
        Self { command, make, server, reason: Mutex::default() }
    }

    /// Has one document evaluated by a fork; `None` when a process has to be started for it.
    pub(super) async fn run(
        &self,
        input: &[u8],
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Option<Outcome> {
        loop {
            let server = self.server(cancellation).await?;
            match server.run(input, limits, cancellation).await {
                Ok(outcome) => return Some(outcome),
                Err(error) => self.failed(&server, error).await,
            }
        }
    }

    /// Why evaluations are started instead of forked, if that was decided since the last call.
    pub(super) fn take_reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the server, which has `patience` to do so by itself.
    pub(super) async fn close(self, patience: Duration) {
        if let Server::Running { server, .. } = self.server.into_inner()
            && let Some(server) = Arc::into_inner(server)
        {
            server.end(patience).await;
        }
    }

    /// The server, started if need be. Those who come meanwhile wait for it.
    async fn server(&self, cancellation: &Cancellation) -> Option<Arc<ForkServer>> {
        let mut state = self.server.lock().await;
        let deaths = match &*state {
            Server::GivenUp => return None,
            Server::Running { server, .. } => return Some(Arc::clone(server)),
            Server::Missing { deaths } => *deaths,
        };
        let started = match (self.make)(&self.command) {
            Ok(command) => ForkServer::start(command, START_PATIENCE, cancellation).await,
            Err(reason) => Err(ForkError::Unusual { reason }),
        };
        match started {
            Ok(server) => {
                let server = Arc::new(server);
                *state = Server::Running { server: Arc::clone(&server), deaths };
                Some(server)
            }
            Err(ForkError::Cancelled) => None,
            Err(error) => {
                self.give_up(&mut state, &error);
                None
            }
        }
    }

    /// Deals with a server that did not fork.
    async fn failed(&self, failed: &Arc<ForkServer>, error: ForkError) {
        let mut state = self.server.lock().await;
        let deaths = match &*state {
            // It may be that of another evaluation, which was faster to notice.
            Server::Running { server, deaths } if Arc::ptr_eq(server, failed) => *deaths + 1,
            _ => return,
        };
        if matches!(error, ForkError::Died { .. }) && deaths < DEATHS {
            *state = Server::Missing { deaths };
        } else {
            self.give_up(&mut state, &error);
        }
    }

    fn give_up(&self, state: &mut Server, error: &ForkError) {
        *state = Server::GivenUp;
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}
