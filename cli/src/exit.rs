//! Exit codes of the `evaluator` command. Scripts rely on them; they do not change their meaning.

/// Every evaluation passed, did not apply, or broke within the share of errors that is tolerated, and something was scored.
pub const OK: u8 = 0;
/// An agent failed: at least one score is below its threshold, or something that has to be recorded or scored is not; every
/// evaluator worked, or its errors are tolerated. Also where nothing was scored at all.
pub const FAILED: u8 = 1;
/// The command line or the configuration cannot be used. Nothing ran.
pub const USAGE: u8 = 2;
/// Something broke (an evaluator, a trace file, an eval set), or the run was interrupted. The scores that are shown are
/// not the whole story.
pub const ERRORED: u8 = 3;
/// It was interrupted a second time, while it was stopping. There is no report, and everything it had started was killed.
pub const INTERRUPTED: u8 = 130;
