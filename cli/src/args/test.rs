//! Arguments of `evaluator test`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use super::existing;

pub(super) const EXIT_CODES: &str = "Rust: cargo test. Python: pytest where the evaluator's environment has it, else unittest. \
     JavaScript and TypeScript: node --test.\n\n\
     Exit codes: 0 all tests passed, 1 a test failed, 2 there is nothing to test or no test ran, 3 the tests could not be run";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// File of an evaluator, package, directory of an evaluator, or directory of evaluators
    #[arg(value_parser = existing)]
    pub(crate) path: PathBuf,
    /// For the test runner
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}
