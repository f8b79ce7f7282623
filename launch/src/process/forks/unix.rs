//! The fork server and its forked processes on Unix.

use std::{
    fs::File,
    io::{self, IoSlice, Write as _, pipe},
    mem::{self, MaybeUninit},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    process::Pid,
};
use tokio::{
    io::{AsyncWriteExt, Interest},
    net::UnixStream,
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    ForkError, ServerCommand,
    forked::Forked,
    peer::{self, Peer},
};
use crate::process::{
    Cancellation, Captured, Ending, Limits, Outcome, Resources,
    os::{self, Identified},
    outcome::nothing,
    pump::drain,
    run::{KILL_GRACE, supervise},
    spawn,
    started::{Pipes, Started},
};

/// Time limit for a fork. It takes some milliseconds, unless the machine is very busy.
const FORK_LIMIT: Duration = Duration::from_secs(10);

/// Maximum length of the variables of a process, which a pipe on every system has room for.
const VARIABLES: usize = 4 << 10;

/// Bytes kept of what a server printed before it was ready, for messages.
const PRINTED: usize = 1 << 10;

/// A running program that forks a process for each request; see [the module](super).
///
/// Dropping it kills it and its forks.
#[derive(Debug)]
pub struct ForkServer {
    control: UnixStream,
    started: Started,
    /// The server as this process sees it, and whether it runs in a sandbox.
    server: Peer,
    contained: bool,
    /// Resource limits of each fork. The server itself is not limited: it works for all of them.
    resources: Resources,
}

