//! Evaluators in the process of their host.

use std::fmt;

/// An evaluator that is linked into the program that runs it, so that no process is needed for it.
///
/// Evaluators written with the SDK are such evaluators (`name::EVALUATOR`); hosts take anything that is.
pub trait LinkedEvaluator: fmt::Debug + Send + Sync {
    /// Name by which configurations know it.
    fn name(&self) -> &str;

    /// What it scores, as text; empty when nobody has said so.
    fn description(&self) -> String;

    /// Judges one document: what its program would print for it in the streaming form, a [`Frame`](crate::Frame) as a
    /// line.
    ///
    /// A panic of the evaluator is an error in that line. Where one gets out all the same, the host reports it so.
    fn answer(&self, document: &[u8]) -> Vec<u8>;
}
