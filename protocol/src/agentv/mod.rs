//! AgentV's code judges (2.x), code graders (3.x, 4.x) and script graders (5.x).
//!
//!
//! AgentV decides by the score alone, so a `FAILED` result of the default contract with a passing score is converted to a
//! score of 0, with the original score in the details. "Not evaluated" is converted to an error, because any score would be
//! made up. AgentV documents name no version: keys of all versions are read, and answers contain the rows of all versions.
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
#[doc(hidden)]
pub use wire::in_snake_case;
