//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod companions;
mod composition;
mod environment;
mod executable;
mod model;
mod node;
pub mod own_tests;
#[doc(hidden)]
pub mod paths;
mod private_folder;
mod python;
mod registry;
pub mod secrets;
mod syntax;
#[doc(hidden)]
pub mod testing;
mod tool;
mod untraceable;
mod visible;

pub use cargo::Cargo;
pub use companions::imported_from;
pub use composition::Composition;
pub use environment::Environment;
pub use executable::Executable;
pub use model::{
    Availability, Built, CachedCommand, CompileCacheOf, Entrypoint, ForkServerOf, Launch,
    PrepareError, PrepareEvent, Runtime,
};
pub use node::Node;
pub use private_folder::PrivateFolder;
pub use python::{Python, requirements};
pub use registry::Runtimes;
pub use syntax::Syntax;
pub use visible::{Inherit, Visible};
