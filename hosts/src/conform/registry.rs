//! The conformance tests of all hosts.

use std::fmt;

use super::{
    case::{Base, Body, Case, HUGE, Kind},
    model::{Release, Suite},
};
use crate::{HOSTS, json::Object};

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

pub(super) fn suites() -> impl Iterator<Item = &'static Suite> {
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

/// Returns the cases of all hosts that are sent to these releases: documents first, then faults.
pub(super) fn cases(releases: &[&'static Release], settings: &Object) -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in suites() {
        cases.extend((suite.documents)());
    }
    cases.extend(faults());
    if !settings.is_empty() {
        for case in &mut cases {
            let sends = |release: &Release| case.releases.contains(&release.name);
            if let Some(suite) = suites().find(|suite| suite.releases.iter().any(sends)) {
                case.body.text = (suite.with_settings)(&case.body.text, settings);
            }
        }
    }
    cases.retain(|case| releases.iter().any(|release| case.is_sent_by(release)));
    cases
}

/// Returns the faults of all hosts. Inputs that are not documents are the same for all.
pub(super) fn faults() -> Vec<Case> {
    let mut cases: Vec<Case> =
        suites().flat_map(|suite| suite.bases.iter().flat_map(Base::faults)).collect();
    let broken = |name, body| Case { name, kind: Kind::Broken, releases: &[], turns: 1, body };
    cases.push(broken("empty input", Body::new("")));
    cases.push(broken("not JSON", Body::new("When does the last train leave?\n")));
    if let Some(base) = suites().find_map(|suite| suite.bases.first()) {
        let body = Body { broken: true, ..Body::grown(base.text, base.grows, HUGE) };
        cases.push(broken("huge and broken", body));
    }
    cases
}
