//! A process that is kept running and spoken to in lines.

use std::{path::Path, pin::pin, time::Duration};

use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, sleep, timeout},
};

use super::{
    Cancellation, Captured, CommandSpec, Ending, Limits, SpawnError,
    group::Started,
    lines::Lines,
    pump::{Outgoing, drain, feed, read_some},
    run::KILL_PATIENCE,
};

/// Bytes read from an output at once.
const CHUNK: usize = 64 << 10;

/// How long a process may take to become the program it is meant to become. It may wait for others that build.
const BECOMING: Duration = Duration::from_secs(60);

/// A running process that is sent lines and answers in lines.
///
/// Bytes move while one of the async methods is awaited, and only then. All of them are cancel safe: a line that was
/// half sent or half received when a future was dropped is completed by the next call.
///
/// Dropping a session kills the process group.
#[derive(Debug)]
pub struct Session {
    started: Started,
    /// How it ended, once that is known.
    ending: Option<Ending>,
    stdin: Option<ChildStdin>,
    outgoing: Outgoing<'static>,
    stdout: Option<ChildStdout>,
    lines: Lines,
    chunk: Vec<u8>,
    stderr: Option<ChildStderr>,
    err: Captured,
    limits: Limits,
}

/// Why no line was received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// The time was up. The process still runs, and may still answer.
    TimedOut {
        /// The limit that was passed.
        limit: Duration,
    },
    /// The run was cancelled. The process still runs.
    Cancelled,
    /// The line is longer than accepted. The process still runs.
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The process has ended.
    Ended {
        /// How it ended.
        ending: Ending,
        /// What came after the last line feed.
        rest: Vec<u8>,
        /// Whether something it started still has its standard output open.
        leaked_pipe: bool,
    },
}

impl Session {
    /// Starts a process. Of `limits`, the timeout is not used: every [`receive`](Self::receive) has its own.
    ///
    /// A command that [becomes](CommandSpec::becomes) another program has become it when this returns, as far as the
    /// system can tell.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] when the process cannot be started.
    pub async fn start(spec: &CommandSpec, limits: &Limits) -> Result<Self, SpawnError> {
        let (started, pipes) = Started::start(spec).await?;
        let mut session = Self {
            started,
            ending: None,
            stdin: pipes.stdin,
            outgoing: Outgoing::default(),
            stdout: pipes.stdout,
            lines: Lines::default(),
            chunk: vec![0; CHUNK],
            stderr: pipes.stderr,
            err: Captured::new(limits.stderr_head, limits.stderr_tail),
            limits: limits.clone(),
        };
        if let Some(program) = &spec.becomes {
            session.wait_until_it_is(program).await;
        }
        Ok(session)
    }

