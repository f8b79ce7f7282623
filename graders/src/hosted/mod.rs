//! Client of OpenAI's Evals protocol, for servers that still speak it.
//!
//! A conversation is graded by five requests: an eval is created, a run of it is created and polled, its results are read,
//! and the eval is deleted, however the grading ends.

mod answers;
mod cleanup;
mod client;
mod transport;

pub use answers::{Graded, ItemGrade};
pub use cleanup::open_evals;
pub use client::{EvalsClient, EvalsError, EvalsServer, Job};
