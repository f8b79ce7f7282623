//! Processes for tests.

use std::time::Duration;

use crate::process::{Captured, Ending, Outcome};

pub(crate) fn ended(ending: Ending, stdout: &[u8], stderr: &str) -> Outcome {
    Outcome {
        ending,
        stdout: Captured::complete(stdout),
        stderr: Captured::complete(stderr),
        unsent: 0,
        duration: Duration::ZERO,
    }
}

pub(crate) fn printed(stdout: &str) -> Outcome {
    ended(Ending::Exited(0), stdout.as_bytes(), "")
}

pub(crate) fn data(name: &str) -> serde_json::Value {
    let path = format!("{}/tests/data/conform/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
