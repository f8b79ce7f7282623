//! Warm workers: evaluators that stay running and are given one document after the other.
//!
//! The form spoken is one JSON document per line in, one line per document out, in the same order; see
//! [`verdict::from_text`](crate::verdict::from_text) for what a line may hold.
//!
//! Lines of themselves carry nothing that ties an answer to its document but their order. So a worker is used only as long
//! as it is in step: one that was late, or printed anything but one line of the agreed shape, is ended, because what it
//! prints next might be taken for the answer to another document. It is listened to for a moment after each answer, and one
//! that prints an answer when none is due makes all of them doubtful, which the pool says in the end. Only a program that
//! [numbers](evaluator_protocol::Number) its lines is given documents ahead: with numbers, no answer can be taken for
//! another's.
//!
//! Documents wait in one queue. Workers take them from its front, those that have nothing to do first; each keeps no more
//! in its pipe than it answers in an instant, so that slow evaluators are given one at a time. A document that was given
//! to a worker which was lost before it began with it goes back to the front.

mod document;
mod fault;
mod in_flight;
mod job;
mod pace;
mod shared;
mod worker;
mod workers;

pub use document::Document;
pub use fault::WorkerFault;
pub use workers::Pool;
