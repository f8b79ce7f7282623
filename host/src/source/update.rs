//! Fetching evaluators anew and moving their pins.

use super::{
    ContentHash, Context, SourceError, Wanted,
    parallel::in_parallel,
    resolve::{Evaluator, change_pins},
};
use crate::runtime::PrepareEvent;

/// What came of updating one evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// Which.
    pub wanted: Wanted,
    /// What was pinned before.
    pub before: Option<ContentHash>,
    /// What is pinned now; why nothing was changed, if it could not be fetched.
    pub after: Result<ContentHash, SourceError>,
}

/// Fetches each evaluator, whatever is in the cache, and pins what it is now. What cannot be fetched stays as it was. Each pin
/// is moved as soon as its evaluator is there.
///
/// # Errors
///
/// [`SourceError`] when the lock file cannot be read.
pub fn update(
    wanted: &[Wanted],
    context: Context<'_>,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<Vec<Updated>, SourceError> {
    // Before anything is fetched: a lock file that cannot be read is not written over.
    let pinned = change_pins(context, |pins| pins.clone())?;
    let mut distinct: Vec<&Wanted> = wanted.iter().collect();
    distinct.sort();
    distinct.dedup();
    let moved = in_parallel(&distinct, on_event, |wanted, say| {
        let evaluator = Evaluator::new(wanted, context)?;
        let mut held = evaluator.hold()?;
        let fetched = evaluator.fetch(say)?;
        let origin = evaluator.origin()?;
        let cached = held.install(&fetched, origin.clone())?;
        let pin = evaluator.pin(&cached.hash, Some(origin));
        // At once, and not for all in the end: the pinned content is no longer in the cache, so that whoever ends this while it
        // waits for another evaluator would have nothing that may run.
        let before = change_pins(context, |pins| {
            let before = pins.get(wanted).map(|pin| pin.hash.clone());
            pins.set(wanted.clone(), pin);
            before
        })?;
        Ok((before, cached.hash))
    });
    let each = distinct.into_iter().zip(moved);
    let updated = each.map(|(wanted, moved)| {
        let (before, after) = match moved {
            Ok((before, after)) => (before, Ok(after)),
            Err(error) => (pinned.get(wanted).map(|pin| pin.hash.clone()), Err(error)),
        };
        Updated { wanted: wanted.clone(), before, after }
    });
    Ok(updated.collect())
}
