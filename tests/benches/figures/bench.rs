//! The measured programs and their configurations, for all parts, with progress on standard error.

use std::{
    cell::OnceCell,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_tests::bench::{
    build,
    directory::BenchDirectory,
    measure::{self, Usage},
    peers,
};

/// The evaluators of `tests/fixtures/measured`, in Rust and in Python.
pub(crate) const EVALUATORS: [&str; 5] =
    ["answer_length", "tools_respond", "answered", "tools_work", "no_repeats"];

/// The program of the evaluators in Rust.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_measured");

/// The command that has them in itself.
pub(crate) const LINKED: &str = env!("CARGO_BIN_EXE_measured-command");

pub(crate) struct Bench {
    pub(crate) directory: BenchDirectory,
    evaluator: PathBuf,
    compares: bool,
    agentevals: OnceCell<Option<PathBuf>>,
    python: OnceCell<Option<PathBuf>>,
}

impl Bench {
    /// Builds the measured programs. Without `compares`, nothing is installed for comparison.
    pub(crate) fn new(compares: bool) -> Self {
        Self {
            directory: BenchDirectory::new(),
            evaluator: build::evaluator(),
            compares,
            agentevals: OnceCell::new(),
            python: OnceCell::new(),
        }
    }

    /// Our command.
    pub(crate) fn evaluator(&self, arguments: &[&Path]) -> Command {
        run(&self.evaluator, arguments)
    }

    /// Our command with saved runs.
    pub(crate) fn saved(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(&self.evaluator);
        command.args(arguments);
        command
    }

    /// Our command, with evaluators linked into it.
    pub(crate) fn linked(&self, arguments: &[&Path]) -> Command {
        run(Path::new(LINKED), arguments)
    }

    /// The command that is compared with.
    pub(crate) fn agentevals(&self, arguments: &[&Path]) -> Option<Command> {
        let installed = || self.compares.then(peers::agentevals).flatten();
        let program = self.agentevals.get_or_init(installed).as_ref()?;
        Some(run(program, arguments))
    }

    /// An interpreter that has the SDK.
    pub(crate) fn python(&self) -> Option<&Path> {
        self.python.get_or_init(peers::python).as_deref()
    }

    /// Measures the median of `times` runs; the report is in the directory, under `name`.
    pub(crate) fn measure(&self, report: &str, times: usize, command: &Command) -> Usage {
        eprintln!("measuring {report}: {times} of {} ...", command.get_program().display());
        measure::measure(times, &self.directory.file(report), command)
    }

    /// Measures ours, after a run that does not count: it builds and fills caches.
    pub(crate) fn measure_warm(&self, report: &str, times: usize, command: &Command) -> Usage {
        let _ = measure::measure(1, &self.directory.file(report), command);
        self.measure(report, times, command)
    }

    /// Writes a configuration: before the evaluators stands the head, and each entry says more than its name.
    pub(crate) fn configuration(
        &self,
        name: &str,
        head: &str,
        evaluators: &[&str],
        entry: impl Fn(&str) -> String,
    ) -> PathBuf {
        let entry = |name: &&str| format!("  - {{name: {name}, {}}}\n", entry(name));
        let entries: String = evaluators.iter().map(entry).collect();
        self.directory.write(name, &format!("evaluators:\n{head}{entries}"))
    }
}

/// Keys of the entry of the evaluator in Python.
pub(crate) fn in_python(name: &str) -> String {
    let file = format!("tests/fixtures/measured/python/{name}.py");
    format!("type: code, path: {:?}", build::root().join(file))
}

/// Keys of the entry of the evaluator in Rust.
pub(crate) fn in_rust(_name: &str) -> String {
    format!("type: code, path: {PROGRAM:?}")
}

fn run(program: &Path, arguments: &[&Path]) -> Command {
    let mut command = Command::new(program);
    command.arg("run").args(arguments).args(["-o", "json"]);
    command
}
