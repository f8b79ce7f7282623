//! Tests that cross crates: faults of evaluator programs, runtimes, templates, and the real hosts.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests start processes, may panic, and report what they skip"
)]

#[cfg(unix)]
mod cached_node;
#[cfg(target_os = "linux")]
mod docker;
#[cfg(unix)]
mod fault_matrix;
#[cfg(unix)]
mod forked_python;
#[cfg(unix)]
mod interop;
mod linked;
#[cfg(unix)]
#[path = "../../fixtures/printed.rs"]
mod printed;
#[cfg(unix)]
mod process_faults;
#[cfg(target_os = "linux")]
mod process_leaks;
mod public_api;
#[cfg(unix)]
mod registered;
#[cfg(unix)]
mod served;
mod templates;
#[cfg(unix)]
mod worker_exits;
