//! The tests that an evaluator brings: where they are, how they run, and how many of them ran.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

pub use super::tool::Stream;
use super::{
    PrepareError,
    imports::code_below,
    tool::{self, ToolError},
};
use crate::process::{Cancellation, CommandSpec};

/// Time limit for the tests of one evaluator, including their build.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The tests of one evaluator, ready to run.
#[derive(Debug)]
pub struct OwnTests {
    /// Command that runs the tests.
    pub command: CommandSpec,
    /// Counts the tests in the output of that command.
    pub count: TestCount,
    /// Texts to replace in the output, with their replacements: generated files have names that the user does not know.
    pub renames: Vec<(String, String)>,
    /// Hint if no test runs.
    pub hint: String,
    /// A file that stays locked until the tests have ended.
    pub lock: Option<File>,
}

/// Result of running the tests of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestResult {
    /// All tests passed.
    Passed {
        /// Number of tests that ran.
        ran: usize,
    },
    /// At least one test failed.
    Failed {
        /// Number of tests that ran.
        ran: usize,
    },
    /// There was no test, or all were skipped.
    NoneRan,
    /// The test runner did not report a result.
    Broke {
        /// Reason.
        reason: String,
    },
}

impl OwnTests {
    /// Runs the tests and passes on the lines that they print. Blocks until they have ended, or until soon after a
    /// cancellation.
    pub fn run(
        &self,
        cancellation: &Cancellation,
        on_line: &mut dyn FnMut(Stream, &str),
    ) -> TestResult {
        let mut count = self.count.clone();
        let ended = tool::run(&self.command, None, LIMIT, cancellation, &mut |stream, line| {
            (count.read)(&mut count, line);
            on_line(stream, &renamed(line, &self.renames));
        });
        let reason = match ended {
            Ok(status) => return count.result(status.code()),
            Err(ToolError::Cancelled { .. }) => "the tests were interrupted".to_owned(),
            Err(error) => error.to_string(),
        };
        TestResult::Broke { reason }
    }
}

/// Replaces each first text by the second one.
pub(super) fn renamed(text: &str, renames: &[(String, String)]) -> String {
    renames.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Names of the test files of a language.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// Returns true if a file of this name is a test file.
    pub is_test: fn(&str) -> bool,
    /// Directories next to the script in which test files may be.
    pub directories: &'static [&'static str],
    /// Texts in the script itself that show that it contains tests.
    pub signs: &'static [&'static str],
    /// Where tests are looked for, for messages.
    pub places: &'static str,
}

impl Convention {
    /// Returns true if a file is a script with tests, and not itself a test file.
    pub fn has_tests(&self, script: &Path) -> bool {
        let name = script.file_name().unwrap_or_default().to_string_lossy();
        !(self.is_test)(&name) && !self.search(script).is_empty()
    }

    /// Finds the test files of a script.
    ///
    /// # Errors
    ///
    /// [`PrepareError::NoTests`] if there are none.
    pub fn find(&self, script: &Path) -> Result<Vec<PathBuf>, PrepareError> {
        let files = self.search(script);
        if files.is_empty() {
            let (path, hint) = (script.to_owned(), self.places.to_owned());
            return Err(PrepareError::NoTests { path, hint });
        }
        Ok(files)
    }

    /// Test files next to the script, or in a test directory there, that have its name in their name or mention it; and the
    /// script itself if it contains tests.
    fn search(&self, script: &Path) -> Vec<PathBuf> {
        let stem = script.file_stem().unwrap_or_default().to_string_lossy();
        let directory = script.parent().unwrap_or(script);
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut candidates: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        for name in self.directories {
            code_below(&directory.join(name), &mut candidates);
        }
        candidates.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path != script
                && (self.is_test)(&name)
                && path.is_file()
                && (mentions(&name, &stem) || mentions(&text(path), &stem))
        });
        let own = text(script);
        if self.signs.iter().any(|sign| own.contains(sign)) {
            candidates.push(script.to_owned());
        }
        candidates.sort();
        candidates
    }
}

