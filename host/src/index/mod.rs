//! `index.yaml`: the list of a folder's evaluators, from which hosts fetch them.
//!
//! The form is the one that agentevals reads. Each entry says in addition which files belong to the evaluator, and what
//! is in them, so that one that is a whole folder can be fetched as one.

mod compile;
mod text;

pub use compile::{Entry, Index, IndexError};
