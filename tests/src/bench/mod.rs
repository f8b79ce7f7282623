//! Whole programs, measured: recordings to work on, programs to compare with, and what they used.
//!
//! A benchmark that measures begins with [`measure::is_measuring`], since it is also the parent of what it measures.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and may panic"
)]

pub mod build;
pub mod folder;
pub mod measure;
pub mod peers;
pub mod recording;
pub mod scores;

/// Whether this is a run of the benchmark: `cargo test --benches` only wants to know that it compiles.
#[must_use]
pub fn is_wanted() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}
