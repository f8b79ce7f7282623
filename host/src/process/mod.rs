//! Starts and supervises processes. Nothing else in this crate starts one (but `runtime/cargo`, which builds).

mod command;

pub use command::CommandSpec;
