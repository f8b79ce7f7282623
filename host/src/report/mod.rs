//! The report of a run as data, its JSON form, and the run file that it is read from. Text forms are in the command.

mod context;
mod conversations;
mod encoding;
mod json;
mod model;
mod outcome;
mod recordings;
pub mod run_file;
mod target_proxy;
mod totals;

pub use context::EventContext;
pub(crate) use context::EventTurn;
pub use conversations::{Collector, ConversationReports, Conversations, REPORT_MEMORY};
pub(crate) use model::ALL_EVALUATORS;
pub use model::{
    ConversationReport, ErrorType, EvaluationReport, JudgeUsage, Partial, Report, SuiteReport,
};
pub use outcome::EvaluationOutcome;
pub use target_proxy::{TargetProxyReport, TargetTokens};
pub use totals::{EvaluatorScores, NotEvaluated};
