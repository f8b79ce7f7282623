//! Order of the host to the helper: its one argument, as JSON.

use std::{fmt, io, process};

use serde::{Deserialize, Serialize};

use crate::{plan::Plan, policy::Policy};

/// First argument of a process that is a helper.
pub(crate) const HIDDEN_ARGUMENT: &str = "__evaluator-sandbox";

/// Exit code of the helper if it fails before the program is started. The helper's line on standard error tells it from a
/// program that exits with the same code.
pub const HELPER_FAILED: i32 = 125;

/// Beginning of the line that the helper writes to standard error if the program was not started. The exit code is
/// [`HELPER_FAILED`], or 127 (126) if everything is ready and the program does not exist (cannot be executed).
///
/// A program can write the same line and exit with the same code. That is an error as well, only another one.
pub const HELPER_ERROR: &str = "evaluator-sandbox: ";

/// Task of the helper. Holds no secrets: arguments of processes can be seen by every user of the machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The policy without its paths, which the plan has.
    pub(crate) policy: Policy,
    pub(crate) plan: Plan,
    /// Id of the process that ends everything when it ends.
    pub(crate) host: u32,
    /// Do everything but start a program; report on standard output.
    pub(crate) is_check: bool,
}

impl Order {
    pub(crate) fn new(policy: &Policy, plan: Plan) -> Self {
        let policy = Policy { read: Vec::new(), write: Vec::new(), ..policy.clone() };
        Self { policy, plan, host: process::id(), is_check: false }
    }
}

/// A part of the helper's work that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Read the order, find the host.
    Order,
    /// Start a process of its own.
    Process,
    /// Make namespaces.
    Namespaces,
    /// Map user and group.
    Identity,
    /// Listen for the host.
    Listener,
    /// Make the directories that are visible.
    Mounts,
    /// Protect a mount.
    Attributes,
    /// Mount `/proc`.
    Proc,
    /// Set limits, drop capabilities.
    Limits,
    /// Restrict by Landlock.
    Landlock,
    /// Install the filter.
    Filter,
    /// Execute the program.
    Program,
}

/// Why the helper failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    /// Action that failed, with its object.
    pub(crate) action: String,
    pub(crate) reason: String,
    /// Number of the system's error.
    pub(crate) errno: Option<i32>,
}

impl Failure {
    pub(crate) fn new(step: Step, action: impl Into<String>, error: &io::Error) -> Self {
        let (action, reason) = (action.into(), error.to_string());
        Self { step, action, reason, errno: error.raw_os_error() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.reason)
    }
}

/// Names what is done, for errors.
pub(crate) trait During<T> {
    fn during(self, step: Step, action: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: Step, action: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, action(), &error.into()))
    }
}
