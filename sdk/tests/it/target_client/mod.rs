//! The client of the target proxy against recordings of real proxies, and against what no proxy should be.

mod connections;
mod programs;
mod proxy;
mod recordings;
mod replies;
