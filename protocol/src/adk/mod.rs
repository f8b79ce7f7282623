//! Custom metrics of Google's Agent Development Kit.
//!
#![doc = include_str!("../../docs/adk.md")]

mod content;
mod convert;
mod input;
mod invocation;
mod result;

pub use content::{
    Blob, Bytes, CodeExecutionResult, Content, ExecutableCode, FileData, FunctionCall,
    FunctionResponse, Part,
};
pub use input::{
    ConversationScenario, Criterion, EvalMetric, MetricInput, UserBehavior, UserPersona,
};
pub use invocation::{
    AgentDetails, AppDetails, IntermediateData, IntermediateDataType, IntermediateResponse,
    Invocation, InvocationEvent, InvocationEvents, Rubric, RubricContent, UsageMetadata,
};
pub use result::{
    DurationDetails, EvalStatus, EvaluationResult, PerInvocationResult, RowCount, RubricScore,
    TokenUsageDetails,
};
