//! Descriptions of programs: the evaluators that they contain.

use std::time::Duration;

pub use evaluator_protocol::Description;
use evaluator_protocol::decode;

use crate::process::{self, Cancellation, CommandSpec, Ending, Limits};

/// Returns the description of a program; `None` if it has none, because it was not written with an SDK.
///
/// `command` is the form that reads one document. Must be called inside a tokio runtime with time and I/O enabled.
pub async fn describe(
    command: &CommandSpec,
    limit: Duration,
    cancellation: &Cancellation,
) -> Option<Description> {
    let command = command.clone().arg("--describe");
    let outcome = process::run(&command, b"", &Limits::with_timeout(limit), cancellation).await;
    match outcome.ending {
        Ending::Exited(0) => decode(outcome.stdout.head()).ok(),
        _ => None,
    }
}
