//! Custom metrics of Google's Agent Development Kit.
//!
#![doc = include_str!("../../docs/adk.md")]

mod answer;
mod bytes;
mod content;
mod convert;
mod input;
mod invocation;
mod metric;
mod object;
mod performance;
mod result;
mod scenario;
mod status;
mod usage;

pub use bytes::Bytes;
pub use content::{
    Blob, CodeExecutionResult, Content, ExecutableCode, FileData, FunctionCall, FunctionResponse,
    Part,
};
pub use input::MetricInput;
pub use invocation::{
    AgentDetails, AppDetails, IntermediateData, IntermediateDataType, IntermediateResponse,
    Invocation, InvocationEvent, InvocationEvents, Rubric, RubricContent,
};
pub use metric::{Criterion, EvalMetric};
pub use result::{
    DurationDetails, EvaluationResult, PerInvocationResult, RowCount, RubricScore,
    TokenUsageDetails,
};
pub use scenario::{ConversationScenario, UserBehavior, UserPersona};
pub use status::EvalStatus;
pub use usage::UsageMetadata;
