//! How many tests ran, by what the test runner prints.
//!
//! Exit codes do not tell: `cargo test`, `node --test` and older versions of `unittest` report success without a test.

use std::path::{Path, PathBuf};

use super::TestResult;

/// A program that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRunner {
    /// `cargo test`.
    Cargo,
    /// Python's `unittest`.
    Unittest,
    /// `pytest`.
    Pytest,
    /// `node --test`, with its reporter `spec`.
    Node,
}

/// Counts while the output is read.
#[derive(Debug)]
pub(super) struct Count<'a> {
    runner: TestRunner,
    files: &'a [PathBuf],
    /// `None` until the test runner has printed a summary.
    ran: Option<usize>,
    failed: bool,
    /// Files without a test, which Node.js counts as tests.
    empty_files: usize,
}

impl<'a> Count<'a> {
    pub(super) fn new(runner: TestRunner, files: &'a [PathBuf]) -> Self {
        Self { runner, files, ran: None, failed: false, empty_files: 0 }
    }

    pub(super) fn line(&mut self, line: &str) {
        match self.runner {
            TestRunner::Cargo => self.cargo(line),
            TestRunner::Unittest => self.unittest(line),
            TestRunner::Pytest => self.pytest(line),
            TestRunner::Node => self.node(line),
        }
    }

    /// The result, with the exit code of the test runner.
    pub(super) fn result(&self, code: Option<i32>) -> TestResult {
        let ran = self.ran.map(|ran| ran.saturating_sub(self.empty_files));
        match (code, ran) {
            // Exit code 5 of pytest and unittest: there was no test.
            (Some(5), None | Some(0)) if self.runner != TestRunner::Cargo => TestResult::NoneRan,
            (Some(0), Some(0)) => TestResult::NoneRan,
            (Some(0), Some(ran)) => TestResult::Passed { ran },
            // Nothing was built that could have been run.
            (Some(0), None) if self.runner == TestRunner::Cargo => TestResult::NoneRan,
            (Some(0), None) => TestResult::Broke {
                reason:
                    "it does not say how many tests ran; leave out arguments that change its output"
                        .to_owned(),
            },
            (Some(_), ran) if self.failed => TestResult::Failed { ran: ran.unwrap_or_default() },
            (Some(code), _) => {
                TestResult::Broke { reason: format!("it ended with exit code {code}") }
            }
            (None, _) => TestResult::Broke { reason: "it was ended by a signal".to_owned() },
        }
    }

    fn add(&mut self, more: usize) {
        self.ran = Some(self.ran.unwrap_or(0).saturating_add(more));
    }

