//! Runs a tool that makes evaluators ready (a compiler, an installer, an interpreter asked for its version) to its end.
//!
//! Evaluators themselves are never started here; they need far more supervision.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use crate::process::{Cancellation, CommandSpec, Listed, start_listed};

/// How often an exit is looked for while a pipe stays open.
const POLL: Duration = Duration::from_millis(50);
/// How long output may still come after the tool exited: a daemon it left behind may hold its pipes for ever.
const DRAIN: Duration = Duration::from_secs(1);

/// Which pipe a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Why a tool did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("cannot wait for {program}: {source}")]
    Wait { program: String, source: io::Error },
    #[error("{program} took longer than {} s and was stopped", .limit.as_secs_f64())]
    TimedOut { program: String, limit: Duration },
    #[error("{program} was stopped, because the run was cancelled")]
    Cancelled { program: String },
}

/// Runs `spec` with an empty standard input and hands over its lines (without line ends, never more than one at a time)
/// as they come.
///
/// When `limit` is over or the run is cancelled, the tool and everything it started are killed.
pub(super) fn run(
    spec: &CommandSpec,
    limit: Duration,
    cancellation: &Cancellation,
    on_line: &mut dyn FnMut(Stream, &str),
) -> Result<ExitStatus, ToolError> {
    supervise(spec, None, limit, cancellation, on_line)
}

/// [`run`] for a tool that works on something locked: an empty file that is locked by this process becomes its standard
/// input, and so the lock is held until the tool and all it started have ended, even if this process is killed before.
pub(super) fn run_locked(
    spec: &CommandSpec,
    lock: &File,
    limit: Duration,
    cancellation: &Cancellation,
    on_line: &mut dyn FnMut(Stream, &str),
) -> Result<ExitStatus, ToolError> {
    supervise(spec, Some(lock), limit, cancellation, on_line)
}

fn supervise(
    spec: &CommandSpec,
    stdin: Option<&File>,
    limit: Duration,
    cancellation: &Cancellation,
    on_line: &mut dyn FnMut(Stream, &str),
) -> Result<ExitStatus, ToolError> {
    let program = || spec.program.display().to_string();
    let (mut child, listed) = start_when_written(spec, stdin)
        .map_err(|source| ToolError::Start { program: program(), source })?;
    let (sender, lines) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        pump(Stream::Stdout, stdout, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        pump(Stream::Stderr, stderr, sender.clone());
    }
    drop(sender);

    let mut tool = Running { child, status: None, _listed: listed };
    let started = Instant::now();
    let (mut exited, mut polled) = (None, started);
    loop {
        // Exit and end of output are two events: either may come first, and the other is then waited for a bounded time.
        match lines.recv_timeout(POLL) {
            Ok((stream, line)) => on_line(stream, &line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // By the clock: something that outlives the tool may print without a pause.
        if polled.elapsed() >= POLL {
            polled = Instant::now();
            exited = exited.or(tool.poll(program)?.map(|_| polled));
        }
        if exited.is_some_and(|at: Instant| at.elapsed() > DRAIN) {
            break;
        }
        if exited.is_none() && started.elapsed() > limit {
            return Err(ToolError::TimedOut { program: program(), limit });
        }
        if cancellation.is_cancelled() {
            return Err(ToolError::Cancelled { program: program() });
        }
    }
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = tool.poll(program)? {
            return Ok(status);
        }
        if started.elapsed() > limit {
            return Err(ToolError::TimedOut { program: program(), limit });
        }
        if cancellation.is_cancelled() {
            return Err(ToolError::Cancelled { program: program() });
        }
        thread::sleep(pause);
        pause = pause.saturating_mul(2).min(POLL);
    }
}

/// A tool that is killed, with all it started, unless it was seen to exit.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
    /// Goes last, so that nobody is killed by a number that is listed no more; nobody is by one that was reaped.
    _listed: Listed,
}

