//! Exit codes of the `evaluator` command. Scripts rely on them, so their meaning does not change.

/// Every evaluation passed, did not apply, or broke within the share of errors that is tolerated, and something was scored.
pub const OK: u8 = 0;
/// An agent failed: at least one score is below its threshold, or something that must be recorded or scored is not; every
/// evaluator worked, or its errors are tolerated. Also if nothing was scored.
pub const FAILED: u8 = 1;
/// The command line or the configuration cannot be used. Nothing ran.
pub const USAGE: u8 = 2;
/// Something broke (an evaluator, a trace file, an eval set), or the run was interrupted. The shown scores are incomplete.
pub const ERRORED: u8 = 3;
/// The command was interrupted a second time. There is no report, and all its processes were killed.
pub const INTERRUPTED: u8 = 130;
