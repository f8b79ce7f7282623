//! AgentV eval files: reading, running and grading.

mod files;
pub mod grade;
mod json_text;
pub mod model;
pub mod output;
mod pattern;
pub mod read;
mod references;
pub mod report;
pub mod run;
pub mod targets;
mod template;

pub use pattern::Pattern;
pub use template::Template;
