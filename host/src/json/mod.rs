//! JSON as recorded traces and Python evaluators really contain it.
//!
//! `serde_json::Value` cannot hold what Python's `json` module reads and writes: integers of any size, `NaN` and
//! `Infinity`. This module has a value type that can, a parser that is bounded in depth, and the text form Python gives.

mod value;

pub use value::{Object, Value};