/// Returns true if `text` contains `name` as a word, or as a part of a word between underscores or hyphens.
fn mentions(text: &str, name: &str) -> bool {
    let is_edge = |char: Option<char>| !char.is_some_and(char::is_alphanumeric);
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            is_edge(text[..at].chars().next_back())
                && is_edge(text[at + name.len()..].chars().next())
        })
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Counts the tests that ran, from the output of a test runner.
///
/// Exit codes are not enough: `cargo test`, `node --test` and older versions of `unittest` report success without a test.
#[derive(Clone, Debug)]
pub struct TestCount {
    read: fn(&mut Self, &str),
    /// Number of tests that ran; `None` until the test runner has printed a summary.
    pub ran: Option<usize>,
    /// True if a test failed.
    pub failed: bool,
    /// Test files, for runners that report a file without tests as a test.
    pub files: Vec<PathBuf>,
    /// Number of reported tests that are such files.
    pub empty_files: usize,
}

impl TestCount {
    /// A count that calls `read` with each line of output.
    pub fn new(read: fn(&mut Self, &str)) -> Self {
        Self { read, ran: None, failed: false, files: Vec::new(), empty_files: 0 }
    }

    /// Adds tests that ran.
    pub fn add(&mut self, more: usize) {
        self.ran = Some(self.ran.unwrap_or(0).saturating_add(more));
    }

    fn result(&self, code: Option<i32>) -> TestResult {
        let ran = self.ran.map(|ran| ran.saturating_sub(self.empty_files));
        let reason = match (code, ran) {
            (Some(code), ran) if self.failed && code != 0 => {
                return TestResult::Failed { ran: ran.unwrap_or_default() };
            }
            // With pytest and unittest, exit code 5 means that there was no test.
            (Some(0 | 5), Some(0)) | (Some(5), None) => return TestResult::NoneRan,
            (Some(0), Some(ran)) => return TestResult::Passed { ran },
            (Some(0), None) => {
                "it does not say how many tests ran; leave out arguments that change its output"
                    .to_owned()
            }
            (Some(code), _) => format!("it exited with code {code}"),
            (None, _) => "it was killed by a signal".to_owned(),
        };
        TestResult::Broke { reason }
    }

    /// The count for `cargo test`: `test result: ok. 2 passed; 0 failed; 1 ignored; ..`, once for each test program.
    pub fn cargo() -> Self {
        let read = |count: &mut Self, line: &str| {
            if let Some(result) = line.strip_prefix("test result: ") {
                let (_, counts) = result.split_once(". ").unwrap_or(("", result));
                let (passed, failed) = (before(counts, "passed"), before(counts, "failed"));
                count.failed |= failed > 0;
                count.add(passed.saturating_add(failed));
            }
            // A program that did not even print a result has failed, too.
            count.failed |= line.starts_with("error: test failed")
                || line.starts_with("error: doctest failed")
                || line.starts_with("error: ") && line.ends_with(" failed:");
        };
        // Without any test program, nothing is printed.
        Self { ran: Some(0), ..Self::new(read) }
    }

