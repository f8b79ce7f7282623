//! Integration tests of the documents: reading, detection, conversion and answers of each contract.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod adk;
mod agenta;
mod agentv;
mod detection;
mod documents;
mod nothing_is_lost;
