//! Environment variables: where programs are looked up, which variables a program sees, and which look like secrets.

pub mod secrets;
mod variables;

pub(crate) use secrets::is_listed;
pub use variables::{Environment, EnvironmentFilter, Inherit};
pub(crate) use variables::{interpreter, is_executable, is_harmless, is_script};
