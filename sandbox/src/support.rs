//! Whether this machine can contain programs: [`support`].

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::{
    command::check_helper,
    policy::Level,
    refusal::{Refusal, RefusalKind},
};

/// What contains a program on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Support {
    /// The level that was tried.
    pub level: Level,
    /// Names of the namespaces: `user`, `mount`, `pid`, `net`, `ipc`, `uts`, `cgroup`; none at the partial level.
    pub namespaces: Vec<String>,
    /// Version of Landlock's interface; `None` if it is not used (full level only).
    pub landlock_abi: Option<u32>,
}

/// Returns what contains programs at this level, after doing it once in a process of its own. Later calls return the same.
///
/// # Errors
///
/// What is missing, with the cure. There is never another level instead of the one asked for.
pub fn support(level: Level) -> Result<&'static Support, Refusal> {
    static KNOWN: [OnceLock<Result<Support, Refusal>>; 2] = [OnceLock::new(), OnceLock::new()];
    check_helper()?;
    let known = &KNOWN[usize::from(level == Level::Partial)];
    known.get_or_init(|| check(level)).as_ref().map_err(Clone::clone)
}

fn check(level: Level) -> Result<Support, Refusal> {
    let text = format!("the {} level cannot be checked", level.name());
    Err(Refusal::new(RefusalKind::Other, text))
}
