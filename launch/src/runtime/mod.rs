//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod dynamic;
mod environment;
mod imports;
mod model;
mod node;
pub mod own_tests;
#[doc(hidden)]
pub mod paths;
mod python;
mod registry;
pub mod sdk;
pub mod secrets;
mod syntax;
#[doc(hidden)]
pub mod testing;

use crate::tool;

pub use cargo::Cargo;
pub use environment::{Environment, EnvironmentFilter, Inherit};
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