impl Running {
    fn poll(&mut self, program: impl FnOnce() -> String) -> Result<Option<ExitStatus>, ToolError> {
        if self.status.is_none() {
            let exit = self.child.try_wait();
            self.status = exit.map_err(|source| ToolError::Wait { program: program(), source })?;
        }
        Ok(self.status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            // The leader is not reaped yet, so its number cannot have been given to another group.
            stop_group(&self.child);
            // Nothing is left to tell: the group is gone, or the leader is and this is the net below it.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Kills the whole group of a leader that is not reaped yet.
#[cfg(unix)]
fn stop_group(leader: &Child) {
    let group = i32::try_from(leader.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // An error means that the group is gone.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Only the tool itself is killed, by its caller: there are no process groups here.
#[cfg(not(unix))]
fn stop_group(_: &Child) {}

/// Starts a program that may have been written a moment ago: a process started meanwhile elsewhere holds the file open
/// until it becomes another program, and until then the system refuses to run it.
fn start_when_written(spec: &CommandSpec, stdin: Option<&File>) -> io::Result<(Child, Listed)> {
    for _ in 0..20 {
        match start(spec, stdin) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            started => return started,
        }
    }
    start(spec, stdin)
}

/// Reads lines on a thread that nobody joins: after an exit, a pipe may be held open by others.
fn pump(stream: Stream, pipe: impl Read + Send + 'static, lines: Sender<(Stream, String)>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        // A read error is an end of output: the exit status says what happened.
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            if lines.send((stream, text.trim_end_matches(['\r', '\n']).to_owned())).is_err() {
                break;
            }
            line.clear();
        }
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "tools that prepare evaluators are started here and nowhere else"
)]
fn start(spec: &CommandSpec, stdin: Option<&File>) -> io::Result<(Child, Listed)> {
    let stdin = stdin.map(File::try_clone).transpose()?.map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(&spec.program);
    spec.configure(&mut command);
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        crate::process::reset_signals(&mut command);
    }
    start_listed(|| command.spawn(), |child| Some(child.id()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandSpec {
        CommandSpec::new("sh").args(["-c", script])
    }

    fn lines_of(
        script: &str,
        limit: Duration,
    ) -> (Result<ExitStatus, ToolError>, Vec<(Stream, String)>) {
        let mut lines = Vec::new();
        let status = run(&shell(script), limit, &Cancellation::new(), &mut |stream, line| {
            lines.push((stream, line.to_owned()))
        });
        (status, lines)
    }

    #[test]
    fn lines_of_both_pipes_and_the_status_arrive() {
        let (status, mut lines) =
            lines_of("echo a; echo b >&2; printf 'c\\r\\nd'; exit 3", Duration::from_secs(60));
        lines.sort_by_key(|(_, line)| line.clone());
        assert_eq!(status.unwrap().code(), Some(3));
        assert_eq!(
            lines,
            [
                (Stream::Stdout, "a"),
                (Stream::Stderr, "b"),
                (Stream::Stdout, "c"),
                (Stream::Stdout, "d")
            ]
            .map(|(stream, line)| (stream, line.to_owned()))
        );
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let (status, lines) = lines_of(
            "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789012345678901234567890; \
             echo x >&2; i=$((i+1)); done",
            Duration::from_secs(60),
        );
        assert!(status.unwrap().success());
        assert_eq!(lines.len(), 6000);
    }

    #[test]
    fn the_limit_kills_the_group_and_says_so() {
        let mut child = None;
        let error = run(
            &shell("sleep 1000 & echo $!; wait"),
            Duration::from_secs(2),
            &Cancellation::new(),
            &mut |_, line| {
                child = Some(line.to_owned());
            },
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "sh took longer than 2 s and was stopped");
        let child = child.expect("the shell names its child");
        // It may stay as a zombie until init reaps it, but it no longer runs.
        let (_, state) =
            lines_of(&format!("ps -o stat= -p {child} || true"), Duration::from_secs(60));
        assert!(state.iter().all(|(_, state)| state.starts_with('Z')), "{state:?}");
    }

    #[test]
    fn cancelling_kills_the_group_and_says_so() {
        let cancellation = Cancellation::new();
        let error = run(
            &shell("sleep 1000 & echo $!; wait"),
            Duration::from_secs(60),
            &cancellation,
            &mut |_, _| cancellation.cancel(),
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "sh was stopped, because the run was cancelled");
    }

    #[test]
    fn a_daemon_that_holds_the_pipes_does_not_hold_us() {
        let (status, lines) = lines_of("sleep 1000 & echo $!", Duration::from_secs(60));
        assert!(status.unwrap().success());
        let (killed, _) = lines_of(&format!("kill {}", lines[0].1), Duration::from_secs(60));
        assert!(killed.unwrap().success(), "it was still there");
    }

    #[test]
    fn a_daemon_that_prints_without_a_pause_does_not_hold_us() {
        // It is ended by its next line, once nobody reads it.
        let (status, lines) =
            lines_of("while :; do echo x; done & exit 3", Duration::from_secs(60));
        assert_eq!(status.unwrap().code(), Some(3));
        assert!(lines.len() > 1);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error =
            run(&CommandSpec::new("/nowhere/tool"), POLL, &Cancellation::new(), &mut |_, _| ())
                .unwrap_err();
        assert!(error.to_string().starts_with("cannot start /nowhere/tool: "), "{error}");
    }
}
