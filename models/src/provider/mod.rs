//! Providers: which servers and programs answer, one file each.

mod anthropic;
mod azure;
mod classify;
mod command;
mod fake;
mod gemini;
mod http;
mod model;
mod openai;
mod registry;
mod replay;
mod resolve;

pub use command::is_program;
pub use fake::{Fake, FakeReply};
pub use model::{
    CommandError, CommandRunner, Endpoint, ProgramIdentity, Provider, Settings, Variables,
};
pub use registry::Providers;

/// Reads the reply of a provider from JSON, for fuzzing. `shape` is `openai`, `anthropic` or `gemini`.
///
/// # Errors
///
/// The text is not an answer of that shape.
#[doc(hidden)]
pub fn read_reply(shape: &str, text: &[u8]) -> Result<crate::Reply, crate::ModelError> {
    let value = http::json(200, text, &crate::Redactor::default())?;
    match shape {
        "anthropic" => anthropic::reply(&value),
        "gemini" => gemini::reply(&value),
        _ => openai::reply(&value),
    }
}
