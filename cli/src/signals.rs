//! Ctrl-C and its relatives.
//!
//! | signal | first time | second time |
//! |---|---|---|
//! | `INT` (Ctrl-C), `TERM` | nothing new begins, what runs is asked to end, what is finished is reported | everything is killed, no report |
//! | `HUP` (the terminal went away) | the same, unless it is ignored, as `nohup` wants it | the same |

use std::{io, sync::mpsc, thread};

use evaluator_host::process::{self, Cancellation};

use crate::{exit, render};

/// Cancels at the first signal to end (Ctrl-C; on Unix also `TERM` and `HUP`), and at the second kills what runs and ends
/// this program.
///
/// Listens on a thread of its own: the run may be busy with a large file just then.
///
/// Listens when this returns, so that no signal after it is missed.
pub(crate) fn watch(cancellation: Cancellation) {
    watch_saying(
        cancellation,
        "stopping; what is finished will be reported (once more: stop at once)",
    );
}

/// The same with other words at the first signal.
pub(crate) fn watch_saying(cancellation: Cancellation, words: &'static str) {
    let (listens, listening) = mpsc::channel();
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let ended = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(listen(&cancellation, words, listens)));
        if let Err(error) = ended {
            complain(&error);
        }
    });
    match listener {
        // An error ends the wait as well: the sender is dropped.
        Ok(_) => drop(listening.recv()),
        Err(error) => complain(&error),
    }
}

fn complain(error: &io::Error) {
    render::message(&format!("cannot listen for Ctrl-C, which will end this at once: {error}"));
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
async fn listen(
    cancellation: &Cancellation,
    words: &str,
    listens: mpsc::Sender<()>,
) -> io::Result<()> {
    let mut signals = Signals::new()?;
    // Whoever waited for this may have given up.
    let _ = listens.send(());
    signals.next().await?;
    render::warning(words);
    cancellation.cancel();
    signals.next().await?;
    // Nobody will be there to end them gently.
    process::kill_all();
    std::process::exit(i32::from(exit::INTERRUPTED))
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup_counts().then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    async fn next(&mut self) -> io::Result<()> {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
        Ok(())
    }
}

/// Whether the terminal going away is a reason to stop. To listen for `HUP` would undo that somebody had it ignored, so
/// it is listened for only where it can be known that nobody did; elsewhere it does what the system does.
#[cfg(unix)]
fn hangup_counts() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| !ignores_hangup(&status))
}

/// Whether a process with this status ignores `HUP`, the first signal of the mask.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn hangup_is_listened_for_only_if_it_is_known_that_nobody_ignores_it() {
        assert!(!ignores_hangup(
            "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"
        ));
        assert!(ignores_hangup("SigIgn:\t0000000000001001\n"));
        assert!(ignores_hangup("SigIgn:\tnonsense\n"));
        assert!(ignores_hangup(""));
    }
}
