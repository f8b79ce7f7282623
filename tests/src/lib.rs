//! Programs, recordings and measurements for the benchmarks in `benches/` and for the tests under real hosts.

pub mod bench;

/// The examples of this page are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/embedding.md")]
#[derive(Debug)]
pub struct Embedding;
