//! What a composite aggregator reads of each of its members.

use serde::{Deserialize, Serialize};

use super::message::or_default;
use crate::JsonObject;

/// The result of one member of a composite evaluator, as an aggregator reads it. Its keys are in camelCase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberResult {
    /// The member's score.
    pub score: f64,
    /// `pass`, `borderline` or `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// What was good.
    #[serde(default, deserialize_with = "or_default")]
    pub hits: Vec<String>,
    /// What was missing.
    #[serde(default, deserialize_with = "or_default")]
    pub misses: Vec<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
}
