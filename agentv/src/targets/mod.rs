//! Targets: the agents that are tested, and the models that judge.
//!
//! | file | contents |
//! |---|---|
//! | `file` | `targets.yaml` |
//! | `model` | targets as they were read, and references in them |
//! | `providers` | keys of the providers |
//! | `session` | targets as models of a session |
//! | `command` | the command of a `cli` target as a script of the shell |
//! | `placeholders` | placeholders in such a command |

pub(crate) mod command;
mod file;
mod model;
mod placeholders;
mod providers;
mod session;

pub use file::{find, read};
pub use model::{CliTarget, ModelTarget, ReplayTarget, Setting, Target, TargetKind, Targets};
pub use session::TargetSession;
