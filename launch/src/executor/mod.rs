//! Where a launched command lives: on this machine, or wrapped into something that isolates it.

mod registry;

pub use registry::{Executor, ExecutorError, Executors, Local};
