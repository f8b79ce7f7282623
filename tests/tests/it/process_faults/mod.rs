//! Every way in which an evaluator process can go wrong, and the verdict on it.

mod numbered;
mod one_shot;
mod streaming;

use std::time::Duration;

use evaluator_host::process::CommandSpec;
use evaluator_test_support::processes;

/// Time after which a program counts as hanging; the fixtures hang for longer.
const BOUNDED: Duration = Duration::from_secs(200);

/// A command for the fixture program, marked so that processes left behind can be found.
fn fault(name: &str, mark: &processes::Mark) -> CommandSpec {
    CommandSpec::new(env!("CARGO_BIN_EXE_process-fault"))
        .arg(name)
        .env(processes::MARK_VARIABLE, mark.as_str())
}
