//! AgentV eval files: reading, running and grading.

mod files;
mod json_text;
pub mod model;
mod pattern;
pub mod read;
mod references;
mod template;

pub use pattern::Pattern;
pub use template::Template;
