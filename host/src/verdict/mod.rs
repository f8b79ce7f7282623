//! Results of evaluations as values: an answer, or the error of the evaluator.
//!
//! A [`Verdict`] is made from a finished process ([`from_outcome`]) or from a line of the streaming form
//! ([`from_text`]). An [`Evaluation`] adds duration, output and attempts; a [`Tally`] counts evaluations.

mod aggregate;
mod describe;
mod evaluation;
mod explain;
mod judge;
mod model;
mod transient;

pub use crate::hosts::{Answer, BadAnswer, Status};
pub use aggregate::{Balance, Standing, Tally};
pub use evaluation::Evaluation;
pub(crate) use explain::{ERROR_TYPES, NOT_RUN};
pub(crate) use judge::{Expected, from_ending, from_report};
pub use judge::{from_outcome, from_text};
pub use model::Verdict;
