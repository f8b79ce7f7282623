//! Recorded agent traces: file formats, conversations, and the eval sets they are held against.

pub mod conversation;
pub mod eval_set;
pub mod trace;

pub use evaluator_json as json;
