//! One process from its start to its end.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::{
    Cancellation, Captured, CommandSpec, Ending, Limits, Outcome,
    group::{Pipes, Started},
    pump::Pumps,
};

/// How long a killed process may take to die. The kernel needs next to nothing, unless the process is stuck in a
/// system call that cannot be interrupted (a dead network disk); then the runtime reaps it later.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);

/// How long to read what a killed group has left in its pipes. Nobody is there to write more.
pub(super) const DRAIN_AFTER_KILL: Duration = Duration::from_millis(20);

/// Starts a process, writes `input` to its standard input, reads its outputs, and supervises it to its end.
///
/// When the time is up, or the run is cancelled, the process group is asked to end, and killed if it does not.
/// When the process has ended, what is left of its group is killed too. Dropping the future kills the group.
///
/// How it ended, good or bad, is the returned value.
pub async fn run(
    spec: &CommandSpec,
    input: &[u8],
    limits: &Limits,
    cancellation: &Cancellation,
) -> Outcome {
    let begun = Instant::now();
    if cancellation.is_cancelled() {
        return nothing(begun, Ending::Cancelled);
    }
    match Started::start(spec).await {
        Ok(started) => supervise(begun, started, input, limits, cancellation).await,
        Err(error) => nothing(begun, Ending::SpawnFailed(error)),
    }
}

/// The outcome where there was no process.
pub(super) fn nothing(begun: Instant, ending: Ending) -> Outcome {
    Outcome {
        ending,
        stdout: Captured::complete([]),
        stderr: Captured::complete([]),
        unsent: 0,
        duration: begun.elapsed(),
    }
}

/// Sees a process that has just been started to its end, wherever it came from.
pub(super) async fn supervise(
    begun: Instant,
    (mut started, pipes): (Started, Pipes),
    input: &[u8],
    limits: &Limits,
    cancellation: &Cancellation,
) -> Outcome {
    let mut pumps = Pumps::new(pipes, input, limits);

    let event = pumps
        .pump_until(async {
            tokio::select! {
                // An exit at the last moment is still an exit.
                biased;
                () = started.exited() => Event::Exited,
                () = cancellation.cancelled() => Event::Cancelled,
                () = sleep(limits.timeout) => Event::TimedOut,
            }
        })
        .await;
    let ending = match event {
        Event::Exited => {
            pumps.finish(limits.eof_grace).await;
            started.reap()
        }
        Event::TimedOut => {
            stop(&mut started, &mut pumps, limits).await;
            Ending::TimedOut { limit: limits.timeout }
        }
        Event::Cancelled => {
            stop(&mut started, &mut pumps, limits).await;
            Ending::Cancelled
        }
    };
    let unsent = pumps.unsent();
    Outcome { ending, stdout: pumps.out, stderr: pumps.err, unsent, duration: begun.elapsed() }
}

enum Event {
    Exited,
    TimedOut,
    Cancelled,
}

/// Ends a running process, gently first.
async fn stop(started: &mut Started, pumps: &mut Pumps<'_>, limits: &Limits) {
    started.terminate();
    pumps.close_stdin();
    if pumps.pump_until(timeout(limits.term_grace, started.exited())).await.is_err() {
        started.kill();
        // A process that cannot even be killed is left to the runtime.
        let _ = pumps.pump_until(timeout(KILL_GRACE, started.exited())).await;
    }
    // The status says nothing more than that we ended it.
    let _ = started.reap();
    pumps.finish(DRAIN_AFTER_KILL).await;
}