impl ForkServer {
    /// Starts a server and waits until it is ready, for at most `limit`.
    ///
    /// # Errors
    ///
    /// [`ForkError`] if it does not start or cannot be used.
    pub async fn start(
        server: ServerCommand,
        limit: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, ForkError> {
        tokio::select! {
            biased;
            () = cancellation.cancelled() => Err(ForkError::Cancelled),
            started = timeout(limit, Self::ready(server)) => started.unwrap_or_else(|_| {
                let reason = format!("the interpreter was not ready after {} s", limit.as_secs());
                Err(ForkError::Unusual { reason })
            }),
        }
    }

    async fn ready(mut server: ServerCommand) -> Result<Self, ForkError> {
        let resources = mem::take(&mut server.command.resources);
        let contained = server.command.starter.is_some();
        let unusual = |error: io::Error| ForkError::Unusual { reason: error.to_string() };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(unusual)?;
        ours.set_nonblocking(true).map_err(unusual)?;
        let mut control = UnixStream::from_std(ours).map_err(unusual)?;
        peer::identify_senders(&control).map_err(unusual)?;
        let stdin = Stdio::from(OwnedFd::from(theirs));
        let (started, mut pipes) = Started::start_with(&server.command, stdin)
            .await
            .map_err(|error| ForkError::Unusual { reason: error.to_string() })?;
        // A server that has exited already has reported why, or reports nothing below.
        let _ = control.write_all(&server.greeting).await;
        let mut out = Captured::new(PRINTED, 0);
        let mut err = Captured::new(0, PRINTED);
        let mut received = Vec::new();
        let (said, (), ()) = tokio::join!(
            peer::line(&control, &mut received),
            drain(&mut pipes.stdout, &mut out),
            drain(&mut pipes.stderr, &mut err),
        );
        let printed = [out.text(), err.text()].concat();
        let (said, server) = said.unzip();
        let reason = match (said.as_deref(), server) {
            (Some("ready"), Some(server)) if printed.is_empty() => {
                return Ok(Self { control, started, server, contained, resources });
            }
            (Some("ready"), _) => format!("the imports printed: {}", last_line(&printed)),
            (Some(said), _) => said.strip_prefix("unusual ").unwrap_or(said).to_owned(),
            (None, _) if printed.is_empty() => {
                "the interpreter ended before it was ready".to_owned()
            }
            (None, _) => {
                format!("the interpreter ended before it was ready: {}", last_line(&printed))
            }
        };
        Err(ForkError::Unusual { reason })
    }

    /// Forks a process with these variables in addition to those of the server, writes `input` to its standard input, reads
    /// its outputs, and supervises it to its end, as [`run`](crate::process::run) does.
    ///
    /// # Errors
    ///
    /// [`ForkError`] if there was no process. If the server dies after the fork, that is the [ending](Ending::Lost) of
    /// the process.
    pub async fn run(
        &self,
        input: &[u8],
        variables: &[(String, String)],
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Result<Outcome, ForkError> {
        let start_time = Instant::now();
        if cancellation.is_cancelled() {
            return Ok(nothing(start_time, Ending::Cancelled));
        }
        let forked = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Ok(nothing(start_time, Ending::Cancelled)),
            forked = timeout(FORK_LIMIT, self.fork(variables)) => {
                forked.unwrap_or_else(|_| Err(died("it does not answer")))?
            }
        };
        Ok(supervise(start_time, forked, input, limits, cancellation).await)
    }

    /// Ends the server, which may exit by itself within `grace`.
    pub async fn end(mut self, grace: Duration) {
        drop(self.control);
        if timeout(grace, self.started.exited()).await.is_err() {
            self.started.kill();
            // A server that survives this is left to the runtime.
            let _ = timeout(KILL_GRACE, self.started.exited()).await;
        }
        // Its status is not needed.
        let _ = self.started.reap();
    }

    async fn fork(&self, variables: &[(String, String)]) -> Result<(Started, Pipes), ForkError> {
        let stream = || self.stream().map_err(no_descriptors);
        let ((their_stdin, stdin), (stdout, their_stdout), (stderr, their_stderr)) =
            (stream()?, stream()?, stream()?);
        let (variables_reader, variables_writer) = stream()?;
        write_variables(variables_writer, variables).map_err(no_descriptors)?;
        let (mut status, theirs) = UnixStream::pair().map_err(no_descriptors)?;
        peer::identify_senders(&status).map_err(no_descriptors)?;
        let theirs = theirs.into_std().map_err(no_descriptors)?;
        // The server expects a blocking socket.
        theirs.set_nonblocking(false).map_err(no_descriptors)?;
        self.request([
            their_stdin.as_fd(),
            their_stdout.as_fd(),
            their_stderr.as_fd(),
            theirs.as_fd(),
            variables_reader.as_fd(),
        ])
        .await
        .map_err(|error| died(&error.to_string()))?;
        // Our copies would keep the pipes open after the process has closed its own.
        drop((their_stdin, their_stdout, their_stderr, theirs, variables_reader));

        let mut received = Vec::new();
        let said = peer::line(&status, &mut received).await;
        let (said, sender) = said.ok_or_else(|| died("it is gone"))?;
        if let Some(reason) = said.strip_prefix("refused ") {
            return Err(ForkError::Unusual { reason: reason.to_owned() });
        }
        let reported = said.strip_prefix("started ").and_then(|pid| pid.parse().ok());
        let reported = reported.and_then(Pid::from_raw).ok_or_else(|| died("it talks nonsense"))?;
        // Opened before the check: a number that is given to another process meanwhile is noticed.
        let identified = Identified::new(sender.id(reported));
        let leader = sender.child_of(&self.server, reported).map_err(|error| died(&error))?;
        // A server in a sandbox may reap at any time. Its forks end with it.
        let id = (!self.contained).then(|| leader.as_raw_nonzero().get());
        let listed = spawn::register_fork(id.and_then(|id| id.try_into().ok()));
        // Dropping the socket ends the process.
        let listed = listed.map_err(no_descriptors)?;
        // The process waits and has used nothing yet.
        os::limit_running(leader, &self.resources).map_err(|error| ForkError::Unusual {
            reason: format!("a forked process cannot be given limits: {error}"),
        })?;
        status.write_all(b"g").await.map_err(|_| died("it is gone"))?;
        let started = Started::forked(Forked {
            leader,
            identified,
            contained: self.contained,
            listed: Some(listed),
            status: Some(status),
            received,
            ending: None,
            orphan: false,
        });
        let pipes = pipes(stdin, stdout, stderr).map_err(no_descriptors)?;
        Ok((started, pipes))
    }

    /// Returns both ends of a standard stream, the reader first.
    ///
    /// In a sandbox it is a socket: a fork can open the pipes of another fork by `/proc/PID/fd` and write an answer into
    /// them, and sockets cannot be opened.
    fn stream(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        if self.contained {
            let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
            return Ok((reader.into(), writer.into()));
        }
        let (reader, writer) = pipe()?;
        Ok((reader.into(), writer.into()))
    }

    /// Sends a request with its descriptors.
    async fn request(&self, descriptors: [BorrowedFd<'_>; 5]) -> io::Result<()> {
        let send = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
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

/// Our ends of the standard streams of a forked process.
fn pipes(stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Pipes> {
    Ok(Pipes {
        stdin: Some(ChildStdin::from_std(stdin.into())?),
        stdout: Some(ChildStdout::from_std(stdout.into())?),
        stderr: Some(ChildStderr::from_std(stderr.into())?),
    })
}

/// Writes the variables. They fit into the buffer of a pipe or a socket, and are few.
fn write_variables(writer: OwnedFd, variables: &[(String, String)]) -> io::Result<()> {
    let text: String = variables.iter().map(|(name, value)| format!("{name}={value}\0")).collect();
    if text.len() > VARIABLES {
        return Err(io::Error::other("too many variables for a forked process"));
    }
    File::from(writer).write_all(text.as_bytes())
}

fn died(how: &str) -> ForkError {
    ForkError::Died { reason: format!("the interpreter that forks evaluators died: {how}") }
}

fn no_descriptors(error: io::Error) -> ForkError {
    ForkError::Unusual { reason: format!("no pipes for a forked process: {error}") }
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}
