//! The agentevals contract, version 1.1. Documents of version 1.0 read the same: every field added since has a default.
//!
//! Names are those of the contract's Python SDK.

mod input;
mod result;
mod statistics;

pub use input::{EvalInput, IntermediateStepData, InvocationData, ToolCallData, ToolResponseData};
pub(crate) use input::{half, yes};
pub use result::{EvalResult, EvalStatus, ScoreCount};
pub(crate) use statistics::statistics;
