//! Keeping what this process knows from the processes it starts.

use std::io;

/// Sees to it that other processes of this user cannot read the memory and the environment of this one (`/proc/PID/environ`,
/// `/proc/PID/mem`, a debugger). Without that an evaluator could read there what was withheld from it.
///
/// Only Linux can do that; elsewhere this changes nothing and says `false`. It has a price: this process leaves no core dump, and
/// only root can attach a debugger or a profiler to it while it runs. Processes that it starts are as always. Root, to be
/// precise whoever may trace any process, is not kept out; nor does it protect the process that started this one.
///
/// # Errors
///
/// What the system says when it refuses.
pub fn hide_memory() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    Ok(false)
}
