//! Agenta's evaluators: custom code, webhooks and remote workflows.
//!
#![doc = include_str!("../../docs/agenta.md")]

mod convert;
mod form;
mod input;
mod result;
mod threshold;

pub mod http;

pub use form::Form;
pub use input::{DEFAULT_CORRECT_ANSWER_KEY, EvaluateInput};
pub use result::{EvaluateResult, Outputs, OutputsError, Unfit};
pub use threshold::{DEFAULT_THRESHOLD, ThresholdError, threshold};
