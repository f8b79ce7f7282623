//! Supervises one process from its start to its end.

use std::{
    pin::Pin,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};

use super::{
    Cancellation, CommandSpec, Ending, Limits, Outcome,
    container::Container,
    outcome::nothing,
    pump::Pumps,
    started::{Pipes, Started},
};

/// Time for a killed process to die. The kernel needs next to none, unless the process is in an uninterruptible system
/// call (a dead network disk); then the runtime reaps it later.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);

/// Time for a container to end. An engine on a busy machine takes seconds for each of the steps of a start, and a container
/// can be killed only after it was created.
pub(super) const CONTAINER_GRACE: Duration = Duration::from_secs(60);

/// Time between two attempts to kill a container.
pub(super) const CONTAINER_RETRY: Duration = Duration::from_millis(500);

/// Time limit of one call of the engine.
const CALL_LIMIT: Duration = Duration::from_secs(20);

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
        Ok(started) => {
            let outcome = supervise(start_time, started, input, limits, cancellation).await;
            let Some(starter) = &spec.starter else { return outcome };
            let ending = starter.ending(outcome.ending, outcome.stderr.head());
            Outcome { ending, ..outcome }
        }
        Err(error) => nothing(start_time, Ending::SpawnFailed(error)),
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

    let must_stop = pumps
        .pump_until(async {
            tokio::select! {
                // An exit at the last moment is still an exit.
                biased;
                () = started.exited() => None,
                () = cancellation.cancelled() => Some(Ending::Cancelled),
                () = sleep(limits.timeout) => Some(Ending::TimedOut { limit: limits.timeout }),
            }
        })
        .await;
    let ending = if let Some(ending) = must_stop {
        stop(&mut started, &mut pumps, limits).await;
        ending
    } else if started.is_contained() {
        // What it leaves ends with it: that closes the outputs, if they are still open.
        let ending = started.reap();
        pumps.finish(KILL_GRACE).await;
        ending
    } else {
        pumps.finish(limits.eof_grace).await;
        started.reap()
    };
    let unsent = pumps.unsent();
    Outcome { ending, stdout: pumps.out, stderr: pumps.err, unsent, duration: start_time.elapsed() }
}

/// Stops a running process: its container, if there is one, then `SIGTERM`, then `SIGKILL`.
async fn stop(started: &mut Started, pumps: &mut Pumps<'_>, limits: &Limits) {
    pumps.stdin = None;
    let start_time = Instant::now();
    while let Some(container) = started.container()
        && start_time.elapsed() < CONTAINER_GRACE
    {
        pumps.pump_until(kill_container(container)).await;
        if pumps.pump_until(timeout(CONTAINER_RETRY, started.exited())).await.is_ok() {
            break;
        }
    }
    started.terminate();
    if pumps.pump_until(timeout(limits.term_grace, started.exited())).await.is_err() {
        started.kill();
        // A process that survives this is left to the runtime.
        let _ = pumps.pump_until(timeout(KILL_GRACE, started.exited())).await;
    }
    // Its status only shows that it was stopped.
    let _ = started.reap();
    pumps.finish(DRAIN_AFTER_KILL).await;
}

/// Kills a container, or removes it if it does not run yet. To be repeated until the client exits: the engine may not know
/// the container yet.
pub(super) fn kill_container(
    container: &Container,
) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
    Box::pin(async {
        let limits = Limits::with_timeout(CALL_LIMIT);
        for call in container.killers() {
            let outcome = run(&call, b"", &limits, &Cancellation::new()).await;
            // A container that was killed removes itself.
            if outcome.ending == Ending::Exited(0) {
                return;
            }
        }
    })
}
