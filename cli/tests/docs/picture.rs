//! The picture of the README shows a run: `python3 docs/picture/render.py` draws it. Those of the guide about gates show numbers:
//! `python3 docs/picture/how_sure.py` draws them.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::process::Command;

use evaluator_test_support::{has, run};

use crate::root;

#[test]
fn the_picture_shows_a_run() {
    if !has("python3") {
        return;
    }
    let script = root().join("docs/picture/render.py");
    run(Command::new("python3").arg(script).args(["--check", env!("CARGO_BIN_EXE_evaluator")]))
        .exits(0);
}

#[test]
fn the_pictures_of_the_guide_show_the_numbers_of_the_statistics() {
    if !has("python3") {
        return;
    }
    let script = root().join("docs/picture/how_sure.py");
    run(Command::new("python3").arg(script).arg("--check")).exits(0);
}
