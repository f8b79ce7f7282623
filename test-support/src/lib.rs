//! What the tests of several crates share: temporary directories, programs under test, servers on the loopback interface,
//! recordings of conversations, and what evaluations may leave behind.
//!
//! It depends on no other crate of the workspace, so that all of them can use it. Its functions panic where a test would
//! fail.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "helpers of tests start processes, may panic, and report what they skip"
)]

pub mod directory;
pub mod exchanges;
pub mod injection;
pub mod named;
pub mod processes;
pub mod program;
pub mod recording;
pub mod server;
pub mod written;

pub use directory::{TestDirectory, unshared};
pub use named::Directory;
pub use program::{Output, finish, has, has_typescript, run};
pub use written::Written;
