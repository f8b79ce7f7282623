//! Targets: the agents that are tested, and the models that judge.
//!
//! | file | contents |
//! |---|---|
//! | `file` | `targets.yaml` |
//! | `model` | targets as they were read, and references in them |
//! | `providers` | keys of the providers |
//! | `session` | targets as models of a session |
//! | `command` | starting the command of a `cli` target |
//! | `placeholders` | placeholders in such a command |

mod command;
mod file;
mod model;
mod placeholders;
mod providers;
mod session;

pub use command::{Invocation, Ran};
pub use file::{find, read};
pub use model::{CliTarget, ModelTarget, Provider, ReplayTarget, Setting, Target, Targets};
pub use session::TargetSession;
