//! A process that is kept running and spoken to in lines.

use std::{future::poll_fn, pin::pin, task::Context, time::Duration};

use memchr::memchr;
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Cancellation, Captured, CommandSpec, Ending, Limits, SpawnError,
    group::Started,
    os,
    pump::{Lines, Outgoing, drain, feed, read_some},
    run::{DRAIN_AFTER_KILL, KILL_GRACE},
    stderr::StderrSections,
};
use crate::clock;

/// As much as a pipe holds at most, where systems have not been told otherwise.
const PIPE: usize = 1 << 20;

/// Bytes read from standard output at once: as much as a pipe holds.
const CHUNK: usize = 64 << 10;

/// Bytes read from standard error at once, where hardly anything comes.
const STDERR_CHUNK: usize = 16 << 10;

/// Bytes kept of what a process prints when nobody speaks with it any more.
const LAST_PRINTED: usize = 4 << 10;

/// How often standard error is read before an answer is looked at, when the process writes there faster than we read.
const CATCH_UP: usize = 64;

/// A running process that is sent lines and answers in lines.
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
    stderr: Option<ChildStderr>,
    notes: StderrSections,
    limits: Limits,
}

/// Who speaks with a process: says what is sent, and hears what comes.
pub trait SessionDriver {
    /// Called at the beginning and whenever something has happened: may send lines, and says how long to wait for what
    /// comes next.
    fn next(&mut self, writer: &mut LineWriter<'_>) -> Next;

    /// A line came, without its line feed, when this many bytes of the input had been written; `rest` came behind it.
    fn hear(&mut self, line: &[u8], rest: &[u8], written: u64, notes: &mut StderrSections);

    /// Ready when [`next`](Self::next) may have something new to say.
    fn poll_wake(&mut self, context: &mut Context<'_>) -> std::task::Poll<()>;
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Listen, until then at most.
    Wait(Option<Instant>),
    /// Listen until then, and ask again if nothing has come.
    Pause(Instant),
    /// No more of this.
    Stop,
}

/// Where a line is put that the process is to be sent, and what is known of the process.
#[derive(Debug)]
pub struct LineWriter<'a> {
    outgoing: &'a mut Outgoing<'static>,
    /// What it wrote to standard error.
    pub notes: &'a mut StderrSections,
    lines: &'a mut Lines,
    stdout: &'a Option<ChildStdout>,
    chunk: &'a mut [u8],
}

impl LineWriter<'_> {
    /// Sends a line made of these parts; says up to which byte of the input it goes. Line ends in it become blanks.
    pub fn send<'p>(&mut self, parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
        self.outgoing.push_line(parts);
        self.outgoing.queued()
    }

    /// What was printed and not heard, by now.
    pub fn rest(&mut self) -> &[u8] {
        if let Some(read @ 1..) = self.stdout.as_ref().and_then(|it| os::read_now(it, self.chunk)) {
            self.lines.push(&self.chunk[..read]);
        }
        self.lines.rest()
    }

    /// Whether an answer to what is sent now could be heard: the process can speak, and has said nothing that nobody has
    /// asked for.
    pub fn is_free(&mut self) -> bool {
        let Some(stdout) = self.stdout else { return false };
        match os::read_now(stdout, self.chunk) {
            // It has closed its output, or ended.
            Some(0) => false,
            Some(read) => {
                self.lines.push(&self.chunk[..read]);
                false
            }
            None => self.lines.rest().is_empty(),
        }
    }
}

/// How a process exited that nobody had killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How the process ended.
    pub ending: Ending,
    /// Whether something it started still has its standard output open.
    pub leaked_pipe: bool,
}

/// Why nobody speaks with the process any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The one who spoke wanted it so. The process still runs.
    Stopped,
    /// What was waited for did not come in time. The process still runs, and may still answer.
    TimedOut,
    /// The run was cancelled. The process still runs.
    Cancelled,
    /// The line is longer than accepted.
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The process has ended.
    Exited(Exit),
}

impl Session {
    /// Starts a process. Of `limits`, the timeout is not used: whoever speaks with it says how long to wait. `marked`: it
    /// [marks](evaluator_protocol::Number::mark) its documents on standard error.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] when the process cannot be started.
    pub async fn start(
        spec: &CommandSpec,
        limits: &Limits,
        marked: bool,
    ) -> Result<Self, SpawnError> {
        let (started, pipes) = Started::start(spec).await?;
        Ok(Self {
            started,
            ending: None,
            stdin: pipes.stdin,
            outgoing: Outgoing::default(),
            stdout: pipes.stdout,
            lines: Lines::default(),
            stderr: pipes.stderr,
            notes: StderrSections::new(limits, marked),
            limits: limits.clone(),
        })
    }

