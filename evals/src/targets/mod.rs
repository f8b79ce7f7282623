//! Targets: the agents that are tested, and the models that judge.
//!
//! | file | contents |
//! |---|---|
//! | `file` | `targets.yaml` |
//! | `model` | targets as they were read, and references in them |
//! | `providers` | keys of the providers |
//! | `endpoint` | targets as endpoints for judges |
//! | `command` | starting the command of a `cli` target |

mod command;
mod endpoint;
mod file;
mod model;
mod providers;

pub(crate) use command::kill_text;
pub use command::{Invocation, Ran};
pub use endpoint::{JudgeTarget, Starter};
pub use file::{find, read};
pub use model::{CliTarget, ModelTarget, Provider, ReplayTarget, Setting, Target, Targets};
