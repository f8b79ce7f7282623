//! What came of one evaluation, as a value: an answer, or how the evaluator broke.
//!
//! A [`Verdict`] is made from a finished process ([`from_outcome`]) or from a line of the streaming form
//! ([`from_text`]); an [`Evaluation`] is the verdict with its circumstances, and a [`Tally`] counts many.

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
pub(crate) use explain::{ERROR_TYPES, NOT_RUN, WAS_NOT_RUN};
pub(crate) use judge::{Expected, from_ending, from_report};
pub use judge::{from_outcome, from_text};
pub use model::Verdict;
