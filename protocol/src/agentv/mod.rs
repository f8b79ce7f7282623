//! AgentV's code judges (2.x), code graders (3.x, 4.x) and script graders (5.x).
//!
#![doc = include_str!("../../docs/agentv.md")]
//!
//! Dropped values are listed in [`Converted::dropped`](crate::Converted::dropped).

mod convert;
mod input;
mod message;
mod result;
mod trace;
mod wire;

pub use input::CodeJudgeInput;
pub use message::{Block, Content, MemberResult, Message, Role, ToolCall};
pub use result::{Assertion, CodeJudgeResult, DEFAULT_THRESHOLD};
pub use trace::{EventKind, EventTool, TokenUsage, ToolStatus, Trace, TraceEvent, TraceSummary};
