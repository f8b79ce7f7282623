//! Agenta's evaluators: custom code, webhooks and remote workflows.
//!
#![doc = include_str!("../../docs/agenta.md")]

mod convert;
mod input;
mod result;

pub mod http;

pub use input::{DEFAULT_CORRECT_ANSWER_KEY, DEFAULT_THRESHOLD, EvaluateInput, Form, threshold};
pub use result::{EvaluateResult, Outputs, OutputsError};
