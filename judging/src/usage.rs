//! Sums over calls.

use std::time::Duration;

use evaluator_models::{Answer, Decimal, ModelError};

/// Sums over calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallUsage {
    /// Calls, each answered by a server or by a cassette, or failed.
    pub calls: u64,
    /// Requests that were sent, repetitions included.
    pub requests: u64,
    /// Calls whose replies were recorded before the run.
    pub replayed: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// Tokens; those of replayed replies are what they once were.
    pub tokens: evaluator_models::Usage,
    /// Calls whose answer does not say how many tokens it used.
    pub uncounted: u64,
    /// Cost of all calls that have a price; that of replayed replies is what they once cost. `None` if none has a price.
    pub cost: Option<Decimal>,
    /// Time in calls.
    pub duration: Duration,
}

impl CallUsage {
    /// Returns the sums over calls with these results.
    pub fn of<'r>(results: impl Iterator<Item = &'r Result<Answer, ModelError>>) -> Self {
        let mut usage = Self::default();
        results.for_each(|result| usage.add(result));
        usage
    }

    /// Counts a call.
    pub(crate) fn add(&mut self, result: &Result<Answer, ModelError>) {
        self.calls = self.calls.saturating_add(1);
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                self.requests = self.requests.saturating_add(error.attempts.into());
                self.failed = self.failed.saturating_add(1);
                return;
            }
        };
        self.requests = self.requests.saturating_add(answer.attempts.into());
        self.replayed = self.replayed.saturating_add(answer.is_replayed.into());
        match &answer.reply.usage {
            None => self.uncounted = self.uncounted.saturating_add(1),
            Some(usage) => self.tokens.add(usage),
        }
        if let Some(cost) = answer.cost {
            let sum = self.cost.unwrap_or_default();
            self.cost = Some(sum.saturating_add(cost).normalize());
        }
        self.duration = self.duration.saturating_add(answer.duration);
    }
}
