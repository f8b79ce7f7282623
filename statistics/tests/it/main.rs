//! Tests of the public functions.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod betting;
mod properties;
mod vectors;
