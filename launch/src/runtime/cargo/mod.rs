//! Rust evaluators, built by cargo.
//!
//! A source is a target of a package, or a lone file around which a package is generated; both are built the same way.
//! Whether anything has to be compiled is always decided by cargo itself.

mod build;
mod log;
mod manifest;
mod owner;
mod runtime;
mod script;

pub use runtime::Cargo;
