//! Calls of programs to models.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Key and sample of a recorded reply in a cassette.
pub type RecordId = (String, u32);

/// Calls of the program of an evaluation to models through its proxy, over all attempts.
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
