//! The interfaces of OpenAI and Anthropic, for programs that use their SDKs.

mod error;
mod routes;
mod stream;
mod translate;
mod written;

pub(super) use error::failure;
pub(super) use routes::{PREFIX, answer};
