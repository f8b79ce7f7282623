//! Extracts conversations (turns with LLM calls and tool calls) from traces.
//!
//! | step | module |
//! |---|---|
//! | which traces belong together | `group` |
//! | one reading of each span, whatever convention it follows | `convention`, `message` |
//! | images, sound and files in messages | `attachment` |
//! | the tree of spans, and which of them anchor turns | `tree` |
//! | logical LLM calls, tool calls | `tool_calls` |
//! | turns that failed | `failure` |
//! | turns of a trace, and turns that continue others | `turns`, `join` |
//! | texts before tool calls | `texts` |
//! | instructions and declared tools | `agents` |
//! | latencies and counts | `performance` |
//! | attributes that distinguish conversations | `labels` |

mod agents;
mod attachment;
mod convention;
mod extract;
mod failure;
mod group;
mod join;
mod labels;
mod message;
mod model;
mod performance;
mod recorded;
#[cfg(test)]
mod testing;
mod texts;
mod tool_calls;
mod tree;
mod turns;

pub use attachment::{Attachment, AttachmentKind};
pub use convention::{Content, Convention, Conventions, Kind, Kinds, Setup, SpanDraft};
pub use extract::{extract, extract_group};
pub use group::{GROUPING, Groups, SessionName, group_indexed, session_name_of, session_of};
pub use group::{Group, GroupBy, GroupedBy, group};
pub use labels::{attribute_names, label_values};
pub use message::Message;
pub use model::{
    CallSources, Conversation, Counts, IntermediateText, JudgedSpan, Labels, Latency, LlmCall,
    PerformanceMetrics, RecordedAgent, Source, Stats, Tokens, ToolCall, ToolDeclaration, Turn,
    TurnFailure, TurnPart, Unrecorded, Usage,
};
pub use performance::RunSums;
pub use performance::{
    Percentiles, RunCounts, RunLatency, RunPerformance, RunTokens, TokensPerTrace,
};
pub use recorded::Recorded;
