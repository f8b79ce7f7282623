//! What tests and benchmarks that cross crates share. The tests stand in `tests/`, the benchmarks in `benches/`.

pub mod bench;
pub mod folder;
pub mod leftovers;

/// The examples of this page are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
#[derive(Debug)]
pub struct Embedding;