    /// Waits until the process has replaced itself by `program`, has ended, or does neither for long.
    async fn wait_until_it_is(&mut self, program: &Path) {
        let Ok(program) = program.canonicalize() else { return };
        let Self { started, stderr, err, .. } = self;
        let becoming = async {
            let mut pause = Duration::from_millis(1);
            while started.image().is_some_and(|image| image != program) {
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(10));
            }
        };
        tokio::select! {
            biased;
            _ = timeout(BECOMING, becoming) => {}
            // What it says meanwhile must not keep it.
            () = async { drain(stderr, err).await; std::future::pending().await } => {}
        }
    }

    /// Puts a line into the queue; it is written while [`receive`](Self::receive) waits for the answer.
    ///
    /// Line ends inside `line` become blanks. In JSON that changes nothing: raw ones can only stand between tokens.
    pub fn send(&mut self, line: &[u8]) {
        let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
        self.outgoing.extend(line.iter().map(blank).chain([b'\n']));
    }

    /// Waits for the next line and returns it without its line feed.
    ///
    /// # Errors
    ///
    /// [`Interruption`] says why there is none.
    pub async fn receive(
        &mut self,
        limit: Duration,
        cancellation: &Cancellation,
    ) -> Result<Vec<u8>, Interruption> {
        let Self { started, stdin, outgoing, stdout, lines, chunk, stderr, err, limits, .. } = self;
        let mut exited = self.ending.is_some();
        {
            let mut deadline = pin!(sleep(if exited { Duration::ZERO } else { limit }));
            let mut exit = pin!(started.exited());
            let mut background = pin!(async {
                tokio::join!(feed(stdin, outgoing), drain(stderr, err));
            });
            let mut background_done = false;
            loop {
                if let Some(line) = lines.pop() {
                    return Ok(line);
                }
                if lines.len() > limits.stdout_cap {
                    return Err(Interruption::LineTooLong { limit: limits.stdout_cap });
                }
                if exited && stdout.is_none() {
                    break;
                }
                tokio::select! {
                    biased;
                    // An answer at the last moment is still an answer; an endless one is cut off above.
                    bytes = read_some(stdout, chunk), if stdout.is_some() => {
                        lines.push(bytes.unwrap_or_default());
                    }
                    () = &mut exit, if !exited => {
                        exited = true;
                        // What is in the pipe still counts.
                        deadline.as_mut().reset(Instant::now() + limits.eof_grace);
                    }
                    () = cancellation.cancelled() => return Err(Interruption::Cancelled),
                    () = &mut deadline => {
                        if exited {
                            break;
                        }
                        return Err(Interruption::TimedOut { limit });
                    }
                    () = &mut background, if !background_done => background_done = true,
                }
            }
        }
        Err(self.ended().await)
    }

    /// Whether the process runs and has not said anything it was not asked for.
    ///
    /// A process of which this is not true would answer the next line with what belongs to an earlier one.
    pub async fn is_ready(&mut self) -> bool {
        tokio::select! {
            biased;
            bytes = read_some(&mut self.stdout, &mut self.chunk) => {
                self.lines.push(bytes.unwrap_or_default());
            }
            () = std::future::ready(()) => {}
        }
        self.stdout.is_some() && !self.has_unread() && !self.started.has_exited()
    }

    /// Whether something was received that no call has returned yet.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.lines.len() > 0
    }

    /// Gives up what was received and not returned by any call.
    pub fn take_unread(&mut self) -> Vec<u8> {
        self.lines.take_rest()
    }

    /// Standard error since the last call. What the process writes there just before it answers may come a call later.
    pub fn take_stderr(&mut self) -> Captured {
        self.err.take()
    }

    /// Closes the input of the process, so that it can end by itself; returns at once.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the process and returns how it ended: closes its input, waits for at most `patience`, then asks it to end,
    /// and kills it if it does not.
    pub async fn end(&mut self, patience: Duration) -> Ending {
        if let Some(ending) = &self.ending {
            return ending.clone();
        }
        self.close_input();
        if self.exits_within(patience).await {
            return self.reap().await;
        }
        self.started.terminate();
        if !self.exits_within(self.limits.term_grace).await {
            self.started.kill();
            // A process that cannot even be killed is left to the runtime.
            let _ = self.exits_within(KILL_PATIENCE).await;
        }
        self.reap().await
    }

    async fn exits_within(&mut self, patience: Duration) -> bool {
        let Self { started, stdout, stderr, err, .. } = self;
        let mut ignored = Captured::new(0, 0);
        let draining = async {
            tokio::join!(drain(stdout, &mut ignored), drain(stderr, err));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            exited = timeout(patience, started.exited()) => exited.is_ok(),
            () = draining => false,
        }
    }

    async fn ended(&mut self) -> Interruption {
        let leaked_pipe = self.stdout.is_some();
        let ending = self.reap().await;
        Interruption::Ended { ending, rest: self.lines.take_rest(), leaked_pipe }
    }

    /// Collects the status of the dead process and the rest of its standard error.
    async fn reap(&mut self) -> Ending {
        if let Some(ending) = &self.ending {
            return ending.clone();
        }
        let _ = timeout(self.limits.eof_grace, drain(&mut self.stderr, &mut self.err)).await;
        let ending = self.started.reap();
        self.ending = Some(ending.clone());
        ending
    }
}
