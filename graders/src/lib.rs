//! Graders of OpenAI's API that need a model or a server.
//!
//! [`ask`] asks models what a grader needs, through the run's one door to them. [`hosted`] is a client of the Evals protocol,
//! which lets a server grade.
//!
//! OpenAI announced on 2026-06-03 that its Evals platform ends: evals are read-only from 2026-10-31 on, and the API was shut
//! down on 2026-11-30. Other servers may keep the protocol.

mod ask;
pub mod hosted;

pub use ask::{Answers, Endpoint, Subject, ask, settings};
