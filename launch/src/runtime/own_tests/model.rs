//! Tests that are ready to be run, and their result.

use std::{fs::File, path::PathBuf, time::Duration};

use super::count::{Count, TestRunner};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::tool::{self, Stream, ToolError},
};

/// Time the tests of one evaluator may take, the build of them included.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The tests of one evaluator, ready to be run.
#[derive(Debug)]
pub struct OwnTests {
    /// Runs them.
    pub command: CommandSpec,
    /// The program that runs them, whose output says how many there were.
    pub runner: TestRunner,
    /// The files with the tests, where they are known.
    pub files: Vec<PathBuf>,
    /// Texts to replace in the output: files that were generated have names that nobody knows.
    pub renames: Vec<(String, String)>,
    /// What to do if no test runs.
    pub hint: String,
    /// Locked until the tests have ended.
    pub lock: Option<File>,
}

/// Which output of a test runner a line is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What running tests came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestResult {
    /// All passed.
    Passed {
        /// Tests that ran.
        ran: usize,
    },
    /// At least one failed.
    Failed {
        /// Tests that ran.
        ran: usize,
    },
    /// There was none, or all were left out.
    NoneRan,
    /// The test runner did not get as far as a result.
    Broke {
        /// What happened.
        reason: String,
    },
}

impl OwnTests {
    /// Runs the tests, and hands over the lines they print as they come. Blocks until they have ended, or soon after
    /// `cancellation` says so.
    pub fn run(
        &self,
        cancellation: &Cancellation,
        on_line: &mut dyn FnMut(Output, &str),
    ) -> TestResult {
        let mut count = Count::new(self.runner, &self.files);
        let ended = tool::run(&self.command, LIMIT, cancellation, &mut |stream, line| {
            count.line(line);
            let renames = self.renames.iter();
            let line = renames.fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
            let output = if stream == Stream::Stdout { Output::Stdout } else { Output::Stderr };
            on_line(output, &line);
        });
        match ended {
            Ok(status) => count.result(status.code()),
            Err(ToolError::Cancelled { .. }) => {
                TestResult::Broke { reason: "the tests were interrupted".to_owned() }
            }
            Err(error) => TestResult::Broke { reason: error.to_string() },
        }
    }
}
