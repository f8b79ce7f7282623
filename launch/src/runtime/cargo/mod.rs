//! Rust evaluators, built by cargo.
//!
//! A source is a target of a package, or a lone file that is wrapped into a generated package; both are then built the
//! same way. Whether something has to be compiled is always decided by cargo itself.

mod build;
mod embedded;
mod environment;
mod freshness;
mod launch;
mod log;
mod manifest;
mod own_tests;
mod owner;
mod runtime;
mod script;

pub use runtime::Cargo;
