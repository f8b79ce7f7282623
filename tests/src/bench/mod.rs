//! Measures whole programs: generated recordings, programs to compare with, and resource usage.
//!
//! The `main` of a benchmark calls [`measure::is_measuring`] first, since the benchmark is also the parent of the measured
//! program.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and may panic"
)]

pub mod build;
pub mod directory;
pub mod measure;
pub mod peers;
pub mod recording;
pub mod scores;

/// Returns true if the benchmark is to run: `cargo test --benches` only checks that it compiles.
#[must_use]
pub fn is_wanted() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}
