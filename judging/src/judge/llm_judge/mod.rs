//! Judges that users write: a prompt or rubrics over what was recorded, and the form of the verdict.

mod judge;
mod messages;
mod variables;

pub use judge::{LlmJudge, Scope};
pub use variables::{VARIABLES, Variable};
