//! Tests of the crate at its boundary: fake servers on the loopback interface, files of cassettes.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod cassettes;
mod damaged;
mod drop_params;
mod exchanges;
mod failures;
mod limits;
mod proxy;
mod received;
mod sdk_requests;
mod server;
mod wire;
