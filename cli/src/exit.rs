//! Exit codes of the `evaluator` command. Scripts rely on them; they do not change their meaning.

/// Every evaluation passed, or did not apply.
pub const OK: u8 = 0;
/// An agent failed: at least one score is below its threshold, and every evaluator worked.
pub const FAILED: u8 = 1;
/// The command line or the configuration cannot be used. Nothing ran.
pub const USAGE: u8 = 2;
/// Something broke: an evaluator, a trace file, an eval set. The scores that are shown are not the whole story.
pub const ERRORED: u8 = 3;
/// It was interrupted a second time, while it was stopping. There is no report.
pub const INTERRUPTED: u8 = 130;
