//! Outputs of agents.
//!
//! | file | contents |
//! |---|---|
//! | `form` | the forms in which a `cli` target writes its output |
//! | `fixtures` | recordings of AgentV's `replay` provider |
//! | `recordings` | outputs that were recorded earlier, by the ids of their tests |
//! | `traces` | outputs in trace files |

use evaluator_document::ConfigError;

mod fixtures;
mod form;
mod recordings;
mod traces;

pub use fixtures::{Fixture, find, fixtures};
pub(crate) use form::calls;
pub use form::{Output, TokenUsage, ToolCall};
pub use recordings::Recordings;

/// Returns the text of errors.
pub(crate) fn joined(errors: &[ConfigError]) -> String {
    errors.iter().map(ConfigError::to_string).collect::<Vec<_>>().join("\n")
}
