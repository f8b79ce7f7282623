//! What came of a run, as data. Rendering for people is left to the caller; the JSON form is here because it is a contract.

mod conversations;
mod json;
mod model;
mod outcome;
mod spool;
mod totals;

pub use conversations::{Collector, ConversationReports, Conversations, REPORT_MEMORY};
pub use model::{ConversationReport, EvaluationReport, Partial, Report};
pub use outcome::EvaluationOutcome;
