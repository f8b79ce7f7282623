//! AgentV: the document of a code judge, code grader or script grader, and its answer.

mod answer;
mod document;
mod snake_case;
mod transcript;

pub(super) use answer::answer;
pub(super) use document::document;
