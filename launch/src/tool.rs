//! Runs tools that prepare evaluators: compilers, installers, interpreters asked for their version.
//!
//! Evaluators themselves are never started here; they need more supervision.

use std::{
    env,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::{Duration, Instant},
};

use crate::process::{
    Cancellation, CommandSpec, Container, Registered, is_dead, kill_group, start_registered,
};

/// Interval at which the exit is polled while a pipe stays open.
const POLL: Duration = Duration::from_millis(50);
/// Time to read output after the tool has exited: a daemon that it left behind may hold its pipes open.
const DRAIN: Duration = Duration::from_secs(1);
/// Maximum number of bytes of a line. A longer one arrives in parts: a hostile build could otherwise fill the memory.
const LONGEST_LINE: u64 = 1 << 20;
/// Maximum number of lines that were read and not passed on yet. A tool that prints faster has to wait.
const WAITING_LINES: usize = 64;

/// Returns the directory in which tools are asked for versions and metadata.
///
/// The working directory may be an untrusted checkout, and tools take programs and settings from the directory that
/// they start in and from those above it: rustup and asdf a program, cargo a wrapper of the compiler, Python modules. So does
/// every directory that a user can choose, such as a cache. Only the administrator writes into the root directory.
pub(crate) fn neutral_directory() -> PathBuf {
    if cfg!(unix) { PathBuf::from("/") } else { env::temp_dir() }
}

/// An output of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Reason why a tool did not exit by itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("cannot {verb} {program}: {source}")]
    Failed { verb: &'static str, program: String, source: io::Error },
    #[error("{program} took longer than {} s and was stopped", .limit.as_secs_f64())]
    TimedOut { program: String, limit: Duration },
    #[error("{program} was stopped, because the run was cancelled")]
    Cancelled { program: String },
}

/// Exit status and outputs of a tool that exited.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a tool as [`run`] does and collects its outputs. For tools that print little.
pub(crate) fn output(
    spec: &CommandSpec,
    limit: Duration,
    cancellation: &Cancellation,
) -> Result<ToolOutput, ToolError> {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let status = run(spec, None, limit, cancellation, &mut |stream, line| {
        let text = if stream == Stream::Stdout { &mut stdout } else { &mut stderr };
        text.push_str(line);
        text.push('\n');
    })?;
    Ok(ToolOutput { status, stdout, stderr })
}

