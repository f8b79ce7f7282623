//! Custom metrics of Google's Agent Development Kit.
//!
//! A custom metric is a Python function of four arguments. An evaluator reads them as one document, [`MetricInput`], and
//! answers with an [`EvaluationResult`]. Names are those of ADK's models (2.13), in snake_case; documents in camelCase and
//! with nulls for what is absent are read, too.
//!
//! What is kept as it came: the keys of a criterion that are the metric's own, arguments and responses of tools, and all
//! fields that are not known here.
//!
//! # Scores
//!
//! ADK lets a metric say any number, and has intervals for the numbers it may say. Here a score is a [`Score`](crate::Score),
//! finite and in 0..=1, as under every contract: so that no NaN becomes a pass, and the same evaluator means the same
//! everywhere. A metric of another interval is scaled into this one, its threshold with it. Measured numbers, such as
//! seconds and tokens, have their place in [`DurationDetails`] and [`TokenUsageDetails`], and in the rationale of a
//! [`RubricScore`].
//!
//! # What becomes of a document for an evaluator of the default contract
//!
//! | [`EvalInput`](crate::EvalInput) | from |
//! |---|---|
//! | `metric_name` | `eval_metric.metric_name` |
//! | `threshold` | `eval_metric.criterion.threshold`, or `eval_metric.threshold`; 0.5 without either |
//! | `config` | the other keys of `eval_metric.criterion`, but for `include_intermediate_responses_in_final` |
//! | `invocations`, `expected_invocations` | `actual_invocations`, `expected_invocations` |
//!
//! | [`InvocationData`](crate::InvocationData) | from |
//! |---|---|
//! | `invocation_id` | `invocation_id` |
//! | `user_content` | texts of `user_content`, joined by line breaks |
//! | `final_response` | texts of `final_response`, likewise; empty when it has none, `None` when there was no response |
//! | `intermediate_steps.tool_calls` | `tool_uses`, or the `function_call` of all parts of all events: name (empty when absent), arguments (an empty object when absent), id |
//! | `intermediate_steps.tool_responses` | `tool_responses`, or the `function_response` of all parts of all events: name, response (its JSON text as `output`), id. ADK has no mark for calls that failed, so `status` is not set |
//! | `performance_metrics` | durations, tokens and models of all actual turns: see below |
//!
//! | `performance_metrics` | from |
//! |---|---|
//! | `latency.overall`, `latency.model_per_turn`, `latency.tools_per_turn` | the three durations of a turn, in milliseconds, over the turns |
//! | `tokens` | `usage_metadata` of all events, but for the sum and the details that the model's provider gives |
//! | `counts`, `models`, `tool_names` | events, calls of tools and turns; `model_version` |
//!
//! There is no room for, and so are listed as dropped: `conversation_scenario`, `custom_function_path`, rubrics, application
//! details, creation timestamps, whatever was said between question and answer, who said it, parts other than texts, calls
//! and responses, marks on texts (`thought`), and fields that are not known.
//!
//! For what becomes of the result see [`EvaluationResult::from_eval_result`].

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
