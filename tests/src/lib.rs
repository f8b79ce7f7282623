//! What the benchmarks in `benches/` and the tests under real hosts share.

pub mod bench;

/// The examples of this page are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
#[derive(Debug)]
pub struct Embedding;
