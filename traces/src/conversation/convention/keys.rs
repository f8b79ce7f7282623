//! Names of attributes and events in the `GenAI` semantic conventions.

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(crate) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
pub(crate) const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
pub(crate) const TOOL_DEFINITIONS: &str = "gen_ai.tool.definitions";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const ERROR_TYPE: &str = "error.type";

/// Names of older conventions and the canonical attribute each stands for, in order of precedence.
pub(super) const ALIASES: [(&str, &str); 4] = [
    ("gen_ai.usage.prompt_tokens", INPUT_TOKENS),
    ("gen_ai.usage.completion_tokens", OUTPUT_TOKENS),
    ("gen_ai.usage.cache_creation.input_tokens", CACHE_WRITE_TOKENS),
    ("gen_ai.response.finish_reason", FINISH_REASONS),
];

/// The older name of [`PROVIDER`].
pub(super) const SYSTEM: &str = "gen_ai.system";

/// Placeholder of some frameworks for an unknown name or result of a tool.
pub(super) const NOT_SPECIFIED: &str = "<not specified>";

/// Event that carries everything about one model call.
pub(super) const DETAILS: &str = "gen_ai.client.inference.operation.details";
