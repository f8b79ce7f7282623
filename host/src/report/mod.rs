//! What came of a run, as data. Rendering for people is left to the caller; the JSON form is here because it is a contract.

mod json;
mod model;

pub use model::{ConversationReport, EvaluationReport, Partial, Report};
