//! The client of the target proxy against recordings of real proxies, and against what no proxy should be.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod connections;
mod programs;
mod proxy;
mod recordings;
mod replies;
