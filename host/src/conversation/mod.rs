//! Extracts conversations (turns with LLM calls and tool calls) from traces.

mod model;

pub use model::{Conversation, LlmCall, PerformanceMetrics, ToolCall, Turn};
