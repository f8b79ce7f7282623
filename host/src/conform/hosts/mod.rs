//! How each host reads the end of a process.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
#[cfg(test)]
mod testing;

use super::{Host, Recorded};
use crate::process::Outcome;

/// What the host records when a process that it gave a document of so many turns ends like this.
///
/// The threshold is the one that hosts have when nobody sets another: 0.8 for AgentV, 0.5 for the others.
#[must_use]
pub fn recorded(host: Host, outcome: &Outcome, turns: usize) -> Recorded {
    match host {
        Host::Agentevals => agentevals::recorded(outcome),
        Host::AgentV2 => agentv::recorded(agentv::Generation::V2, outcome),
        Host::AgentV4 => agentv::recorded(agentv::Generation::V4, outcome),
        Host::AgentV5 => agentv::recorded(agentv::Generation::V5, outcome),
        Host::Adk => adk::recorded(outcome, turns),
        Host::AgentaCode1 => agenta::code(agenta::Version::V1, outcome),
        Host::AgentaCode2 => agenta::code(agenta::Version::V2, outcome),
        Host::AgentaCode3 => agenta::code(agenta::Version::V3, outcome),
        Host::AgentaWebhook => agenta::webhook(outcome),
    }
}
