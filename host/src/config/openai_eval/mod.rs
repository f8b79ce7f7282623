//! `type: openai_eval`: graders of OpenAI's evaluation service.

mod model;
mod read;
mod template;

pub use model::{Grader, LabelModel, Message, OpenAiEvalConfig, Role, TextSimilarity};
pub(super) use read::read;
