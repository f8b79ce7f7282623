//! Google ADK: the document of a custom metric, and its `EvaluationResult`.

mod answer;
mod document;

pub(super) use answer::answer;
pub(super) use document::document;
