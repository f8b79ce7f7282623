//! Agenta: the document of an evaluator, and its result.

mod answer;
mod document;

pub(super) use answer::answer;
pub(super) use document::document;
