//! The real hosts, one file each.

mod adk;
mod agenta;
mod agentevals;
mod agentv;

use evaluator_tests::bench::peers;

use crate::case::{Case, Place, Recorded};

/// A host that is installed.
pub(crate) trait Host {
    fn name(&self) -> &str;

    /// What `--for` calls it.
    fn target(&self) -> &'static str;

    /// How many turns the conversation has that it shows to evaluators.
    fn turns(&self) -> usize;

    /// Whether it wants a score for every turn.
    fn fills_turns(&self) -> bool {
        false
    }

    /// Whether it records explanations.
    fn explains(&self) -> bool;

    /// Runs evaluators; one record for each.
    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded>;
}

/// Those that are there, or can be installed.
pub(crate) fn installed() -> Vec<Box<dyn Host>> {
    let mut hosts: Vec<Box<dyn Host>> = Vec::new();
    hosts.extend(
        peers::agentevals().map(|command| Box::new(agentevals::Agentevals { command }) as Box<_>),
    );
    hosts.extend(peers::agentv().map(|command| Box::new(agentv::AgentV { command }) as Box<_>));
    hosts.extend(peers::adk().map(|python| Box::new(adk::Adk { python }) as Box<_>));
    if let Some(python) = peers::agenta() {
        for version in ["1", "2", "3"] {
            hosts.push(Box::new(agenta::Agenta::new(python.clone(), version)));
        }
    }
    hosts
}
