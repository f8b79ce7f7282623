//! Long work, with what a person sees of it while it lasts.

use std::{cell::RefCell, io, time::Duration};

use evaluator_host::run::RunEvent;
use tokio::time::sleep;

use crate::render;

/// How often a terminal shows the time that has passed.
const TICK: Duration = Duration::from_millis(250);

/// Steps of evaluations between two looks at what has happened outside (a timeout, an exit). A metric may take
/// milliseconds for a step, and no timeout is to wait for many of them.
const EVENT_INTERVAL: u32 = 4;

/// Does the work on a runtime of its own, and shows its events.
///
/// # Errors
///
/// The system does not give what a runtime needs.
pub(super) fn watched<T>(
    verbose: u8,
    work: impl AsyncFnOnce(&mut dyn FnMut(RunEvent)) -> T,
) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()?;
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
    // What makes evaluators ready may be stuck, and has been given up then.
    runtime.shutdown_background();
    Ok(done)
}
