//! Graders of OpenAI's API that need a model.
//!
//! [`ask`] asks models what a grader needs, through the run's one door to them.

mod ask;

pub use ask::{Answers, Endpoint, Subject, ask, settings};
