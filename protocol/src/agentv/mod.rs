//! AgentV's code judges (2.x), code graders (3.x, 4.x) and script graders (5.x).
//!
#![doc = include_str!("../../docs/agentv.md")]
//!
//! What is dropped is listed in [`Converted::dropped`](crate::Converted::dropped).

mod build;
mod content;
mod derived;
mod dropped;
mod from_result;
mod input;
mod member;
mod message;
mod metrics;
mod result;
mod settings;
mod statuses;
mod to_input;
mod trace;
mod turns;
mod wire;
mod words;

pub use content::{Block, Content};
pub use input::CodeJudgeInput;
pub use member::MemberResult;
pub use message::{Message, ToolCall};
pub use result::{Assertion, CodeJudgeResult, DEFAULT_THRESHOLD};
pub use trace::{EventTool, TokenUsage, Trace, TraceEvent, TraceSummary};
pub use words::{EventKind, Role, ToolStatus};
