//! The tests of a Rust evaluator, run by `cargo test`.

use std::{ffi::OsString, fs, path::Path};

use super::{
    build::{ProgramKind, Toolchain, Unit},
    owner::Owners,
    runtime::{Cargo, Job, generate},
};
use crate::{
    process::Cancellation,
    runtime::{
        Entrypoint, PrepareError, PrepareEvent,
        own_tests::{OwnTests, TestRunner},
    },
};

/// Whether a lone file has tests in it.
pub(super) fn has_tests(source: &Path) -> bool {
    fs::read_to_string(source).is_ok_and(|text| text.contains("#[test]"))
}

/// The tests of the package that an evaluator is part of; of an example, those in its file. A lone file is tested in the
/// package that is generated around it.
pub(super) fn own_tests(
    cargo: &Cargo,
    entrypoint: &Entrypoint,
    args: &[OsString],
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<OwnTests, PrepareError> {
    let toolchain = cargo.toolchain(entrypoint.fetched, cancellation)?;
    let mut metadata = |manifest: &Path| toolchain.metadata(manifest);
    let (mut owners, mut jobs) = (Owners::new(&mut metadata), Vec::new());
    cargo.plan(0, &entrypoint.path, &mut owners, &mut jobs)?;
    let Some(Job { unit, script, programs }) = jobs.pop() else {
        return Err(PrepareError::NoTests {
            path: entrypoint.path.clone(),
            hint: "it is no program".to_owned(),
        });
    };
    let lock =
        script.as_ref().map(|it| generate(it, &toolchain, cargo.sdk(), on_event)).transpose()?;
    let program = programs.first().map_or("", |(name, _)| name.as_str());
    let command = command(&toolchain, &unit, program).arg("--").args(args);
    Ok(OwnTests {
        command,
        runner: TestRunner::Cargo,
        files: Vec::new(),
        renames: unit.renames,
        hint: "it has no function with #[test], or all are left out".to_owned(),
        lock,
    })
}

fn command(toolchain: &Toolchain, unit: &Unit, program: &str) -> crate::process::CommandSpec {
    let command = toolchain.select(toolchain.call(["test"]), unit);
    // Tests of an example are not run unless it is named.
    if unit.kind == ProgramKind::Example { command.args(["--example", program]) } else { command }
}
