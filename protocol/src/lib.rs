//! The documents that evaluators read and write, as types.
//!
//! An evaluator reads one JSON document from standard input and writes one to standard output. This crate contains these
//! documents, the rules for their versions, and the framing for many documents in one process. It performs no I/O: it
//! converts bytes to values and values to bytes.
//!
//! ```
//! use evaluator_protocol::{EvalInput, EvalResult, Score, decode};
//!
//! let input: EvalInput = decode(br#"{"metric_name": "polite", "invocations": [{"final_response": "Gladly."}]}"#)?;
//! assert_eq!(input.threshold, 0.5);
//! let answered = input.invocations.iter().map(|turn| Score::from(turn.final_response.is_some()));
//! let result = EvalResult::mean_of(answered);
//! assert_eq!(
//!     serde_json::to_string(&result)?,
//!     r#"{"score":1.0,"status":null,"per_invocation_scores":[1.0],"details":null}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The error types are implemented without thiserror, which would lengthen the build of every evaluator.

mod agentevals;
mod contract;
mod decode;
mod describe;
mod document;
mod object;
mod score;
mod stream;
mod version;

pub mod adk;
pub mod agenta;
pub mod agentv;

pub use agentevals::{
    EvalInput, EvalResult, EvalStatus, IntermediateStepData, InvocationData, MISS_KEYS,
    REASON_KEYS, ScoreCount, ToolCallData, ToolResponseData,
};
pub use contract::{Contract, UnknownContract};
pub use decode::{DecodeError, DecodeErrorKind, MAX_DEPTH, decode};
pub use describe::{Capability, Description, EvaluatorDescription, LinkedEvaluator, Manifest};
pub use document::{
    Answer, Converted, Document, NotEvaluated, ReadError, Reply, Undetected, detect,
};
pub use score::{IntoScore, IntoTurnScore, Score, ScoreError};
pub use stream::{ErrorBody, Frame, MARK, Number, TargetAccess};
pub use version::{Compatibility, ProtocolVersion, VersionError};

/// A JSON object with string keys, as in `config`, `args` and `details`.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
