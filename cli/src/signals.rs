//! Ctrl-C and its relatives.
//!
//! | signal | first time | second time |
//! |---|---|---|
//! | `INT` (Ctrl-C), `TERM` | nothing new begins, what runs is asked to end, what is finished is reported | everything is killed, no report |
//! | `HUP` (the terminal went away) | the same, unless it is ignored, as `nohup` wants it; `serve` goes on | the same |

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
    watch_with(cancellation, &ENDS);
}

/// The same for a server, which `HUP` does not stop: it is what tools send to have a service read its files again.
pub(crate) fn watch_serving(cancellation: Cancellation) {
    watch_with(cancellation, &SERVES);
}

/// What a command does at signals.
struct Manner {
    /// Message at the first signal to end.
    stopping: &'static str,
    /// Message at `HUP`, where that is not a signal to end.
    hangup: Option<&'static str>,
}

const ENDS: Manner = Manner {
    stopping: "stopping; what is finished will be reported (once more: stop at once)",
    hangup: None,
};

const SERVES: Manner = Manner {
    stopping: "stopping; what was begun is finished first (once more: stop at once)",
    hangup: Some("HUP is ignored; restart the server to load changed evaluators"),
};

fn watch_with(cancellation: Cancellation, manner: &'static Manner) {
    let (listens, listening) = mpsc::channel();
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let ended = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(listen(&cancellation, manner, listens)));
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
    render::warning(&format!("cannot listen for Ctrl-C, which will end this at once: {error}"));
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
async fn listen(
    cancellation: &Cancellation,
    manner: &Manner,
    listens: mpsc::Sender<()>,
) -> io::Result<()> {
    let mut signals = Signals::new(manner.hangup.is_some())?;
    // Whoever waited for this may have given up.
    let _ = listens.send(());
    signals.wait_to_end(manner).await?;
    render::warning(manner.stopping);
    cancellation.cancel();
    signals.wait_to_end(manner).await?;
    // Nobody will be there to end them gently.
    process::kill_all();
    std::process::exit(i32::from(exit::INTERRUPTED))
}

/// A signal that came.
enum Came {
    ToEnd,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no such signal"))]
    Hangup,
}

impl Signals {
    /// Waits for a signal to end. Other signals are only reported.
    async fn wait_to_end(&mut self, manner: &Manner) -> io::Result<()> {
        loop {
            match (self.next().await?, manner.hangup) {
                (Came::Hangup, Some(message)) => render::note(message),
                _ => return Ok(()),
            }
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// `harmless`: `HUP` ends nothing, so that it can be listened for in any case.
    fn new(harmless: bool) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (harmless || hangup_counts())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    async fn next(&mut self) -> io::Result<Came> {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Ok(Came::ToEnd),
            _ = self.terminate.recv() => Ok(Came::ToEnd),
            _ = hangup => Ok(Came::Hangup),
        }
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
    fn new(_harmless: bool) -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> io::Result<Came> {
        tokio::signal::ctrl_c().await.map(|()| Came::ToEnd)
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
