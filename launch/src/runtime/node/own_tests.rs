//! The tests of a JavaScript or TypeScript evaluator, run by `node --test`.

use std::{ffi::OsString, path::Path};

use crate::{
    process::CommandSpec,
    runtime::{
        Launch, PrepareError,
        own_tests::{Convention, OwnTests, TestRunner, find},
    },
};

const CONVENTION: Convention =
    Convention { is_test, directories: &["test", "tests", "__tests__"], signs: &["node:test"] };

const WHERE: &str = "tests are looked for in *.test.* and *_test.* beside it and in test/, tests/ and __tests__/, where they \
                     mention its name, and in the file itself";

/// Whether Node.js takes a file of this name for one of tests, wherever it is.
fn is_test(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_named = stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|suffix| stem.ends_with(suffix));
    is_named && ["js", "mjs", "cjs", "ts", "mts", "cts"].contains(&extension)
}

/// Whether a file is a script with tests, and not a file of tests.
pub(super) fn has_tests(source: &Path) -> bool {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    !is_test(&name) && !find(source, CONVENTION).is_empty()
}

/// The tests of the evaluator in `source`, run by the program that `launch` starts.
pub(super) fn own_tests(
    source: &Path,
    launch: &Launch,
    args: &[OsString],
) -> Result<OwnTests, PrepareError> {
    let files = find(source, CONVENTION);
    if files.is_empty() {
        return Err(PrepareError::NoTests { path: source.to_owned(), hint: WHERE.to_owned() });
    }
    // All arguments but the last, which is the evaluator.
    let (_, before) = launch.one_shot.args.split_last().unwrap_or((&launch.one_shot.program, &[]));
    let mut command = CommandSpec::new(&launch.one_shot.program)
        .args(before)
        .args(["--test", "--test-reporter=spec"])
        .args(args)
        .args(&files);
    command.env.clone_from(&launch.one_shot.env);
    command.cwd = source.parent().map(Path::to_owned);
    let hint = WHERE.to_owned();
    Ok(OwnTests { command, runner: TestRunner::Node, files, renames: Vec::new(), hint, lock: None })
}
