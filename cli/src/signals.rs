//! Ctrl-C and its relatives.

use std::{io, sync::mpsc, thread};

use evaluator_host::process::Cancellation;

use crate::{exit, render};

/// Cancels at the first signal to end (Ctrl-C; on Unix also `TERM`), and ends this program at the second.
///
/// Listens on a thread of its own: the run may be busy with a large file just then.
///
/// Listens when this returns, so that no signal after it is missed.
pub(crate) fn watch(cancellation: Cancellation) {
    let (listens, listening) = mpsc::channel();
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let ended = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(listen(&cancellation, listens)));
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
async fn listen(cancellation: &Cancellation, listens: mpsc::Sender<()>) -> io::Result<()> {
    let mut signals = Signals::new()?;
    // Whoever waited for this may have given up.
    let _ = listens.send(());
    signals.next().await?;
    render::message("stopping; what is finished will be reported (once more: stop at once)");
    cancellation.cancel();
    signals.next().await?;
    std::process::exit(i32::from(exit::INTERRUPTED))
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        Ok(())
    }
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
