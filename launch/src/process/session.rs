//! Sessions with a process that is kept running: lines in, lines out.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Context,
    time::Duration,
};

use memchr::memchr;
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, Sleep, sleep_until, timeout},
};

use super::{
    Cancellation, Captured, CommandSpec, Ending, Limits, SpawnError, Starter, os,
    pump::{Lines, Outgoing, StderrSections, drain, feed, read_some},
    run::{CONTAINER_GRACE, CONTAINER_RETRY, DRAIN_AFTER_KILL, KILL_GRACE, kill_container},
    started::Started,
};
use crate::clock;

/// Maximum capacity of a pipe by default.
const PIPE: usize = 1 << 20;

/// Bytes read from standard output at once: as much as a pipe holds.
const CHUNK: usize = 64 << 10;

/// Bytes read from standard error at once, which is usually short.
const STDERR_CHUNK: usize = 16 << 10;

/// Bytes kept of the output after the end of the conversation.
const LAST_PRINTED: usize = 4 << 10;

/// Maximum number of reads of standard error before an answer is processed.
const CATCH_UP: usize = 64;

/// A running process that reads lines and answers with lines.
///
/// Dropping a session kills the process group.
#[derive(Debug)]
pub struct Session {
    started: Started,
    /// Ending, once it is known.
    ending: Option<Ending>,
    stdin: Option<ChildStdin>,
    outgoing: Outgoing<'static>,
    stdout: Option<ChildStdout>,
    lines: Lines,
    stderr: Option<ChildStderr>,
    notes: StderrSections,
    limits: Limits,
    starter: Option<Starter>,
}

/// Decides what is sent to a process and processes its answers.
pub trait SessionDriver {
    /// Called at start and after every event. May send lines; returns how long to wait.
    fn next(&mut self, writer: &mut LineWriter<'_>) -> Next;

    /// Called for a line (without its line feed) that was read when `written` bytes of the input had been written;
    /// `rest` followed it.
    fn on_line(&mut self, line: &[u8], rest: &[u8], written: u64, notes: &mut StderrSections);

    /// Ready when [`next`](Self::next) has to be called again.
    fn poll_wake(&mut self, context: &mut Context<'_>) -> std::task::Poll<()>;
}

/// Next step of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for an answer, at most until then.
    Wait(Option<Instant>),
    /// Wait until then, and call [`SessionDriver::next`] again.
    Pause(Instant),
    /// End the conversation.
    Stop,
}

/// Queues lines for a process and gives access to its output.
#[derive(Debug)]
pub struct LineWriter<'a> {
    outgoing: &'a mut Outgoing<'static>,
    /// Standard error of the process.
    pub notes: &'a mut StderrSections,
    lines: &'a mut Lines,
    stdout: &'a Option<ChildStdout>,
    chunk: &'a mut [u8],
}

impl LineWriter<'_> {
    /// Queues a line made of these parts and returns the offset in the input at which it ends. Line ends in it become
    /// blanks.
    pub fn send<'p>(&mut self, parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
        self.outgoing.push_line(parts);
        self.outgoing.queued()
    }

    /// Returns the output that was not processed, after reading what is available.
    pub fn rest(&mut self) -> &[u8] {
        if let Some(read @ 1..) = self.stdout.as_ref().and_then(|it| os::read_now(it, self.chunk)) {
            self.lines.push(&self.chunk[..read]);
        }
        self.lines.rest()
    }

    /// Returns true if an answer to the next line can be recognized: the standard output is open, and there is no
    /// unsolicited output.
    pub fn is_free(&mut self) -> bool {
        let Some(stdout) = self.stdout else { return false };
        match os::read_now(stdout, self.chunk) {
            // It has closed its output, or exited.
            Some(0) => false,
            Some(read) => {
                self.lines.push(&self.chunk[..read]);
                false
            }
            None => self.lines.rest().is_empty(),
        }
    }
}

/// Exit of a process by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Ending of the process.
    pub ending: Ending,
    /// True if another process still has its standard output open.
    pub leaked_pipe: bool,
}

/// Reason why a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The driver stopped. The process still runs.
    Stopped,
    /// An answer is late. The process still runs, and may still answer.
    TimedOut,
    /// The run was cancelled. The process still runs.
    Cancelled,
    /// A line is longer than accepted.
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The process has exited.
    Exited(Exit),
}

/// A timer that is set when an earlier wake-up is needed; a wait that ends before costs nothing.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    due: Option<Instant>,
}

impl Alarm {
    fn set(&mut self, at: Instant) {
        self.due = Some(at);
        self.sleep.as_mut().reset(at);
    }

