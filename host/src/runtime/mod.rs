//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod companions;
mod composition;
mod environment;
mod executable;
mod model;
mod node;
mod paths;
mod private_folder;
mod python;
mod registry;
pub mod secrets;
mod syntax;
#[cfg(test)]
pub(crate) mod testing;
mod tool;
mod visible;

pub use cargo::Cargo;
pub use composition::Composition;
pub use environment::Environment;
pub use executable::Executable;
pub use model::{
    Availability, Built, CachedCommand, CompileCacheOf, Entrypoint, ForkServerOf, Launch,
    PrepareError, PrepareEvent, Runtime,
};
pub use node::Node;
pub(crate) use private_folder::PrivateFolder;
pub use python::{Python, requirements};
pub use registry::Runtimes;
pub use syntax::Syntax;
pub use visible::{Inherit, Visible};
