//! The fork server and its forked processes on Unix.

use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice, Write as _, pipe},
    mem::{self, MaybeUninit},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    process::{Pid, Signal, kill_process_group},
};
use tokio::{
    io::{AsyncWriteExt, Interest},
    net::UnixStream,
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    ForkError, ServerCommand,
    peer::{self, Peer},
};
use crate::process::{
    Cancellation, Captured, Ending, Limits, Outcome, Resources,
    os::{self, Identified},
    pump::drain,
    run::{KILL_GRACE, nothing, supervise},
    spawn::{self, NOT_ENDED, Pipes, Registered, Started},
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
        let listed =
            spawn::start(|| Ok(leader), |leader| leader.as_raw_nonzero().get().try_into().ok());
        // Dropping the socket ends the process.
        let (leader, listed) = listed.map_err(no_descriptors)?;
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

/// Maximum length of a line of the server.
const LINE: usize = 4096;

/// A forked process, and the socket on which the server reports its end.
///
/// As long as the socket is open, the server does not reap the process, so the ids of the process and of its group are
/// valid.
#[derive(Debug)]
pub(in super::super) struct Forked {
    leader: Pid,
    /// Identifies the process even if the server is gone and any process may have reaped it.
    identified: Option<Identified>,
    /// Keeps the process registered while its id is valid; dropped before the socket is closed, which has the process
    /// reaped.
    listed: Option<Registered>,
    /// `None` once the process may be reaped.
    status: Option<UnixStream>,
    /// Bytes that the server has sent after the start.
    received: Vec<u8>,
    ending: Option<Ending>,
    /// True if the server died first.
    orphan: bool,
    /// True if the server runs code that may reap the process at any time.
    contained: bool,
}

impl Forked {
    pub(in super::super) fn is_contained(&self) -> bool {
        self.contained
    }

    /// Returns when the process is dead, or when its end cannot be reported any more. Cancel safe.
    pub(in super::super) async fn exited(&mut self) {
        while !self.has_exited() {
            let Some(status) = &self.status else { return };
            if status.readable().await.is_err() {
                self.lose();
            }
        }
    }

    /// Returns true if the process is dead, or if its end cannot be reported any more.
    fn has_exited(&mut self) -> bool {
        while self.ending.is_none() {
            if let Some(line) = take_line(&mut self.received) {
                match ending(&line) {
                    Some(ending) => self.ending = Some(ending),
                    None => self.lose(),
                }
                break;
            }
            let Some(status) = &self.status else { break };
            let mut chunk = [0; 256];
            match status.try_read(&mut chunk) {
                Ok(0) => self.lose(),
                Ok(read) if self.received.len() + read > LINE => self.lose(),
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.lose(),
            }
        }
        true
    }

    /// Sends `SIGTERM` to the group.
    pub(in super::super) fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Kills the group.
    pub(in super::super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Kills the group, has the process reaped and returns how it ended.
    pub(in super::super) fn reap(&mut self) -> Ending {
        self.has_exited();
        self.kill();
        self.listed = None;
        self.status = None;
        self.ending.clone().unwrap_or_else(|| Ending::Lost { reason: NOT_ENDED.to_owned() })
    }

    fn lose(&mut self) {
        // Any process may reap it now.
        self.listed = None;
        self.orphan = true;
        let reason = "the interpreter that it was forked from has died".to_owned();
        self.ending = Some(Ending::Lost { reason });
    }

    fn signal(&mut self, signal: Signal) {
        if self.status.is_none() {
            return;
        }
        // This also checks whether the server is still there.
        self.has_exited();
        // The id of an orphan is valid only as long as the orphan lives. What a dead leader leaves in a sandbox is killed by the
        // server.
        if (self.orphan || self.contained)
            && !self.identified.as_ref().is_some_and(Identified::lives)
        {
            return;
        }
        // It fails if only the zombie of the leader is left, or if all members changed their user. The following wait
        // is bounded.
        let _ = kill_process_group(self.leader, signal);
    }
}

/// Parses how the server reports the end of a process.
fn ending(line: &[u8]) -> Option<Ending> {
    let (how, number) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let number = number.parse().ok()?;
    match how {
        "exited" => Some(Ending::Exited(number)),
        "killed" => Some(Ending::Signalled(number)),
        _ => None,
    }
}

/// Takes the first complete line, without its line feed.
pub(super) fn take_line(received: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = received.iter().position(|&byte| byte == b'\n')?;
    let line = received.drain(..=end).take(end).collect();
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_how_a_process_ended() {
        assert_eq!(ending(b"exited 3"), Some(Ending::Exited(3)));
        assert_eq!(ending(b"killed 11"), Some(Ending::Signalled(11)));
        for nonsense in [&b"exited"[..], b"exited x", b"started 3", b"", b"\xff 3"] {
            assert_eq!(ending(nonsense), None);
        }
    }

    #[test]
    fn lines_are_taken_one_by_one() {
        let mut received = b"started 1\nexited 0\nrest".to_vec();
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"started 1"[..]));
        assert_eq!(take_line(&mut received).as_deref(), Some(&b"exited 0"[..]));
        assert_eq!((take_line(&mut received), received), (None, b"rest".to_vec()));
    }
}
