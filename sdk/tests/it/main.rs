//! Integration tests of the SDK: the macro, every contract, and programs as hosts start them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod adk;
mod agenta;
mod agentv;
mod contracts;
mod hosts;
mod hygiene;
mod program;
#[cfg(feature = "schema")]
mod schema;
mod support;
#[cfg(feature = "target")]
mod target_client;
#[cfg(feature = "tokio")]
mod tokio;
mod usage;
