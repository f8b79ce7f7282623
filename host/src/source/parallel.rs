//! Several evaluators at a time, and what is told meanwhile.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use super::{SourceError, Wanted};
use crate::runtime::PrepareEvent;

/// Evaluators that are fetched at the same time.
const AT_A_TIME: usize = 8;

/// Takes a line of progress: what is being fetched.
pub(super) type Say<'a> = &'a dyn Fn(String);

/// Does the same for each, several at a time; results in the order of `items`.
pub(super) fn in_parallel<T: Send>(
    items: &[&Wanted],
    on_event: &mut dyn FnMut(PrepareEvent),
    work: impl Fn(&Wanted, Say<'_>) -> Result<T, SourceError> + Sync,
) -> Vec<Result<T, SourceError>> {
    enum Message<T> {
        Line(String),
        Done(usize, Result<T, SourceError>),
    }
    // Stands until there is a result.
    let mut results: Vec<Result<T, SourceError>> =
        items.iter().map(|_| Err(SourceError::Cancelled)).collect();
    let (sender, messages) = mpsc::channel();
    let next = AtomicUsize::new(0);
    let mut fetching = 0_usize;
    thread::scope(|scope| {
        for _ in 0..items.len().min(AT_A_TIME) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    // The receiver lives as long as this scope.
                    let say = |line| drop(sender.send(Message::Line(line)));
                    // A source that was registered by others may have a mistake in it, which is not one of the other items.
                    let result = catch_unwind(AssertUnwindSafe(|| work(item, &say)));
                    let result = result.unwrap_or_else(|_| {
                        Err(SourceError::Unsafe { reason: format!("fetching {item} panicked") })
                    });
                    drop(sender.send(Message::Done(index, result)));
                }
            });
        }
        drop(sender);
        for message in messages {
            match message {
                Message::Line(line) => {
                    if fetching == 0 {
                        let what = "fetching evaluators".to_owned();
                        on_event(PrepareEvent::Started { what });
                    }
                    fetching += 1;
                    on_event(PrepareEvent::Progress { line });
                }
                Message::Done(index, result) => results[index] = result,
            }
        }
    });
    if fetching > 0 {
        let noun = if fetching == 1 { "evaluator" } else { "evaluators" };
        on_event(PrepareEvent::Finished { what: format!("fetched {fetching} {noun}") });
    }
    results
}
