//! The real hosts, one file each, driven by their public interfaces.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
mod server;

use std::{ffi::OsStr, path::Path, process::Command};

use evaluator_tests::bench::peers;

use crate::interop::{
    case::{Case, Recorded, Verdict},
    conversation::Conversation,
    faults::Fault,
    place::Place,
};

/// A host that is installed.
pub(crate) trait Host: Sync {
    /// Name with the release that the host reports.
    fn name(&self) -> &str;

    /// Name in `--for`.
    fn target(&self) -> &'static str;

    /// Conversation that it shows to evaluators.
    fn conversation(&self) -> Conversation;

    /// Lowest score that passes.
    fn threshold(&self) -> f64 {
        0.5
    }

    /// True if evaluators can have settings.
    fn has_config(&self) -> bool {
        true
    }

    /// Verdict for an evaluator that has nothing to judge.
    fn not_evaluated(&self) -> Verdict;

    /// True if it shows tool calls to evaluators.
    fn tells_tools(&self) -> bool {
        true
    }

    /// True if it fills in a score for every turn.
    fn fills_turns(&self) -> bool {
        false
    }

    /// True if it records explanations.
    fn explains(&self) -> bool;

    /// Runs evaluators; one record for each.
    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded>;

    /// Language of its own evaluators.
    fn own_kind(&self) -> Option<&'static str> {
        None
    }

    /// The same faults in an evaluator of the host's own kind; one record for each.
    fn judge_own_kind(&self, _: &[Fault], _: &Place) -> Vec<Recorded> {
        Vec::new()
    }
}

/// Hosts that are or can be installed, and the names of the others.
pub(crate) fn installed() -> (Vec<Box<dyn Host>>, Vec<&'static str>) {
    let mut hosts: Vec<Box<dyn Host>> = Vec::new();
    let mut missing = Vec::new();
    match peers::agentevals() {
        Some(command) => hosts.push(Box::new(agentevals::Agentevals::new(command))),
        None => missing.push("agentevals"),
    }
    match peers::agentv() {
        Some(command) => hosts.push(Box::new(agentv::AgentV::new(command))),
        None => missing.push("AgentV"),
    }
    match peers::adk() {
        Some(python) => hosts.push(Box::new(adk::Adk::new(python))),
        None => missing.push("ADK"),
    }
    match peers::agenta() {
        Some(python) => hosts.extend(agenta::all(&python)),
        None => missing.push("Agenta"),
    }
    (hosts, missing)
}

/// The last word of the output of `--version`.
pub(crate) fn version_of(program: &Path) -> String {
    said(program, ["--version"])
}

/// The release of a package that a Python interpreter has.
pub(crate) fn version_in(python: &Path, package: &str) -> String {
    let program = format!("import importlib.metadata as m; print(m.version('{package}'))");
    said(python, ["-c", &program])
}

fn said<S: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().last().unwrap_or_default().to_owned()
}
