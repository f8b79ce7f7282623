//! Runtimes: how a source file of some language becomes a command that can be started.

mod model;

mod registry;

pub use model::{Availability, Launch, PrepareError, PrepareEvent, Runtime};
pub use registry::Runtimes;