    fn set_earlier(&mut self, at: Instant) {
        if self.due.is_none_or(|due| at < due) {
            self.set(at);
        }
    }
}

/// Standard output that was read during a conversation.
#[derive(Default)]
struct Reading {
    /// The current line is longer than accepted.
    too_long: bool,
    /// Bytes read after the deadline.
    late: usize,
}

impl Reading {
    /// Processes output and calls `on_line` with each line and what followed it. Returns why the conversation ends, if it
    /// does.
    ///
    /// An answer at the last moment counts if it was in the pipe by then; of an endless one only the beginning is kept.
    fn process(
        &mut self,
        bytes: &[u8],
        lines: &mut Lines,
        limits: &Limits,
        deadline: Option<Instant>,
        mut on_line: impl FnMut(&[u8], &[u8]),
    ) -> Option<SessionEnd> {
        let is_late = || deadline.is_some_and(|deadline| deadline <= Instant::now());
        if self.too_long {
            // The end of the line is awaited, as for a program that prints one document.
            if memchr(b'\n', bytes).is_some() {
                return Some(SessionEnd::LineTooLong { limit: limits.stdout_cap });
            }
            return is_late().then_some(SessionEnd::TimedOut);
        }
        lines.push(bytes);
        let mut has_line = false;
        while let Some((line, rest)) = lines.pop() {
            on_line(line, rest);
            has_line = true;
        }
        self.late = if has_line || !is_late() { 0 } else { self.late + bytes.len() };
        if self.late > PIPE {
            return Some(SessionEnd::TimedOut);
        }
        self.too_long = lines.rest().len() > limits.stdout_cap;
        if self.too_long {
            lines.keep_beginning();
        }
        None
    }
}

