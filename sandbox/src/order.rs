//! What the helper is asked to do: the one argument of JSON between host and helper.

use std::process;

use serde::{Deserialize, Serialize};

use crate::{plan::Plan, policy::Policy};

/// First argument of a process that is a helper.
pub(crate) const HIDDEN_ARGUMENT: &str = "__evaluator-sandbox";

/// Exit code of the helper if it fails before the program is started. The helper's line on standard error tells it from a
/// program that exits with the same code.
pub const HELPER_FAILED: i32 = 125;

/// Beginning of the line that the helper writes to standard error if the program was not started. The exit code is
/// [`HELPER_FAILED`], or 127 (126) if everything is ready and the program does not exist (cannot be executed).
pub const HELPER_ERROR: &str = "evaluator-sandbox: ";

/// What to do. Holds no secrets: arguments of processes can be seen by every user of the machine.
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