/// Runs `spec` and passes on its lines (without line ends, one at a time) as they come. Parts of 1 MiB count as lines.
///
/// Standard input is empty, or `lock`, an empty file that this process has locked: the lock is then held until the tool and
/// all processes that it started have exited, even if this process is killed.
///
/// When `limit` has passed or the run is cancelled, the tool and all processes of its group are killed. The group of a
/// contained tool is also killed when the tool has exited.
pub(crate) fn run(
    spec: &CommandSpec,
    lock: Option<&File>,
    limit: Duration,
    cancellation: &Cancellation,
    on_line: &mut dyn FnMut(Stream, &str),
) -> Result<ExitStatus, ToolError> {
    let program = || spec.program.display().to_string();
    let mut tool = Running::start(spec, lock).map_err(|source| ToolError::Failed {
        verb: "start",
        program: program(),
        source,
    })?;
    let (sender, lines) = mpsc::sync_channel(WAITING_LINES);
    let stdout = tool.child.stdout.take();
    stdout.into_iter().for_each(|pipe| pump(Stream::Stdout, pipe, sender.clone()));
    if let Some(stderr) = tool.child.stderr.take() {
        pump(Stream::Stderr, stderr, sender.clone());
    }
    drop(sender);

    let started = Instant::now();
    let (mut exited, mut polled) = (None, started);
    let (mut has_drained, mut pause) = (false, Duration::from_millis(1));
    loop {
        // Exit and end of output are two events: either may come first, and the other is then awaited a bounded time.
        if has_drained {
            thread::sleep(pause);
            pause = pause.saturating_mul(2).min(POLL);
        } else {
            match lines.recv_timeout(POLL) {
                Ok((stream, line)) => on_line(stream, &line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => has_drained = true,
            }
        }
        // By the clock: a process that outlives the tool may print without a pause.
        if has_drained || polled.elapsed() >= POLL {
            polled = Instant::now();
            if tool.status.is_none() {
                let polled_status = tool.poll(spec.starter.is_some());
                let failed =
                    |source| ToolError::Failed { verb: "wait for", program: program(), source };
                exited = polled_status.map_err(failed)?.map(|status| (status, polled));
            }
        }
        match exited {
            Some((status, at)) if has_drained || at.elapsed() > DRAIN => return Ok(status),
            None if started.elapsed() > limit => {
                return Err(ToolError::TimedOut { program: program(), limit });
            }
            _ if cancellation.is_cancelled() => {
                return Err(ToolError::Cancelled { program: program() });
            }
            _ => {}
        }
    }
}

/// A tool that is killed with its group when dropped, unless its exit was seen.
struct Running {
    child: Child,
    status: Option<ExitStatus>,
    /// The container behind it, removed on drop.
    container: Option<Container>,
    /// `None` before the process is reaped: afterwards, its number may be that of another group.
    listed: Option<Registered>,
}

impl Running {
    fn start(spec: &CommandSpec, lock: Option<&File>) -> io::Result<Self> {
        let (named, mut container) = Container::name(spec).unzip();
        match start_when_written(named.as_ref().unwrap_or(spec), lock) {
            Ok((child, listed)) => {
                Ok(Self { child, status: None, container, listed: Some(listed) })
            }
            Err(error) => {
                container.iter_mut().for_each(Container::set_gone);
                Err(error)
            }
        }
    }

    /// Returns the status of the tool once it has exited. `is_contained` tells whether the rest of its group is then killed.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn poll(&mut self, is_contained: bool) -> io::Result<Option<ExitStatus>> {
        if !is_dead(self.child.id()) {
            return Ok(None);
        }
        if is_contained {
            kill_group(self.child.id());
        }
        self.listed = None;
        self.status = self.child.try_wait()?;
        Ok(self.status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_some() {
            // The engine has removed it.
            self.container.iter_mut().for_each(Container::set_gone);
        } else {
            // The leader is not reaped yet, so its number cannot have been given to another group.
            kill_group(self.child.id());
            // Without process groups only the tool itself is killed. Errors mean that the process is gone.
            let _ = self.child.kill();
            self.listed = None;
            let _ = self.child.wait();
        }
    }
}

/// Starts a program that may have just been written. A process that another thread forks meanwhile holds the file open until
/// its own exec, and until then the system refuses to run the file.
fn start_when_written(spec: &CommandSpec, stdin: Option<&File>) -> io::Result<(Child, Registered)> {
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

/// Reads lines on a thread that is not joined: after an exit, a pipe may be held open by other processes.
fn pump(stream: Stream, pipe: impl Read + Send + 'static, lines: SyncSender<(Stream, String)>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        // A read error is an end of output: the exit status decides.
        let mut read =
            |line: &mut Vec<u8>| reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line);
        while read(&mut line).is_ok_and(|read| read > 0) {
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
fn start(spec: &CommandSpec, stdin: Option<&File>) -> io::Result<(Child, Registered)> {
    let stdin = stdin.map(File::try_clone).transpose()?.map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(&spec.program);
    spec.configure(&mut command);
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        crate::process::reset_signals(&mut command);
    }
    start_registered(|| command.spawn(), |child| Some(child.id()), true)
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
        let status = run(&shell(script), None, limit, &Cancellation::new(), &mut |stream, line| {
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
    fn a_line_without_an_end_arrives_in_parts() {
        let (status, lines) = lines_of("head -c 3000000 /dev/zero", Duration::from_secs(60));
        assert!(status.unwrap().success());
        let lengths: Vec<usize> = lines.iter().map(|(_, line)| line.len()).collect();
        assert_eq!(lengths, [1 << 20, 1 << 20, 3_000_000 - (2 << 20)]);
    }

    #[test]
    fn the_limit_kills_the_group_and_says_so() {
        let mut child = None;
        let error = run(
            &shell("sleep 1000 & echo $!; wait"),
            None,
            Duration::from_secs(2),
            &Cancellation::new(),
            &mut |_, line| {
                child = Some(line.to_owned());
            },
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "sh took longer than 2 s and was stopped");
        let child = child.expect("the shell names its child");
        // A killed process dies when it is scheduled, and may stay as a zombie until init reaps it.
        let state = || {
            let ps = format!("ps -o stat= -p {child} || true");
            lines_of(&ps, Duration::from_secs(60)).1
        };
        let is_over = |(_, state): &(Stream, String)| state.starts_with('Z');
        let is_dead = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            state().iter().all(is_over)
        });
        assert!(is_dead, "{:?}", state());
    }

    #[test]
    fn cancelling_kills_the_group_and_says_so() {
        let cancellation = Cancellation::new();
        let error = run(
            &shell("sleep 1000 & echo $!; wait"),
            None,
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
        // Its next line ends it, once the pipe has no reader.
        let (status, lines) =
            lines_of("while :; do echo x; done & exit 3", Duration::from_secs(60));
        assert_eq!(status.unwrap().code(), Some(3));
        assert!(lines.len() > 1);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(
            &CommandSpec::new("/nowhere/tool"),
            None,
            POLL,
            &Cancellation::new(),
            &mut |_, _| (),
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("cannot start /nowhere/tool: "), "{error}");
    }
}
