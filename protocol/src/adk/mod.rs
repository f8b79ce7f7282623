//! Custom metrics of Google's Agent Development Kit.
//!
//!
//! ADK derives two verdicts from one result: `adk eval` takes the overall status, `AgentEvaluator` compares the mean
//! of the rows with the threshold. So a FAILED result never has rows whose mean reaches the threshold. A result has
//! one row for each turn or is not written, because ADK fails the whole run over a wrong number.
#![doc = include_str!("../../docs/adk.md")]

mod content;
mod convert;
mod input;
mod invocation;
mod metric;
mod result;

pub use content::{
    Blob, Bytes, CodeExecutionResult, Content, ExecutableCode, FileData, FunctionCall,
    FunctionResponse, Part,
};
pub use input::{ConversationScenario, MetricInput, UserBehavior, UserPersona};
pub use invocation::{
    AgentDetails, AppDetails, IntermediateData, IntermediateDataType, IntermediateResponse,
    Invocation, InvocationEvent, InvocationEvents, Rubric, RubricContent, UsageMetadata,
};
pub use metric::{Criterion, EvalMetric, EvalStatus};
pub use result::{
    DurationDetails, EvaluationResult, PerInvocationResult, RowCount, RubricScore,
    TokenUsageDetails,
};
