//! A program that forks on request.

use std::{
    io::{self, IoSlice, PipeReader, PipeWriter, pipe},
    mem::{self, MaybeUninit},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{self, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    process::Pid,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::UnixStream,
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    ForkError, ServerCommand,
    child::{Forked, take_line},
};
#[cfg(target_os = "linux")]
use crate::process::os;
use crate::process::{
    Cancellation, Captured, Ending, Limits, Outcome, Resources,
    group::{Pipes, Started},
    living,
    pump::drain,
    run::{KILL_PATIENCE, nothing, supervise},
};

/// How long a server may take to fork. It needs some milliseconds, unless the machine is very busy.
const FORK_PATIENCE: Duration = Duration::from_secs(10);

/// Bytes kept of what a server printed before it was ready, to show them.
const PRINTED: usize = 1 << 10;

/// A running program that forks a process for each request; see [the module](super).
///
/// Dropping it kills it, and with it what it has forked.
#[derive(Debug)]
pub struct ForkServer {
    control: UnixStream,
    started: Started,
    /// What each fork may use. The server itself is not limited: it works for all of them.
    resources: Resources,
}

impl ForkServer {
    /// Starts a server and waits until it is ready, for at most `patience`.
    ///
    /// # Errors
    ///
    /// [`ForkError`] when it does not start, or is not used.
    pub async fn start(
        server: ServerCommand,
        patience: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, ForkError> {
        tokio::select! {
            biased;
            () = cancellation.cancelled() => Err(ForkError::Cancelled),
            started = timeout(patience, Self::ready(server)) => started.unwrap_or_else(|_| {
                let reason = format!("the interpreter was not ready after {} s", patience.as_secs());
                Err(ForkError::Unusual { reason })
            }),
        }
    }

    async fn ready(mut server: ServerCommand) -> Result<Self, ForkError> {
        let resources = mem::take(&mut server.command.resources);
        let unusual = |error: io::Error| ForkError::Unusual { reason: error.to_string() };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(unusual)?;
        ours.set_nonblocking(true).map_err(unusual)?;
        let mut control = UnixStream::from_std(ours).map_err(unusual)?;
        let theirs = OwnedFd::from(theirs);
        // A copy that cannot be made becomes a closed standard input, with which the server ends at once.
        let stdin = || theirs.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        let (started, mut pipes) = Started::start_with(&server.command, stdin)
            .await
            .map_err(|error| ForkError::Unusual { reason: error.to_string() })?;
        drop(theirs);
        // A server that is gone already has said why, or says nothing below.
        let _ = control.write_all(&server.greeting).await;
        let mut out = Captured::new(PRINTED, 0);
        let mut err = Captured::new(0, PRINTED);
        let (said, (), ()) = tokio::join!(
            first_line(&mut control),
            drain(&mut pipes.stdout, &mut out),
            drain(&mut pipes.stderr, &mut err),
        );
        let printed = [out.text(), err.text()].concat();
        let reason = match said.as_deref() {
            Some("ready") if printed.is_empty() => return Ok(Self { control, started, resources }),
            Some("ready") => format!("the imports printed: {}", last_line(&printed)),
            Some(said) => said.strip_prefix("unusual ").unwrap_or(said).to_owned(),
            None if printed.is_empty() => "the interpreter ended before it was ready".to_owned(),
            None => format!("the interpreter ended before it was ready: {}", last_line(&printed)),
        };
        Err(ForkError::Unusual { reason })
    }

    /// Forks a process, writes `input` to its standard input, reads its outputs, and supervises it to its end, all as
    /// [`run`](crate::process::run) does with one that it starts.
    ///
    /// # Errors
    ///
    /// [`ForkError`] when there was no process. When the server dies after it has forked, that is the
    /// [ending](Ending::Lost) of the process.
    pub async fn run(
        &self,
        input: &[u8],
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Result<Outcome, ForkError> {
        let begun = Instant::now();
        if cancellation.is_cancelled() {
            return Ok(nothing(begun, Ending::Cancelled));
        }
        let forked = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Ok(nothing(begun, Ending::Cancelled)),
            forked = timeout(FORK_PATIENCE, self.fork()) => {
                forked.unwrap_or_else(|_| Err(died("it does not answer")))?
            }
        };
        Ok(supervise(begun, forked, input, limits, cancellation).await)
    }

    /// Ends the server, which has `patience` to do so by itself.
    pub async fn end(mut self, patience: Duration) {
        drop(self.control);
        if timeout(patience, self.started.exited()).await.is_err() {
            self.started.kill();
            // One that cannot even be killed is left to the runtime.
            let _ = timeout(KILL_PATIENCE, self.started.exited()).await;
        }
        // Nobody waits for an answer of it any more.
        let _ = self.started.reap();
    }

    async fn fork(&self) -> Result<(Started, Pipes), ForkError> {
        let streams = Streams::new().map_err(no_descriptors)?;
        let (mut status, theirs) = UnixStream::pair().map_err(no_descriptors)?;
        let theirs = theirs.into_std().map_err(no_descriptors)?;
        // For the server it is an ordinary, blocking socket.
        theirs.set_nonblocking(false).map_err(no_descriptors)?;
        let Streams { stdin: (their_stdin, stdin), stdout, stderr } = streams;
        let ((stdout, their_stdout), (stderr, their_stderr)) = (stdout, stderr);
        self.request([
            their_stdin.as_fd(),
            their_stdout.as_fd(),
            their_stderr.as_fd(),
            theirs.as_fd(),
        ])
        .await
        .map_err(|error| died(&error.to_string()))?;
        // Ours would keep the pipes open after the process has closed its own.
        drop((their_stdin, their_stdout, their_stderr, theirs));

        let mut received = Vec::new();
        let said = line(&mut status, &mut received).await.ok_or_else(|| died("it is gone"))?;
        if let Some(reason) = said.strip_prefix("refused ") {
            return Err(ForkError::Unusual { reason: reason.to_owned() });
        }
        let leader = said.strip_prefix("started ").and_then(|pid| pid.parse().ok());
        let leader = leader.and_then(Pid::from_raw).ok_or_else(|| died("it talks nonsense"))?;
        let listed =
            living::start(|| Ok(leader), |leader| leader.as_raw_nonzero().get().try_into().ok());
        // Dropping the socket ends the process.
        let (leader, listed) = listed.map_err(no_descriptors)?;
        // It waits, so it has used nothing yet.
        limit(leader, &self.resources)?;
        status.write_all(b"g").await.map_err(|_| died("it is gone"))?;
        let started = Started::forked(Forked::new((leader, listed), status, received));
        let pipes = Pipes {
            stdin: Some(
                ChildStdin::from_std(process::ChildStdin::from(OwnedFd::from(stdin)))
                    .map_err(no_descriptors)?,
            ),
            stdout: Some(
                ChildStdout::from_std(process::ChildStdout::from(OwnedFd::from(stdout)))
                    .map_err(no_descriptors)?,
            ),
            stderr: Some(
                ChildStderr::from_std(process::ChildStderr::from(OwnedFd::from(stderr)))
                    .map_err(no_descriptors)?,
            ),
        };
        Ok((started, pipes))
    }

    /// Sends a request with its descriptors.
    async fn request(&self, descriptors: [BorrowedFd<'_>; 4]) -> io::Result<()> {
        let send = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                return Err(io::Error::other("no room for descriptors"));
            }
            let flags = SendFlags::empty();
            sendmsg(&self.control, &[IoSlice::new(b"f")], &mut ancillary, flags)?;
            Ok(())
        };
        self.control.async_io(Interest::WRITABLE, send).await
    }
}

#[cfg(target_os = "linux")]
fn limit(process: Pid, resources: &Resources) -> Result<(), ForkError> {
    os::limit_running(process, resources).map_err(|error| ForkError::Unusual {
        reason: format!("a forked process cannot be given limits: {error}"),
    })
}

#[cfg(not(target_os = "linux"))]
fn limit(_process: Pid, resources: &Resources) -> Result<(), ForkError> {
    if resources.is_unlimited() {
        return Ok(());
    }
    let reason = "a process that runs already cannot be given limits on this system".to_owned();
    Err(ForkError::Unusual { reason })
}

/// The pipes of a process, each with both ends.
struct Streams {
    stdin: (PipeReader, PipeWriter),
    stdout: (PipeReader, PipeWriter),
    stderr: (PipeReader, PipeWriter),
}

impl Streams {
    fn new() -> io::Result<Self> {
        Ok(Self { stdin: pipe()?, stdout: pipe()?, stderr: pipe()? })
    }
}

fn died(how: &str) -> ForkError {
    ForkError::Died { reason: format!("the interpreter that forks evaluators died: {how}") }
}

fn no_descriptors(error: io::Error) -> ForkError {
    ForkError::Unusual { reason: format!("no pipes for a forked process: {error}") }
}

async fn first_line(socket: &mut UnixStream) -> Option<String> {
    line(socket, &mut Vec::new()).await
}

/// The next line; `None` when the other side is gone. What came after it is left in `received`.
async fn line(socket: &mut UnixStream, received: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(line) = take_line(received) {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
        match socket.read_buf(received).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return None,
        }
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}
