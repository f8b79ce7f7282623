//! Conformance tests: sends the documents of hosts, and broken documents, to a program, and reports what each host would record.
//!
//! A program is judged by its bytes and exit status alone, so it may be written in any language. The behaviour of each host
//! was measured on real releases.
//!
//! | type | meaning |
//! |---|---|
//! | [`Program`] | the command line that is tested |
//! | `Suite` | releases of a host, their documents, and what they record of a process |
//! | [`Tester`] | runs the suites, and returns a [`Conformance`] |
//!
//! A good program answers the documents of a host in that host's form, or refuses them: with a message on standard error,
//! nothing on standard output, and an exit code other than 0. It refuses what is not a document, reads its input to the end,
//! and is never ended by a signal. Under every host this is the only way for an error not to look like a judgement of the
//! agent, or at least to be recorded with its message.
//!
//! Conformance is judged by bytes. The code knows nothing of this project's own contracts, so it can test them as it
//! tests any other program. What a host records for an exit of a process is a pure function, tested row by row against
//! recordings of real releases.

mod case;
mod record;
mod report;
mod tester;

use std::fmt;

use super::HOSTS;
use crate::{json::Object, process};

pub use case::Kind;
pub(super) use case::{Base, Case};
pub(super) use record::{
    NOT_EVALUATED, disguise, finished, javascript_json, javascript_text, message, number,
    pydantic_float, python_json, untimely,
};
pub use record::{Outcome, Recorded, Row};
pub use report::{Behavior, CaseReport, Conformance, HostReport, Standing};
#[doc(hidden)]
pub use tester::prepare_on_thread;
#[doc(hidden)]
pub use tester::run_concurrently;
pub use tester::{ConformError, Program, Tester};

/// Returns the text of a file in the host's directory `data`.
macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("data/", $name, ".json")).trim_ascii_end()
    };
}
pub(super) use data;

/// Conformance test of a host.
#[derive(Debug)]
pub(crate) struct Suite {
    /// Releases, and ways of calling, that read answers differently.
    pub(super) releases: &'static [Release],
    /// Plain documents, from which large and broken documents are made.
    pub(super) bases: &'static [Base],
    /// Returns the documents that the host sends.
    pub(super) documents: fn() -> Vec<Case>,
    /// Returns a document with settings of the evaluator, which are not empty.
    pub(super) with_settings: fn(&str, &Object) -> String,
}

/// A release of a host, or a way of calling, that reads answers differently from others.
#[derive(Debug)]
#[non_exhaustive]
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
    pub(super) record: fn(&process::Outcome, turns: usize) -> Recorded,
}

impl Release {
    /// Returns all releases, in the order of reports.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        suites().flat_map(|suite| suite.releases)
    }

    /// Returns the releases of a host, or the release with this name.
    ///
    /// # Errors
    ///
    /// [`UnknownHost`]: neither exists.
    pub fn named(name: &str) -> Result<Vec<&'static Self>, UnknownHost> {
        let found: Vec<_> =
            Self::all().filter(|release| release.host == name || release.name == name).collect();
        if found.is_empty() { Err(UnknownHost { name: name.to_owned() }) } else { Ok(found) }
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title)
    }
}

fn suites() -> impl Iterator<Item = &'static Suite> {
    HOSTS.iter().filter_map(|host| host.suite.as_ref())
}

/// Error of a host name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownHost {
    name: String,
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = HOSTS.iter().filter(|host| host.suite.is_some()).map(|host| host.name);
        let hosts: Vec<_> = hosts.collect();
        let releases: Vec<_> = Release::all().map(|release| release.name).collect();
        write!(
            f,
            "there is no host `{}`; there are {}, and of them {}",
            self.name,
            hosts.join(", "),
            releases.join(", ")
        )
    }
}

impl std::error::Error for UnknownHost {}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