impl Session {
    /// Starts a process. The timeout of `limits` is not used: the driver sets deadlines. `marked`: the process
    /// [marks](evaluator_protocol::Number::mark) its documents on standard error.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] if the process cannot be started.
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
            starter: spec.starter.clone(),
        })
    }

    /// Exchanges lines with the process until `driver` stops, an error occurs or the process exits.
    ///
    /// Before a line is processed, everything that was written to standard error before it has been read, where the system
    /// permits that.
    pub async fn converse(
        &mut self,
        driver: &mut impl SessionDriver,
        cancellation: &Cancellation,
    ) -> SessionEnd {
        let mut reading = Reading::default();
        if let Some(end) = self.exchange(driver, &mut reading, cancellation).await {
            return end;
        }
        // The conversation may have ended before the end of the output.
        let exit = self.exit().await;
        if reading.too_long && exit == (Exit { ending: Ending::Exited(0), leaked_pipe: false }) {
            return SessionEnd::LineTooLong { limit: self.limits.stdout_cap };
        }
        SessionEnd::Exited(exit)
    }

    /// The conversation itself. Returns why it ended; `None` if the process has exited.
    async fn exchange(
        &mut self,
        driver: &mut impl SessionDriver,
        reading: &mut Reading,
        cancellation: &Cancellation,
    ) -> Option<SessionEnd> {
        let Self { started, stdin, outgoing, stdout, lines, stderr, notes, limits, .. } = self;
        let (mut chunk, mut stderr_chunk) = (vec![0; CHUNK], vec![0; STDERR_CHUNK]);
        let mut exit = pin!(started.exited());
        let mut cancelled = pin!(cancellation.cancelled());
        let mut alarm = Alarm { sleep: Box::pin(sleep_until(Instant::now())), due: None };
        let mut exited = false;
        let end = loop {
            let mut writer = LineWriter { outgoing, notes, lines, stdout, chunk: &mut chunk };
            let deadline = match driver.next(&mut writer) {
                Next::Stop => break SessionEnd::Stopped,
                // The rest of the output is read a bounded time only.
                Next::Wait(_) | Next::Pause(_) if exited => alarm.due,
                Next::Wait(deadline) => {
                    deadline.into_iter().for_each(|deadline| alarm.set_earlier(deadline));
                    deadline
                }
                Next::Pause(end) => {
                    alarm.set_earlier(end);
                    None
                }
            };
            tokio::select! {
                biased;
                // The outputs may always be ready. So events that must not be missed come first or, as the deadline, are
                // checked with every read. Standard error comes last, and is also read with each line.
                () = &mut cancelled => break SessionEnd::Cancelled,
                bytes = read_some(stdout, &mut chunk), if stdout.is_some() => {
                    let bytes = bytes.unwrap_or_default();
                    catch_up(stderr, notes, &mut stderr_chunk);
                    let ended = reading.process(bytes, lines, limits, deadline, |line, rest| {
                        driver.on_line(line, rest, outgoing.written(), notes);
                    });
                    if let Some(end) = ended {
                        break end;
                    }
                    if reading.too_long && !exited {
                        alarm.set(clock::after(Instant::now(), limits.eof_grace));
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
                    // Output in the pipe still counts.
                    alarm.set(clock::after(Instant::now(), limits.eof_grace));
                }
                () = &mut alarm.sleep, if alarm.due.is_some() => {
                    alarm.due = None;
                    if exited {
                        break SessionEnd::Stopped;
                    }
                    if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                        break SessionEnd::TimedOut;
                    }
                    if reading.too_long {
                        // The line has ended.
                        break SessionEnd::LineTooLong { limit: limits.stdout_cap };
                    }
                }
                () = feed(stdin, outgoing), if stdin.is_some() && !outgoing.is_empty() => {}
                () = poll_fn(|context| driver.poll_wake(context)) => {}
                bytes = read_some(stderr, &mut stderr_chunk), if stderr.is_some() => {
                    notes.push(bytes.unwrap_or_default());
                }
            }
        };
        (!exited).then_some(end)
    }

    /// Standard error of the process, as far as it was read.
    pub fn notes(&mut self) -> &mut StderrSections {
        &mut self.notes
    }

    /// Takes the output after the last processed line; after [`end`](Self::end), the later output.
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.lines.take_rest()
    }

    /// Ends the process: closes its input, waits at most `grace`, sends `SIGTERM`, and kills it. The beginning of
    /// its remaining output is [kept](Self::take_rest).
    ///
    /// Returns how it exited, if it exited by itself.
    pub async fn end(&mut self, grace: Duration, cancellation: &Cancellation) -> Option<Exit> {
        if let Some(ending) = &self.ending {
            return Some(Exit { ending: ending.clone(), leaked_pipe: self.stdout.is_some() });
        }
        self.stdin = None;
        let has_exited = tokio::select! {
            biased;
            exited = self.exits_within(grace) => exited,
            () = cancellation.cancelled() => false,
        };
        if has_exited {
            return Some(self.exit().await);
        }
        let start_time = Instant::now();
        while let Some(container) = self.started.container()
            && start_time.elapsed() < CONTAINER_GRACE
        {
            kill_container(container).await;
            if self.exits_within(CONTAINER_RETRY).await {
                break;
            }
        }
        self.started.terminate();
        if !self.exits_within(self.limits.term_grace).await {
            self.started.kill();
            // A process that survives this is left to the runtime.
            let _ = self.exits_within(KILL_GRACE).await;
        }
        // Killing the rest of the group closes the outputs that it holds open.
        let ending = self.started.reap();
        self.collect(ending, DRAIN_AFTER_KILL).await;
        None
    }

    /// Reads the outputs of the dead process to their ends, each for a bounded time, and reaps the process.
    async fn exit(&mut self) -> Exit {
        let Self { stdout, lines, limits, stderr, notes, .. } = self;
        let mut last = Captured::new(LAST_PRINTED, 0);
        let mut grace = limits.eof_grace;
        if self.started.is_contained() {
            // What it leaves ends with it.
            self.started.kill();
            grace = KILL_GRACE;
        }
        // A pipe that is still open afterwards is held by a child of the process.
        let _ = timeout(grace, drain(stdout, &mut last)).await;
        lines.push(last.head());
        let _ = timeout(grace, note(stderr, notes)).await;
        let ending = self.started.reap();
        let ending = match &self.starter {
            Some(starter) => starter.ending(ending, self.notes.beginning()),
            None => ending,
        };
        self.collect(ending.clone(), Duration::ZERO).await;
        Exit { ending, leaked_pipe: self.stdout.is_some() }
    }

    async fn exits_within(&mut self, limit: Duration) -> bool {
        let Self { started, stdout, stderr, notes, lines, .. } = self;
        let mut last = Captured::new(LAST_PRINTED, 0);
        let draining = async {
            tokio::join!(drain(stdout, &mut last), note(stderr, notes));
            std::future::pending::<()>().await;
        };
        let has_exited = tokio::select! {
            biased;
            exited = timeout(limit, started.exited()) => exited.is_ok(),
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

    /// Reads the rest of standard error for at most `limit` and stores the ending.
    async fn collect(&mut self, ending: Ending, limit: Duration) {
        let _ = timeout(limit, note(&mut self.stderr, &mut self.notes)).await;
        self.notes.finish();
        self.ending = Some(ending);
    }
}

/// Reads what standard error holds at this moment.
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
