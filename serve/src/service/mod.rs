//! Evaluators that are kept ready for documents of any contract from outside.
//!
//! | file | contents |
//! |---|---|
//! | `offer` | [`Service`]: prepared evaluators and their descriptions |
//! | `screen` | checks of documents, whatever the contract of the evaluator |
//! | `answer` | evaluation of a document, and its answer in the form of the host that sent it |
//!
//! # Conversion of documents
//!
//! | contract of the evaluator | document | answer |
//! |---|---|---|
//! | agentevals, or not known | converted to agentevals | converted to the contract of the document |
//! | any other | unchanged | unchanged |
//!
//! `config` and `threshold` of the configuration's entry are added where the document has none. Agenta documents have both in
//! `parameters` (with `correct_answer_key`, the input in which webhooks send the correct answer), ADK documents in the
//! criterion.

mod answer;
mod offer;
mod refusal;
mod screen;

pub use answer::Answered;
pub use offer::{Offered, Service, Unservable};
pub use refusal::Refusal;
