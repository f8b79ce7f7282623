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

/// Fetches each evaluator, whatever is in the cache, and pins what it is now. What cannot be fetched stays as it was.
///
/// # Errors
///
/// [`SourceError`] when the lock file cannot be read or written.
pub fn update(
    wanted: &[Wanted],
    context: Context<'_>,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<Vec<Updated>, SourceError> {
    // Before anything is fetched: a lock file that cannot be read is not written over.
    change_pins(context, |_| ())?;
    let mut distinct: Vec<&Wanted> = wanted.iter().collect();
    distinct.sort();
    distinct.dedup();
    let fetched = in_parallel(&distinct, on_event, |wanted, say| {
        let evaluator = Evaluator::new(wanted, context)?;
        let mut held = evaluator.hold()?;
        let fetched = evaluator.fetch(say)?;
        let origin = evaluator.origin()?;
        let cached = held.install(&fetched, origin.clone())?;
        Ok(evaluator.pin(&cached.hash, Some(origin)))
    });
    change_pins(context, |pins| {
        let each = distinct.into_iter().zip(fetched);
        each.map(|(wanted, pin)| {
            let before = pins.get(wanted).map(|pin| pin.hash.clone());
            let after = pin.map(|pin| {
                let hash = pin.hash.clone();
                pins.set(wanted.clone(), pin);
                hash
            });
            Updated { wanted: wanted.clone(), before, after }
        })
        .collect()
    })
}