    /// The count for `unittest`: `Ran 3 tests in 0.1s`, then `OK (skipped=1)` or `FAILED (failures=1, skipped=1)`.
    pub fn unittest() -> Self {
        Self::new(|count, line| {
            if let Some(ran) = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test")) {
                count.add(ran.0.parse().unwrap_or_default());
            } else if count.ran.is_some() && (line.starts_with("OK") || line.starts_with("FAILED"))
            {
                count.failed |= line.starts_with("FAILED");
                let skipped = line.split_once("skipped=").map_or("", |(_, rest)| rest);
                let digits =
                    skipped.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
                count.ran = count.ran.map(|ran| ran.saturating_sub(digits.parse().unwrap_or(0)));
            }
        })
    }

    /// The count for `pytest`: `==== 1 failed, 2 passed, 1 skipped in 0.1s ====`, without the bars if it is quiet.
    pub fn pytest() -> Self {
        Self::new(|count, line| {
            let summary = line.trim_matches(['=', ' ']);
            let Some((counts, _)) = summary.rsplit_once(" in ") else { return };
            if counts == "no tests ran" {
                count.ran = Some(0);
                return;
            }
            let is_count = |part: &str| {
                part.split_once(' ').is_some_and(|(number, _)| number.parse::<usize>().is_ok())
            };
            if !counts.split(", ").all(is_count) {
                return;
            }
            let counts = counts.replace(',', ";");
            let sum = |words: &[&str]| {
                words.iter().map(|word| before(&counts, word)).fold(0, usize::saturating_add)
            };
            let failed = sum(&["failed", "error", "errors"]);
            count.failed = failed > 0;
            count.ran = Some(failed.saturating_add(sum(&["passed", "xfailed", "xpassed"])));
        })
    }

    /// The count for `node --test` with the reporter `spec`: lines such as `ℹ pass 2`. A test file without a test is reported as
    /// a test that passed, before the summary.
    pub fn node(files: Vec<PathBuf>) -> Self {
        let read = |count: &mut Self, line: &str| {
            if let Some(passed) = line.strip_prefix("✔ ") {
                let name = passed.rsplit_once(" (").map_or(passed, |(name, _)| name);
                count.empty_files +=
                    usize::from(count.files.iter().any(|file| file.ends_with(name)));
                return;
            }
            let summary = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# "));
            let Some((what, number)) = summary.and_then(|summary| summary.split_once(' ')) else {
                return;
            };
            let Ok(number) = number.parse::<usize>() else { return };
            match what {
                "pass" => count.add(number),
                "fail" | "cancelled" => {
                    count.failed |= number > 0;
                    count.add(number);
                }
                _ => {}
            }
        };
        Self { files, ..Self::new(read) }
    }
}

/// The number before a word, in `2 passed; 0 failed`.
fn before(counts: &str, word: &str) -> usize {
    let mut parts = counts.split(';').filter_map(|part| part.trim().split_once(' '));
    parts.find(|(_, what)| *what == word).and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    const PYTHON: Convention = Convention {
        is_test: |name| name.starts_with("test_") && name.ends_with(".py"),
        directories: &["tests"],
        signs: &["unittest"],
        places: "in test files",
    };

    #[test]
    fn tests_are_those_that_mention_the_script() {
        let directory = Directory::new("own-tests");
        let script = directory.file("check.py", "");
        for (name, text) in [
            ("test_check.py", ""),
            ("test_checker.py", ""),
            ("test_other.py", "import other"),
            ("test_words.py", "import check"),
            ("tests/unit/test_deep.py", "from check import x"),
            ("tests/node_modules/test_check.py", ""),
            ("more/test_check.py", ""),
            ("check_test.txt", ""),
        ] {
            directory.file(name, text);
        }
        let names = |script: &Path| -> Vec<PathBuf> {
            let root = directory.path("");
            let relative = |path: PathBuf| path.strip_prefix(&root).unwrap().to_owned();
            PYTHON.search(script).into_iter().map(relative).collect()
        };
        let expected = ["test_check.py", "test_words.py", "tests/unit/test_deep.py"];
        assert_eq!(names(&script), expected.map(PathBuf::from));
        assert_eq!(names(&directory.file("alone.py", "x = 1")), [""; 0].map(PathBuf::from));
        let own = directory.file("inside.py", "import unittest");
        assert_eq!(names(&own), [PathBuf::from("inside.py")]);
    }
}

#[cfg(test)]
mod count_tests {
    use super::*;

    #[track_caller]
    fn counts(mut count: TestCount, output: &str, code: i32, expected: TestResult) {
        output.lines().for_each(|line| (count.read)(&mut count, line));
        assert_eq!(count.result(Some(code)), expected, "{output}");
    }

    fn passed(ran: usize) -> TestResult {
        TestResult::Passed { ran }
    }

    fn failed(ran: usize) -> TestResult {
        TestResult::Failed { ran }
    }

    fn broke(code: i32) -> TestResult {
        TestResult::Broke { reason: format!("it exited with code {code}") }
    }

