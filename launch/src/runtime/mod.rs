//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod dynamic;
mod events;
mod executable;
mod imports;
mod inputs;
mod language;
mod model;
mod node;
pub mod own_tests;
#[doc(hidden)]
pub mod paths;
mod python;
mod registry;
pub mod sdk;
mod syntax;
#[cfg(test)]
pub(crate) mod testing;

use crate::tool;

pub use crate::environment::{Environment, EnvironmentFilter, Inherit, secrets};
pub use cargo::{Bundled, Cargo};
pub use events::{PrepareError, PrepareEvent};
pub use executable::Executable;
#[doc(hidden)]
pub use imports::imported_from;
pub use inputs::Inputs;
pub use language::Language;
pub use model::{Built, CachedCommand, Entrypoint, Launch, Reuse, Runtime};
pub use node::Node;
#[doc(hidden)]
pub use paths::PrivateDirectory;
pub use python::{Interpreter, Python, requirements};
pub use registry::Runtimes;
pub use syntax::Syntax;
