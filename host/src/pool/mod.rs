//! Warm workers: evaluators that stay running and are given one document after the other.
//!
//! The form spoken is one JSON document per line in, one line per document out, in the same order; see
//! [`verdict::from_text`](crate::verdict::from_text) for what a line may hold.

mod worker;
mod workers;

pub use worker::Worker;
pub use workers::Pool;