    /// `test result: ok. 2 passed; 0 failed; 1 ignored; ..`, once for each program.
    fn cargo(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let (_, counts) = result.split_once(". ").unwrap_or(("", result));
            let (passed, failed) = (before(counts, "passed"), before(counts, "failed"));
            self.failed |= failed > 0;
            self.add(passed.saturating_add(failed));
        }
        // A program that did not even print a result has failed, too.
        self.failed |= line.starts_with("error: test failed")
            || line.starts_with("error: doctest failed")
            || line.starts_with("error: ") && line.ends_with(" failed:");
    }

    /// `Ran 3 tests in 0.1s`, then `OK (skipped=1)` or `FAILED (failures=1, skipped=1)`.
    fn unittest(&mut self, line: &str) {
        if let Some(ran) = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test")) {
            self.add(ran.0.parse().unwrap_or_default());
        } else if self.ran.is_some() && (line.starts_with("OK") || line.starts_with("FAILED")) {
            self.failed |= line.starts_with("FAILED");
            let skipped = line.split_once("skipped=").map_or("", |(_, rest)| rest);
            let digits = skipped.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            self.ran = self.ran.map(|ran| ran.saturating_sub(digits.parse().unwrap_or(0)));
        }
    }

    /// `==== 1 failed, 2 passed, 1 skipped in 0.1s ====`, without the bars if it is quiet.
    fn pytest(&mut self, line: &str) {
        let summary = line.trim_matches(['=', ' ']);
        let Some((counts, _)) = summary.rsplit_once(" in ") else { return };
        if counts == "no tests ran" {
            self.ran = Some(0);
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
        self.failed = failed > 0;
        self.ran = Some(failed.saturating_add(sum(&["passed", "xfailed", "xpassed"])));
    }

    /// Lines such as `ℹ pass 2`. A file without a test is one that has passed.
    fn node(&mut self, line: &str) {
        if let Some(passed) = line.strip_prefix("✔ ") {
            let name = passed.rsplit_once(" (").map_or(passed, |(name, _)| name);
            let is_file = |file: &PathBuf| file.ends_with(Path::new(name));
            self.empty_files += usize::from(self.files.iter().any(is_file));
            return;
        }
        let Some(count) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else {
            return;
        };
        match count.split_once(' ').map(|(what, number)| (what, number.parse::<usize>())) {
            Some(("pass", Ok(number))) => self.add(number),
            Some(("fail" | "cancelled", Ok(number))) => {
                self.failed |= number > 0;
                self.add(number);
            }
            _ => {}
        }
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

    #[track_caller]
    fn counts(runner: TestRunner, output: &str, code: i32, expected: TestResult) {
        let files = [PathBuf::from("/e/check.test.js")];
        let mut count = Count::new(runner, &files);
        output.lines().for_each(|line| count.line(line));
        assert_eq!(count.result(Some(code)), expected, "{output}");
    }

    fn passed(ran: usize) -> TestResult {
        TestResult::Passed { ran }
    }

    fn failed(ran: usize) -> TestResult {
        TestResult::Failed { ran }
    }

    fn broke(code: i32) -> TestResult {
        TestResult::Broke { reason: format!("it ended with exit code {code}") }
    }

    #[test]
    fn cargo() {
        let one = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n";
        let none = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let bad = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\nerror: test failed, to rerun pass `--bin x`\n";
        let counts =
            |output: &str, code, expected| counts(TestRunner::Cargo, output, code, expected);
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
            |output: &str, code, expected| counts(TestRunner::Unittest, output, code, expected);
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
            |output: &str, code, expected| counts(TestRunner::Pytest, output, code, expected);
        counts("==== 2 passed, 1 skipped, 1 warning in 0.12s ====\n", 0, passed(2));
        counts("2 passed in 0.12s\n", 0, passed(2));
        counts("==== 1 failed, 2 passed, 1 error in 61.00s (0:01:01) ====\n", 1, failed(4));
        counts("==== 3 skipped in 0.12s ====\n", 0, TestResult::NoneRan);
        counts("==== 3 deselected in 0.12s ====\n", 5, TestResult::NoneRan);
        counts("==== no tests ran in 0.01s ====\n", 5, TestResult::NoneRan);
        counts("==== 1 error in 0.01s ====\n", 2, failed(1));
        counts("ERROR: usage\n", 4, broke(4));
        let mut silent = Count::new(TestRunner::Pytest, &[]);
        silent.line(". [100%]");
        assert!(matches!(silent.result(Some(0)), TestResult::Broke { .. }));
    }

    #[test]
    fn node() {
        let counts =
            |output: &str, code, expected| counts(TestRunner::Node, output, code, expected);
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
        for (runner, output) in [
            (TestRunner::Cargo, format!("test result: FAILED. {most} passed; {most} failed\n")),
            (TestRunner::Pytest, format!("{most} failed, {most} passed in 0.1s\n")),
            (TestRunner::Node, format!("# pass {most}\n# fail {most}\n")),
        ] {
            counts(runner, &output, 1, failed(most));
        }
    }

    #[test]
    fn a_signal_is_no_result() {
        let count = Count::new(TestRunner::Cargo, &[]);
        assert!(matches!(count.result(None), TestResult::Broke { .. }));
    }
}
