//! The tests of a Python evaluator: pytest where its environment has it, else unittest.

use std::{ffi::OsString, path::Path};

use super::probe::Questions;
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Environment, Launch, PrepareError,
        own_tests::{Convention, OwnTests, TestRunner, find},
    },
};

const CONVENTION: Convention = Convention {
    is_test,
    directories: &["tests", "test"],
    signs: &["import unittest", "def test_"],
};

const WHERE: &str = "tests are looked for in test_*.py and *_test.py beside it and in tests/, where they mention its name, and \
                     in the file itself";

fn is_test(name: &str) -> bool {
    name.strip_suffix(".py")
        .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// Whether a file is a script with tests, and not a file of tests.
pub(super) fn has_tests(source: &Path) -> bool {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    !is_test(&name) && !find(source, CONVENTION).is_empty()
}

/// The tests of the evaluator in `source`, run by the interpreter of `launch`.
pub(super) fn own_tests(
    source: &Path,
    launch: &Launch,
    args: &[OsString],
    environment: &Environment,
    cancellation: &Cancellation,
) -> Result<OwnTests, PrepareError> {
    let files = find(source, CONVENTION);
    if files.is_empty() {
        return Err(PrepareError::NoTests { path: source.to_owned(), hint: WHERE.to_owned() });
    }
    let python = Path::new(&launch.one_shot.program);
    let mut questions = Questions::default();
    questions.version("pytest");
    let answers = questions
        .ask(python, environment, cancellation)
        .map_err(|reason| PrepareError::RuntimeMissing { reason })?;
    let has_pytest = answers.version("pytest").is_some();
    let (runner, module) = if has_pytest {
        (TestRunner::Pytest, "pytest")
    } else {
        (TestRunner::Unittest, "unittest")
    };
    let folder = source.parent().unwrap_or(source);
    // unittest takes the names of files for names of modules, below the working directory.
    let relative = files.iter().map(|file| file.strip_prefix(folder).unwrap_or(file));
    let mut command = CommandSpec::new(python).args(["-m", module]).args(args).args(relative);
    command.env.clone_from(&launch.one_shot.env);
    command.cwd = Some(folder.to_owned());
    let hint = if has_pytest {
        WHERE.to_owned()
    } else {
        format!("unittest finds methods of TestCase only, and {} has no pytest", python.display())
    };
    Ok(OwnTests { command, runner, files, renames: Vec::new(), hint, lock: None })
}
