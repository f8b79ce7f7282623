//! Results of evaluations as values: an answer, or the error of the evaluator.
//!
//! A [`Verdict`] is made from a finished process ([`from_outcome`]) or from a line of the streaming form
//! ([`from_text`]). An [`Evaluation`] adds duration, output and attempts.

mod contradictions;
mod describe;
mod evaluation;
mod explain;
mod judge;
mod model;
mod transient;

pub use crate::hosts::{Answer, BadAnswer, Status};
pub use crate::report::{Balance, Standing, Tally};
pub use contradictions::contradictions;
pub use evaluation::Evaluation;
#[doc(hidden)]
pub use judge::{Expected, answer_of};
pub(crate) use judge::{from_ending, from_report};
pub use judge::{from_outcome, from_text};
pub use model::Verdict;
