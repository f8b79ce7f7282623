//! Signals that stop a command.
//!
//! | signal | first time | second time |
//! |---|---|---|
//! | `INT` (Ctrl-C), `TERM` | no new evaluations start, running ones are asked to exit, finished ones are reported | everything is killed, no report |
//! | both, in `pipe` | everything is killed | |
//! | `HUP` (the terminal was closed) | the same, unless it is ignored, as under `nohup`; `serve` continues | the same |
//!
//! `HUP` is handled only where it is known not to be ignored, because a handler would undo `nohup`.

use std::{
    io::{self, Write},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use evaluator_host::process::{self, Cancellation};

use crate::{exit, render};

/// Cancels at the first stop signal (Ctrl-C; on Unix also `TERM` and `HUP`). The second one kills all child processes and
/// exits.
///
/// A separate thread listens, because the run may be busy with a large file. It listens before this returns, so that no
/// later signal is missed.
pub(crate) fn watch(cancellation: Cancellation) {
    let consequence = "finished evaluations will be reported";
    watch_with(Reaction::Finish(cancellation, consequence), false);
}

/// Like [`watch`] for a server, which `HUP` does not stop: tools send it to make a service reload its files.
pub(crate) fn watch_serving(cancellation: Cancellation) {
    watch_with(Reaction::Finish(cancellation, "accepted documents are finished first"), true);
}

/// Like [`watch_serving`] for a receiver.
pub(crate) fn watch_receiving(cancellation: Cancellation) {
    watch_with(Reaction::Finish(cancellation, "what is finished is judged first"), true);
}

/// Kills all child processes and exits at the first stop signal, for a program that an engine starts again.
pub(crate) fn watch_ending() {
    watch_with(Reaction::End, false);
}

/// What is done at the first stop signal.
enum Reaction {
    /// Cancels, and says what happens then. The second signal ends the program.
    Finish(Cancellation, &'static str),
    /// Ends the program.
    End,
}

fn watch_with(reaction: Reaction, ignores_hangup: bool) {
    let (listens, listening) = mpsc::channel();
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let ended = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(
            |runtime| {
                runtime.block_on(async {
                    let signals = Signals::new(ignores_hangup)?;
                    // The receiver may be gone.
                    let _ = listens.send(());
                    listen(signals, &reaction).await
                })
            },
        );
        if let Err(error) = ended {
            warn(&error);
        }
    });
    match listener {
        // An error also ends the wait, because the sender is dropped.
        Ok(_) => drop(listening.recv()),
        Err(error) => warn(&error),
    }
}

fn warn(error: &io::Error) {
    render::warning(&format!(
        "cannot listen for Ctrl-C, which will stop the program at once: {error}"
    ));
}

async fn listen(mut signals: Signals, reaction: &Reaction) -> io::Result<()> {
    signals.wait_to_stop().await?;
    match reaction {
        Reaction::Finish(cancellation, consequence) => {
            let again = "press Ctrl-C again to stop immediately";
            render::warning(&format!("stopping; {consequence} ({again})"));
            cancellation.cancel();
            signals.wait_to_stop().await?;
            end(exit::INTERRUPTED, || render::no_verdict(exit::INTERRUPTED))
        }
        Reaction::End => end(exit::ERRORED, || render::message("stopped by a signal")),
    }
}

/// Kills all child processes, and exits.
#[expect(clippy::exit, reason = "nothing is waited for")]
pub(crate) fn end(code: u8, report: impl FnOnce()) -> ! {
    ENDING.store(true, Ordering::SeqCst);
    // After the exit, nothing would stop them.
    process::kill_all();
    report();
    std::process::exit(i32::from(code))
}

static ENDING: AtomicBool = AtomicBool::new(false);

/// Passes on what is written until the program [ends](end): what becomes of evaluators that it kills then is no result.
pub(crate) struct UntilEnd<W>(pub(crate) W);

impl<W: Write> Write for UntilEnd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while ENDING.load(Ordering::SeqCst) {
            thread::park();
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
    ignores_hangup: bool,
}

#[cfg(unix)]
impl Signals {
    /// `ignores_hangup`: `HUP` stops nothing, so it can be received in any case.
    fn new(ignores_hangup: bool) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (ignores_hangup || hangup_stops())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
            ignores_hangup,
        })
    }

    /// Waits for a stop signal. A `HUP` that stops nothing is only reported.
    async fn wait_to_stop(&mut self) -> io::Result<()> {
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => return Ok(()),
                _ = self.terminate.recv() => return Ok(()),
                _ = hangup => {}
            }
            if !self.ignores_hangup {
                return Ok(());
            }
            render::note("HUP is ignored; restart the server to load changed evaluators");
        }
    }
}

/// Returns true if `HUP` stops this program. A listener would override an inherited decision to ignore `HUP`, so it is
/// installed only if `HUP` is known not to be ignored; otherwise the default of the system applies.
#[cfg(unix)]
fn hangup_stops() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| !ignores_hangup(&status))
}

/// Returns true if a process with this status ignores `HUP`, the first signal of the mask.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new(_ignores_hangup: bool) -> io::Result<Self> {
        Ok(Self)
    }

    async fn wait_to_stop(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn hangup_is_received_only_if_it_is_known_not_to_be_ignored() {
        assert!(!ignores_hangup(
            "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"
        ));
        assert!(ignores_hangup("SigIgn:\t0000000000001001\n"));
        assert!(ignores_hangup("SigIgn:\tnonsense\n"));
        assert!(ignores_hangup(""));
    }
}
