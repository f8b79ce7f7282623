//! The conformance test of a host, and the releases that it imitates.

use super::{
    case::{Base, Case},
    record::Recorded,
};
use crate::{json::Object, process};

/// Conformance test of a host.
#[derive(Debug)]
pub(crate) struct Suite {
    /// Releases, and ways of calling, that read answers differently.
    pub(crate) releases: &'static [Release],
    /// Plain documents, from which large and broken documents are made.
    pub(crate) bases: &'static [Base],
    /// Returns the documents that the host sends.
    pub(crate) documents: fn() -> Vec<Case>,
    /// Returns a document with settings of the evaluator, which are not empty.
    pub(crate) with_settings: fn(&str, &Object) -> String,
}

/// A release of a host, or a way of calling, that reads answers differently from others.
#[derive(Debug, derive_more::Display)]
#[display("{title}")]
pub struct Release {
    /// Name of the host, e.g. `agentv`.
    pub host: &'static str,
    /// Name for `--host`, e.g. `agentv-4.42.4`.
    pub name: &'static str,
    /// Title in reports, e.g. `AgentV 4.42.4`.
    pub title: &'static str,
    /// Whether everything that a program does is a score, so that errors are scores, too.
    pub scores_everything: bool,
    /// Returns what the host records of a process that received a document with a number of turns.
    ///
    /// The threshold is the default of the host: 0.8 for AgentV, 0.5 for the others.
    pub(crate) record: fn(&process::Outcome, turns: usize) -> Recorded,
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Case {
    /// Returns true if a release sends this case. Cases without releases are sent by all.
    pub(crate) fn is_sent_by(&self, release: &Release) -> bool {
        self.releases.is_empty() || self.releases.contains(&release.name)
    }
}
