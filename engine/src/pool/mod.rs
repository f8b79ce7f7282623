//! Warm workers: evaluator processes that stay running and evaluate one document after the other.
//!
//! The protocol is one JSON document per line in, one line per document out, in the same order; see
//! [`verdict::from_text`](crate::verdict::from_text) for the content of a line.
//!
//! Only their order assigns answers to documents. So a worker is used only while it is synchronized: one that is late,
//! or prints anything but one line of the agreed form, is ended, because its next output could be assigned to another
//! document. Each worker is observed for a short time after an answer; if it prints an answer when none is due, the
//! pool reports in the end that its answers are unreliable. Only a program that [numbers](evaluator_protocol::Number)
//! its lines is sent documents ahead: numbers assign every answer.
//!
//! Documents wait in one queue. Idle workers take them first; each worker holds only as many as it answers within
//! milliseconds, so that slow evaluators hold one. A document whose worker was lost before it started with it returns
//! to the front of the queue.

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