    #[test]
    fn cargo() {
        let one = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n";
        let none = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let bad = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\nerror: test failed, to rerun pass `--bin x`\n";
        let counts =
            |output: &str, code, expected| counts(TestCount::cargo(), output, code, expected);
        counts(&format!("{none}{one}{one}"), 0, passed(4));
        counts(&format!("{none}{none}"), 0, TestResult::NoneRan);
        counts("", 0, TestResult::NoneRan);
        counts(&format!("{one}{bad}"), 101, failed(4));
        counts("running 1 test\nerror: test failed, to rerun pass `--bin x`\n", 101, failed(0));
        counts("error: could not compile `x`\n", 101, broke(101));
    }

    #[test]
    fn unittest() {
        let counts =
            |output: &str, code, expected| counts(TestCount::unittest(), output, code, expected);
        counts("...\nRan 3 tests in 0.1s\n\nOK\n", 0, passed(3));
        counts("Ran 1 test in 0.1s\n\nOK\n", 0, passed(1));
        counts("Ran 3 tests in 0.1s\n\nOK (skipped=3)\n", 0, TestResult::NoneRan);
        counts("Ran 0 tests in 0.0s\n\nOK\n", 0, TestResult::NoneRan);
        counts("Ran 0 tests in 0.0s\n\nNO TESTS RAN\n", 5, TestResult::NoneRan);
        counts("Ran 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n", 1, failed(2));
        counts("/usr/bin/python3: No module named unittest\n", 1, broke(1));
    }

    #[test]
    fn pytest() {
        let counts =
            |output: &str, code, expected| counts(TestCount::pytest(), output, code, expected);
        counts("==== 2 passed, 1 skipped, 1 warning in 0.12s ====\n", 0, passed(2));
        counts("2 passed in 0.12s\n", 0, passed(2));
        counts("==== 1 failed, 2 passed, 1 error in 61.00s (0:01:01) ====\n", 1, failed(4));
        counts("==== 3 skipped in 0.12s ====\n", 0, TestResult::NoneRan);
        counts("==== 3 deselected in 0.12s ====\n", 5, TestResult::NoneRan);
        counts("==== no tests ran in 0.01s ====\n", 5, TestResult::NoneRan);
        counts("==== 1 error in 0.01s ====\n", 2, failed(1));
        counts("ERROR: usage\n", 4, broke(4));
        let mut silent = TestCount::pytest();
        (silent.read)(&mut silent, ". [100%]");
        assert!(matches!(silent.result(Some(0)), TestResult::Broke { .. }));
    }

    #[test]
    fn node() {
        let counts = |output: &str, code, expected| {
            counts(TestCount::node(vec!["/e/check.test.js".into()]), output, code, expected)
        };
        let summary = |pass, fail, skipped| {
            format!(
                "ℹ tests 9\nℹ suites 0\nℹ pass {pass}\nℹ fail {fail}\nℹ cancelled 0\nℹ skipped {skipped}\nℹ todo 0\n"
            )
        };
        counts(&format!("✔ adds (1ms)\n{}", summary(1, 0, 1)), 0, passed(1));
        counts(
            &format!("✔ /e/check.test.js (80.1ms)\n{}", summary(1, 0, 0)),
            0,
            TestResult::NoneRan,
        );
        counts(&format!("✔ check.test.js (80.1ms)\n✔ x (1ms)\n{}", summary(2, 0, 0)), 0, passed(1));
        counts(&summary(0, 0, 2), 0, TestResult::NoneRan);
        counts("# tests 0\n# pass 0\n# fail 0\n", 0, TestResult::NoneRan);
        counts(&summary(1, 1, 0), 1, failed(2));
        counts("node: bad option: --test\n", 9, broke(9));
    }

    #[test]
    fn counts_of_any_size_are_read() {
        let most = usize::MAX;
        for (count, output) in [
            (TestCount::cargo(), format!("test result: FAILED. {most} passed; {most} failed\n")),
            (TestCount::pytest(), format!("{most} failed, {most} passed in 0.1s\n")),
            (TestCount::node(Vec::new()), format!("# pass {most}\n# fail {most}\n")),
        ] {
            counts(count, &output, 1, failed(most));
        }
    }

    #[test]
    fn a_signal_is_no_result() {
        let count = TestCount::cargo();
        assert!(matches!(count.result(None), TestResult::Broke { .. }));
    }
}