    /// Lets `talk` speak with the process for as long as both can and want to.
    ///
    /// Before a line is heard, everything has been read from standard error that was written there earlier, where the
    /// system lets that be done.
    pub async fn converse(
        &mut self,
        talk: &mut impl SessionDriver,
        cancellation: &Cancellation,
    ) -> SessionEnd {
        let Self { started, stdin, outgoing, stdout, lines, stderr, notes, limits, .. } = self;
        let (mut chunk, mut stderr_chunk) = (vec![0; CHUNK], vec![0; STDERR_CHUNK]);
        let (mut exited, mut too_long) = (false, false);
        // How much was read when the time was up already.
        let mut late = 0;
        let end = {
            let mut exit = pin!(started.exited());
            let mut cancelled = pin!(cancellation.cancelled());
            // It is set when somebody waits for less; a wait that ended before costs nothing more.
            let mut alarm = pin!(sleep_until(Instant::now()));
            let mut due = None;
            loop {
                let mut writer = LineWriter { outgoing, notes, lines, stdout, chunk: &mut chunk };
                let (deadline, wake) = match talk.next(&mut writer) {
                    Next::Stop => break SessionEnd::Stopped,
                    // From now on it has only so long to be read.
                    Next::Wait(_) | Next::Pause(_) if exited => (due, due),
                    Next::Wait(deadline) => (deadline, deadline),
                    Next::Pause(end) => (None, Some(end)),
                };
                if let Some(wake) = wake
                    && due.is_none_or(|due| wake < due)
                {
                    due = Some(wake);
                    alarm.as_mut().reset(wake);
                }
                tokio::select! {
                    biased;
                    // The outputs may never cease to have something to read. So what must be noticed comes first, or, as the time
                    // that is up, is looked at with every read; standard error comes last, and is also read with each line.
                    () = &mut cancelled => break SessionEnd::Cancelled,
                    // An answer at the last moment is still an answer, as long as it may have been in the pipe by then; of an
                    // endless one hardly anything is kept.
                    bytes = read_some(stdout, &mut chunk), if stdout.is_some() => {
                        let bytes = bytes.unwrap_or_default();
                        if too_long {
                            // Its end is waited for, as that of a program that prints one document.
                            if memchr(b'\n', bytes).is_some() {
                                break SessionEnd::LineTooLong { limit: limits.stdout_cap };
                            }
                            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                                break SessionEnd::TimedOut;
                            }
                        } else {
                            let bytes_read = bytes.len();
                            lines.push(bytes);
                            catch_up(stderr, notes, &mut stderr_chunk);
                            let mut has_heard = false;
                            while let Some((line, rest)) = lines.pop() {
                                talk.hear(line, rest, outgoing.written(), notes);
                                has_heard = true;
                            }
                            let now = Instant::now();
                            let is_late = deadline.is_some_and(|deadline| deadline <= now);
                            late = if has_heard || !is_late { 0 } else { late + bytes_read };
                            if late > PIPE {
                                break SessionEnd::TimedOut;
                            }
                            too_long = lines.rest().len() > limits.stdout_cap;
                            if too_long {
                                lines.keep_beginning();
                            }
                        }
                        if too_long && !exited {
                            let end = clock::after(Instant::now(), limits.eof_grace);
                            due = Some(end);
                            alarm.as_mut().reset(end);
                        }
                        if exited && stdout.is_none() {
                            break SessionEnd::Stopped;
                        }
                    }
                    () = &mut exit, if !exited => {
                        exited = true;
                        if stdout.is_none() {
                            break SessionEnd::Stopped;
                        }
                        // What is in the pipe still counts.
                        let end = clock::after(Instant::now(), limits.eof_grace);
                        due = Some(end);
                        alarm.as_mut().reset(end);
                    }
                    () = &mut alarm, if due.is_some() => {
                        due = None;
                        if exited {
                            break SessionEnd::Stopped;
                        }
                        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                            break SessionEnd::TimedOut;
                        }
                        if too_long {
                            // It has said all it had to say.
                            break SessionEnd::LineTooLong { limit: limits.stdout_cap };
                        }
                    }
                    () = feed(stdin, outgoing), if stdin.is_some() && !outgoing.is_empty() => {}
                    () = poll_fn(|context| talk.poll_wake(context)) => {}
                    bytes = read_some(stderr, &mut stderr_chunk), if stderr.is_some() => {
                        notes.push(bytes.unwrap_or_default());
                    }
                }
            }
        };
        if exited {
            // Whoever left the conversation may not have waited for the end of the output.
            self.drain_stdout().await;
            let leaked_pipe = self.stdout.is_some();
            let (ending, limit) = (self.reap().await, self.limits.stdout_cap);
            if too_long && ending == Ending::Exited(0) && !leaked_pipe {
                return SessionEnd::LineTooLong { limit };
            }
            return SessionEnd::Exited(Exit { ending, leaked_pipe });
        }
        end
    }

    /// What the process wrote to standard error, as far as it was read.
    pub fn notes(&mut self) -> &mut StderrSections {
        &mut self.notes
    }

    /// Gives up what came behind the last line that was heard; after the [end](Self::end), what came meanwhile.
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.lines.take_rest()
    }

    /// Ends the process: closes its input, waits for at most `patience`, then asks it to end, and kills it if it does not.
    /// Of what it still prints, the beginning is [kept](Self::take_rest).
    ///
    /// Returns how it exited, if it exited by itself.
    pub async fn end(&mut self, patience: Duration, cancellation: &Cancellation) -> Option<Exit> {
        if let Some(ending) = &self.ending {
            return Some(Exit { ending: ending.clone(), leaked_pipe: self.stdout.is_some() });
        }
        self.stdin = None;
        let has_exited = tokio::select! {
            biased;
            exited = self.exits_within(patience) => exited,
            () = cancellation.cancelled() => false,
        };
        if has_exited {
            self.drain_stdout().await;
            let leaked_pipe = self.stdout.is_some();
            return Some(Exit { ending: self.reap().await, leaked_pipe });
        }
        self.started.terminate();
        if !self.exits_within(self.limits.term_grace).await {
            self.started.kill();
            // A process that cannot even be killed is left to the runtime.
            let _ = self.exits_within(KILL_GRACE).await;
        }
        // What is left of its group goes at once, so that nobody waits for the end of outputs that it holds open.
        let ending = self.started.reap();
        self.collect(ending, DRAIN_AFTER_KILL).await;
        None
    }

    /// Reads standard output of the dead process to its end, for a bounded time.
    async fn drain_stdout(&mut self) {
        let Self { stdout, lines, limits, .. } = self;
        if stdout.is_none() {
            return;
        }
        let mut last = Captured::new(LAST_PRINTED, 0);
        // A pipe that is still open afterwards is held by something that the process started.
        let _ = timeout(limits.eof_grace, drain(stdout, &mut last)).await;
        lines.push(last.head());
    }

    async fn exits_within(&mut self, patience: Duration) -> bool {
        let Self { started, stdout, stderr, notes, lines, .. } = self;
        let mut last = Captured::new(LAST_PRINTED, 0);
        let draining = async {
            tokio::join!(drain(stdout, &mut last), note(stderr, notes));
            std::future::pending::<()>().await;
        };
        let has_exited = tokio::select! {
            biased;
            exited = timeout(patience, started.exited()) => exited.is_ok(),
            () = draining => false,
        };
        if let Some(stdout) = stdout {
            let mut chunk = vec![0; LAST_PRINTED];
            let read = os::read_now(stdout, &mut chunk).unwrap_or_default();
            last.push(&chunk[..read]);
        }
        lines.push(last.head());
        has_exited
    }

    /// Collects the status of the dead process and the rest of its standard error.
    async fn reap(&mut self) -> Ending {
        if let Some(ending) = &self.ending {
            return ending.clone();
        }
        let _ = timeout(self.limits.eof_grace, note(&mut self.stderr, &mut self.notes)).await;
        let ending = self.started.reap();
        self.collect(ending, Duration::ZERO).await
    }

    /// Reads for so long what standard error still holds of a process that ended like this.
    async fn collect(&mut self, ending: Ending, patience: Duration) -> Ending {
        let _ = timeout(patience, note(&mut self.stderr, &mut self.notes)).await;
        self.notes.finish();
        self.ending = Some(ending.clone());
        ending
    }
}

/// Reads what is in standard error by now.
fn catch_up(stderr: &Option<ChildStderr>, notes: &mut StderrSections, chunk: &mut [u8]) {
    let Some(stderr) = stderr else { return };
    for _ in 0..CATCH_UP {
        let read = os::read_now(stderr, chunk).unwrap_or_default();
        notes.push(&chunk[..read]);
        if read < chunk.len() {
            return;
        }
    }
}

/// Reads standard error to its end.
async fn note(stderr: &mut Option<ChildStderr>, notes: &mut StderrSections) {
    let mut chunk = vec![0; STDERR_CHUNK];
    while let Some(bytes) = read_some(stderr, &mut chunk).await {
        notes.push(bytes);
    }
}
