//! Tokens of model calls.

use serde_json::Value;

use super::object::object;

object! {
    /// Tokens of a model call.
    pub struct UsageMetadata {
        /// Tokens read.
        ["prompt_token_count" | "promptTokenCount"] prompt_token_count: Option<i64>,
        /// Tokens read that are results of tools on the model's side.
        ["tool_use_prompt_token_count" | "toolUsePromptTokenCount"] tool_use_prompt_token_count: Option<i64>,
        /// Tokens read that were cached.
        ["cached_content_token_count" | "cachedContentTokenCount"] cached_content_token_count: Option<i64>,
        /// Tokens written.
        ["candidates_token_count" | "candidatesTokenCount"] candidates_token_count: Option<i64>,
        /// Tokens thought.
        ["thoughts_token_count" | "thoughtsTokenCount"] thoughts_token_count: Option<i64>,
        /// The sum that the model's provider gives. The built-in metrics of ADK form their own.
        ["total_token_count" | "totalTokenCount"] total_token_count: Option<i64>,
        /// Tokens read by kind.
        ["prompt_tokens_details" | "promptTokensDetails"] prompt_tokens_details: Option<Value>,
        /// Tokens of results of tools by kind.
        ["tool_use_prompt_tokens_details" | "toolUsePromptTokensDetails"] tool_use_prompt_tokens_details: Option<Value>,
        /// Cached tokens by kind.
        ["cache_tokens_details" | "cacheTokensDetails"] cache_tokens_details: Option<Value>,
        /// Tokens written by kind.
        ["candidates_tokens_details" | "candidatesTokensDetails"] candidates_tokens_details: Option<Value>,
        /// How the provider counts the call.
        ["traffic_type" | "trafficType"] traffic_type: Option<Value>,
    }
}

impl UsageMetadata {
    /// Tokens that went in: read, and results of tools on the model's side. `None` when neither is known.
    #[must_use]
    pub fn input_tokens(&self) -> Option<i64> {
        sum([self.prompt_token_count, self.tool_use_prompt_token_count])
    }

    /// Tokens that came out: written and thought. `None` when neither is known.
    #[must_use]
    pub fn output_tokens(&self) -> Option<i64> {
        sum([self.candidates_token_count, self.thoughts_token_count])
    }
}

/// The sum of what is known; `None` when nothing is.
pub(super) fn sum(counts: impl IntoIterator<Item = Option<i64>>) -> Option<i64> {
    counts.into_iter().flatten().reduce(i64::saturating_add)
}
