//! Evaluations of one program that share work: forked from one interpreter, or with shared compiled code.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::Mutex as AsyncMutex;

use super::work::ForkedProgram;
use crate::{
    process::{
        self, Cancellation, CommandSpec, Ending, Limits, Outcome,
        forks::{ForkError, ForkServer, ServerCommand},
    },
    runtime::{CachedCommand, Reuse},
};

/// Time limit for the start of a server, which includes the imports.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Number of servers of one program that may die before no other is started.
const MAX_DEATHS: u32 = 3;

/// Starts the evaluations of one program faster than from scratch, for as long as that works.
#[derive(Debug)]
pub(crate) struct Shared {
    program: ForkedProgram,
    way: Way,
    /// Reason why processes are started without a fork or compiled code after all, until it is [taken](Self::take_reason).
    reason: Mutex<Option<String>>,
}

#[derive(Debug)]
enum Way {
    Fork(fn(&CommandSpec) -> Result<ServerCommand, String>, AsyncMutex<Server>),
    CompiledCode(
        fn(&CommandSpec) -> Result<CachedCommand, String>,
        OnceLock<Option<Box<CachedCommand>>>,
    ),
}

#[derive(Debug)]
enum Server {
    /// The server has to be started, after this number of deaths.
    Missing {
        deaths: u32,
    },
    Running {
        server: Arc<ForkServer>,
        deaths: u32,
    },
    GivenUp,
}

impl Shared {
    /// Prepares sharing for a program; `None` if it has none. Nothing is started or written before the first evaluation.
    pub(crate) fn new(program: &ForkedProgram, reuse: &Reuse) -> Option<Self> {
        let way = match reuse {
            Reuse::None | Reuse::Unavailable { .. } => return None,
            Reuse::Fork(make) => Way::Fork(*make, AsyncMutex::new(Server::Missing { deaths: 0 })),
            Reuse::CompiledCode(make) => Way::CompiledCode(*make, OnceLock::new()),
        };
        Some(Self { program: program.clone(), way, reason: Mutex::default() })
    }

    /// Evaluates one document with these variables; `None` if its process has to start from scratch.
    pub(crate) async fn run(
        &self,
        input: &[u8],
        variables: &[(String, String)],
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Option<Outcome> {
        match &self.way {
            Way::Fork(make, state) => loop {
                let server = self.server(*make, state, cancellation).await?;
                match server.run(input, variables, limits, cancellation).await {
                    Ok(outcome) => return Some(outcome),
                    Err(error) => self.failed(state, &server, &error).await,
                }
            },
            Way::CompiledCode(make, made) => {
                let give_up = |reason: &str| self.give_up(Reuse::not_cached(reason));
                let cached = made.get_or_init(|| {
                    make(&self.program.command)
                        .map_err(|reason| give_up(&reason))
                        .ok()
                        .map(Box::new)
                });
                let CachedCommand { command, needs, .. } = cached.as_deref()?;
                // It may be deleted at any time, e.g. by a cleanup of temporary files.
                let is_missing = || {
                    let is_missing = !needs.is_file();
                    if is_missing {
                        give_up(&format!("{} was deleted", needs.display()));
                    }
                    is_missing
                };
                if is_missing() {
                    return None;
                }
                let command = with_variables(command, variables);
                let outcome = process::run(&command, input, limits, cancellation).await;
                // If it was deleted before it was read, the evaluator has not started.
                let has_failed = matches!(outcome.ending, Ending::Exited(code) if code != 0);
                if has_failed && is_missing() { None } else { Some(outcome) }
            }
        }
    }

    /// Returns why evaluations start from scratch, if that was decided since the last call.
    pub(crate) fn take_reason(&self) -> Option<String> {
        match &mut *self.reason.lock().unwrap_or_else(PoisonError::into_inner) {
            // Reported once: evaluations that run at the same time find the same reason.
            Some(reason) if !reason.is_empty() => Some(std::mem::take(reason)),
            _ => None,
        }
    }

    /// Ends the server, which may exit by itself within `grace`.
    pub(crate) async fn close(self, grace: Duration) {
        if let Way::Fork(_, state) = self.way
            && let Server::Running { server, .. } = state.into_inner()
            && let Some(server) = Arc::into_inner(server)
        {
            server.end(grace).await;
        }
    }

    /// Returns the server, which is started if necessary. Concurrent callers wait for it.
    async fn server(
        &self,
        make: fn(&CommandSpec) -> Result<ServerCommand, String>,
        state: &AsyncMutex<Server>,
        cancellation: &Cancellation,
    ) -> Option<Arc<ForkServer>> {
        let mut state = state.lock().await;
        let deaths = match &*state {
            Server::GivenUp => return None,
            Server::Running { server, .. } => return Some(Arc::clone(server)),
            Server::Missing { deaths } => *deaths,
        };
        let started = match self.program.server(make) {
            Ok(command) => ForkServer::start(command, START_LIMIT, cancellation).await,
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
                *state = Server::GivenUp;
                self.give_up(Reuse::not_forked(&error.to_string()));
                None
            }
        }
    }

    /// Replaces or gives up a server that did not fork.
    async fn failed(
        &self,
        state: &AsyncMutex<Server>,
        failed: &Arc<ForkServer>,
        error: &ForkError,
    ) {
        let mut state = state.lock().await;
        let deaths = match &*state {
            // A concurrent evaluation may have replaced it already.
            Server::Running { server, deaths } if Arc::ptr_eq(server, failed) => *deaths + 1,
            _ => return,
        };
        if matches!(error, ForkError::Died { .. }) && deaths < MAX_DEATHS {
            *state = Server::Missing { deaths };
        } else {
            *state = Server::GivenUp;
            self.give_up(Reuse::not_forked(&error.to_string()));
        }
    }

    fn give_up(&self, reason: String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// Returns the command with these variables.
pub(crate) fn with_variables<'c>(
    command: &'c CommandSpec,
    variables: &[(String, String)],
) -> Cow<'c, CommandSpec> {
    if variables.is_empty() {
        return Cow::Borrowed(command);
    }
    let set = |command: CommandSpec, (name, value): &(String, String)| command.env(name, value);
    Cow::Owned(variables.iter().fold(command.clone(), set))
}
