//! Protects the memory of this process from the processes it starts.
//!
//! On Linux the command is not dumpable (`PR_SET_DUMPABLE`): evaluators run as the same user and could read all
//! variables in `/proc/PPID/environ`. The cost is that the command leaves no core dump. Root can still read
//! everything, and the shell that started the command is readable: this is no sandbox.

use std::io;

/// Prevents other processes of this user from reading the memory and the environment of this one (`/proc/PID/environ`,
/// `/proc/PID/mem`, a debugger), where an evaluator could find what was withheld from it.
///
/// Only Linux supports this; elsewhere this changes nothing and returns `false`. It has a price: this process leaves no
/// core dump, and only root can attach a debugger or a profiler to it. Child processes are not affected. Root, or any
/// process that may trace others, is not kept out; nor is the parent of this process protected.
///
/// # Errors
///
/// The system refuses.
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
