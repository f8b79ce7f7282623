//! Runtimes: how a source file of some language becomes a command that can be started.

mod cargo;
mod companions;
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

pub use cargo::Cargo;
#[doc(hidden)]
pub use companions::imported_from;
pub use environment::{Environment, Inherit, Visible};
pub use executable::Executable;
pub use model::{
    Built, CachedCommand, Entrypoint, Inputs, Launch, PrepareError, PrepareEvent, Reuse, Runtime,
};
pub use node::Node;
#[doc(hidden)]
pub use private_folder::PrivateFolder;
pub use python::{Python, requirements};
pub use registry::Runtimes;
pub use syntax::Syntax;
