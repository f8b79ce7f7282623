//! Models for evaluators, through the host's proxy (feature `target`).
#![doc = ""]
#![doc = include_str!("../../docs/target.md")]

mod body;
mod client;
mod error;
mod extract;
mod fake;
mod http;
mod info;
mod judge;
mod reply;
mod request;
mod response;
mod settings;
mod template;

pub use client::TargetClient;
pub use error::TargetError;
pub use evaluator_protocol::agentv::{Message, TokenUsage, ToolCall};
pub use fake::FakeTarget;
pub use info::Info;
pub use judge::{Judge, Judgement};
pub use reply::Reply;
pub use request::Request;
pub use template::{Template, Variables};
