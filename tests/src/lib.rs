//! What tests and benchmarks that cross crates share. The tests stand in `tests/`, the benchmarks in `benches/`.

pub mod bench;
pub mod folder;
pub mod leftovers;
