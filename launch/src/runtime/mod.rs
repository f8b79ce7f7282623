//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod dynamic;
mod imports;
mod model;
mod node;
pub mod own_tests;
#[doc(hidden)]
pub mod paths;
mod python;
mod registry;
pub mod sdk;
mod syntax;
#[doc(hidden)]
pub mod testing;

use crate::tool;

pub use crate::environment::{Environment, EnvironmentFilter, Inherit, secrets};
pub use cargo::Cargo;
#[doc(hidden)]
pub use imports::imported_from;
pub use model::{
    Built, CachedCommand, Entrypoint, Inputs, Launch, PrepareError, PrepareEvent, Reuse, Runtime,
};
pub use node::Node;
pub use paths::Executable;
#[doc(hidden)]
pub use paths::PrivateDirectory;
pub use python::{Python, requirements};
pub use registry::Runtimes;
pub use syntax::Syntax;
