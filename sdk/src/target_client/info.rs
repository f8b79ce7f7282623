//! What a proxy says of itself, in the spellings of all generations.

use serde::Deserialize;

use super::{body::decode, error::TargetError};

/// What a proxy says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The target that answers where a request names none.
    pub target_name: String,
    /// How many calls the host grants this evaluator.
    pub max_calls: u64,
    /// How many of them are used.
    pub call_count: u64,
    /// Names a request may give, each once.
    pub available_targets: Vec<String>,
}

impl Info {
    /// How many calls are left.
    #[must_use]
    pub fn remaining_calls(&self) -> u64 {
        self.max_calls.saturating_sub(self.call_count)
    }

    pub(super) fn read(body: &[u8]) -> Result<Self, TargetError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            target_name: Option<String>,
            available_targets: Option<Vec<String>>,
            provider_label: Option<String>,
            available_provider_labels: Option<Vec<String>>,
            max_calls: u64,
            call_count: u64,
        }
        let sent: Sent = decode(body)?;
        let Some(target_name) = sent.target_name.or(sent.provider_label) else {
            return Err(TargetError::protocol("an answer without `targetName` or `providerLabel`"));
        };
        let mut available_targets: Vec<String> = Vec::new();
        for name in sent.available_targets.or(sent.available_provider_labels).unwrap_or_default() {
            if !available_targets.contains(&name) {
                available_targets.push(name);
            }
        }
        Ok(Self {
            target_name,
            max_calls: sent.max_calls,
            call_count: sent.call_count,
            available_targets,
        })
    }
}
