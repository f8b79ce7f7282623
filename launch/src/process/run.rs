//! Supervises one process from its start to its end.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::{
    Cancellation, Captured, CommandSpec, Ending, Limits, Outcome,
    group::{Pipes, Started},
    pump::Pumps,
};

/// Time for a killed process to die. The kernel needs next to none, unless the process is in an uninterruptible system
/// call (a dead network disk); then the runtime reaps it later.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);

/// Time to read what a killed group has left in its pipes.
pub(super) const DRAIN_AFTER_KILL: Duration = Duration::from_millis(20);

/// Starts a process, writes `input` to its standard input, reads its outputs, and supervises it to its end.
///
/// At the time limit or on cancellation, the process group gets `SIGTERM`, then `SIGKILL`. After the exit of the
/// process, the rest of its group is killed. Dropping the future kills the group.
pub async fn run(
    spec: &CommandSpec,
    input: &[u8],
    limits: &Limits,
    cancellation: &Cancellation,
) -> Outcome {
    let start_time = Instant::now();
    if cancellation.is_cancelled() {
        return nothing(start_time, Ending::Cancelled);
    }
    match Started::start(spec).await {
        Ok(started) => supervise(start_time, started, input, limits, cancellation).await,
        Err(error) => nothing(start_time, Ending::SpawnFailed(error)),
    }
}

/// Returns the outcome of a process that was not started.
pub(super) fn nothing(start_time: Instant, ending: Ending) -> Outcome {
    Outcome {
        ending,
        stdout: Captured::complete([]),
        stderr: Captured::complete([]),
        unsent: 0,
        duration: start_time.elapsed(),
    }
}

/// Supervises a process that has just been started or forked.
pub(super) async fn supervise(
    start_time: Instant,
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
    Outcome { ending, stdout: pumps.out, stderr: pumps.err, unsent, duration: start_time.elapsed() }
}

enum Event {
    Exited,
    TimedOut,
    Cancelled,
}

/// Stops a running process: `SIGTERM`, then `SIGKILL`.
async fn stop(started: &mut Started, pumps: &mut Pumps<'_>, limits: &Limits) {
    started.terminate();
    pumps.close_stdin();
    if pumps.pump_until(timeout(limits.term_grace, started.exited())).await.is_err() {
        started.kill();
        // A process that survives this is left to the runtime.
        let _ = pumps.pump_until(timeout(KILL_GRACE, started.exited())).await;
    }
    // Its status only says that it was stopped.
    let _ = started.reap();
    pumps.finish(DRAIN_AFTER_KILL).await;
}
