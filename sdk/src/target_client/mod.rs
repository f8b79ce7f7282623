//! Models for evaluators, through the host's proxy (feature `target`).
#![doc = ""]
#![doc = include_str!("../../docs/target.md")]

mod client;
mod error;
mod fake;
mod http;
mod judge;
mod proxy;

pub use client::{Info, Reply, Request, TargetClient};
pub use error::TargetError;
pub use evaluator_protocol::agentv::{Message, TokenUsage, ToolCall};
pub use fake::FakeTarget;
pub use judge::{Judge, Judgement, Template, Variables};
