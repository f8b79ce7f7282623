//! What programs asked models.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::models::{ProxyUsage, RecordId, Usage};

/// What the program of an evaluation asked models through its proxy, over all attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TargetProxyReport {
    /// Calls.
    pub call_count: u64,
    /// Maximum number of calls of an attempt.
    pub max_calls: u64,
    /// Calls without an answer, because the model failed or the evaluation ended before.
    pub failed_calls: u64,
    /// Requests that were not accepted, e.g. beyond the maximum.
    pub refused_requests: u64,
    /// Tokens of the answers.
    pub tokens: TargetTokens,
    /// Cost of the answers, if their models have prices.
    pub cost: Option<String>,
    /// Models that were asked, as provider and model, sorted.
    pub models: Vec<String>,
    /// Keys and samples under which the answers are in a cassette, if one is used.
    pub recordings: BTreeSet<RecordId>,
}

/// Tokens of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TargetTokens {
    /// Tokens of the requests, those from a cache included.
    pub input: u64,
    /// Tokens of the replies, those of thinking included.
    pub output: u64,
    /// Tokens of the requests that were cached.
    pub cached: u64,
    /// Tokens of thinking.
    pub reasoning: u64,
}

impl From<ProxyUsage> for TargetProxyReport {
    fn from(usage: ProxyUsage) -> Self {
        let Usage { input, output, cached, reasoning } = usage.tokens;
        Self {
            call_count: usage.calls,
            max_calls: usage.max_calls,
            failed_calls: usage.failed.saturating_add(usage.unfinished),
            refused_requests: usage.refused,
            tokens: TargetTokens { input, output, cached, reasoning },
            cost: usage.cost.map(|cost| cost.to_string()),
            models: usage.models,
            recordings: usage.recordings,
        }
    }
}
