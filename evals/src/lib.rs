//! AgentV eval files: reading, running and grading.

mod files;
pub mod grade;
mod json_text;
pub mod model;
pub mod output;
mod pattern;
pub mod read;
pub mod report;
pub mod run;
mod references;
pub mod targets;
mod template;

pub use pattern::Pattern;
pub use template::Template;
