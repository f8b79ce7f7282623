//! Rust evaluators, built by cargo.
//!
//! A source is a target of a package, or a lone file around which a package is generated; both are built the same way.
//! Whether anything has to be compiled is always decided by cargo itself.
//!
//! Programs of packages are linked into `target/evaluator/PACKAGE-HASH`, where no other build replaces them.
//! Intermediate artifacts stay in the user's build directory (cargo 1.91 or later), so dependencies are compiled once.
//! Programs are started directly with the variables that `cargo run` would set: cargo would check all sources for
//! every worker.

mod build;
mod bundled;
mod contained;
mod copy;
mod findings;
mod log;
mod manifest;
mod owner;
mod runtime;
mod script;
mod toolchain;
mod unit;

pub use bundled::Bundled;
pub use runtime::Cargo;
