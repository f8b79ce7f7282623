//! The labelled conversations of the guide about judges are what their script writes.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::process::Command;

use evaluator_test_support::{has, run};

use crate::root;

#[test]
fn the_labelled_conversations_are_what_their_script_writes() {
    if !has("python3") {
        return;
    }
    run(Command::new("python3").arg(root().join("examples/labelled/make.py")).arg("--check"))
        .exits(0);
}
