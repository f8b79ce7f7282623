//! The proxy that a host offers for the current document of a stream.
//!
//! A program evaluates one document at a time, so the offer belongs to the program and not to a thread: an evaluator may start
//! threads that ask.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evaluator_protocol::{Number, TargetAccess};

#[derive(Debug)]
enum Offer {
    /// Of a document that was not started yet.
    Next(Number, TargetAccess),
    /// Of the current document.
    Current(TargetAccess),
}

static OFFER: Mutex<Option<Offer>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Offer>> {
    // A value is replaced in one step, so it is valid after a panic.
    OFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the offer in a line for its document. Returns false if the line is not one of an offer.
pub(crate) fn offer(line: &[u8]) -> bool {
    let Some((number, access)) = TargetAccess::from_line(line) else { return false };
    *lock() = Some(Offer::Next(number, access));
    true
}

/// Starts a document: its offer is the current one until the returned value is dropped.
pub(crate) fn of_document(number: Number) -> Offered {
    let mut offer = lock();
    *offer = match offer.take() {
        Some(Offer::Next(next, access)) if next == number => Some(Offer::Current(access)),
        _ => None,
    };
    Offered
}

/// Returns the offer of the current document.
pub(crate) fn current() -> Option<TargetAccess> {
    match &*lock() {
        Some(Offer::Current(access)) => Some(access.clone()),
        _ => None,
    }
}

/// Withdraws the offer when the document is finished.
#[derive(Debug)]
pub(crate) struct Offered;

impl Drop for Offered {
    fn drop(&mut self) {
        *lock() = None;
    }
}
