//! Runs long work and shows its progress.

use std::{cell::RefCell, time::Duration};

use evaluator_host::{run::RunEvent, runtime::PrepareEvent};
use tokio::time::sleep;

use super::broken;
use crate::render;

/// Interval at which a terminal is updated.
const TICK: Duration = Duration::from_millis(250);

/// Steps of evaluations between two checks for timeouts and exits. A metric may take milliseconds for a step, and a timeout
/// must not wait for many of them.
const EVENT_INTERVAL: u32 = 4;

/// Does the work on its own runtime, and shows its events.
///
/// # Errors
///
/// Returns the exit code, after a message, if the runtime cannot be started.
pub(super) fn watched<T>(
    verbose: u8,
    work: impl AsyncFnOnce(&mut dyn FnMut(RunEvent)) -> T,
) -> Result<T, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()
        .map_err(|error| broken(format!("cannot start: {error}")))?;
    let progress = RefCell::new(render::Progress::new(verbose));
    let done = runtime.block_on(async {
        let ticking = async {
            loop {
                sleep(TICK).await;
                progress.borrow_mut().tick();
            }
        };
        let mut on_event = |event| progress.borrow_mut().event(&event);
        tokio::select! {
            done = work(&mut on_event) => done,
            // It never ends.
            done = ticking => done,
        }
    });
    progress.into_inner().finish();
    // A preparation that was abandoned may still block a thread of the runtime.
    runtime.shutdown_background();
    Ok(done)
}

/// Does work that reports only the events of a preparation.
pub(super) fn preparing<T>(
    verbose: u8,
    work: impl AsyncFnOnce(&mut dyn FnMut(PrepareEvent)) -> T,
) -> Result<T, u8> {
    watched(verbose, async |on_event| work(&mut |event| on_event(RunEvent::Prepare(event))).await)
}
