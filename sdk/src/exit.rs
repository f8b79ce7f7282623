//! Exit codes of evaluator programs.

/// Every document was answered. In the streaming form, an error is an answer.
pub const ANSWERED: u8 = 0;
/// The evaluator failed: it returned an error, it panicked, or its answer could not be written.
pub const FAILED: u8 = 1;
/// The arguments are wrong; no evaluator ran.
pub const USAGE: u8 = 2;
/// The document, or the config in it, could not be read or was refused; the evaluator did not run.
pub const INPUT: u8 = 3;
/// The evaluator crashed with a fatal signal.
pub const CRASHED: u8 = 70;
