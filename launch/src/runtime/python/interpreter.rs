//! Python interpreters: which one is used, what it is, and which packages it has.
//!
//! All questions of a run are answered by one start of the interpreter, before the clock of any evaluation starts.

use std::{
    collections::{BTreeSet, HashMap},
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    executor::{Containment, contain_build},
    process::{Cancellation, CommandSpec},
    runtime::{Entrypoint, Environment, tool},
};

/// Variable that names the interpreter, as a path or a name on `PATH`.
pub(super) const INTERPRETER_VARIABLE: &str = "EVALUATOR_PYTHON";

/// Variable with directories in which the interpreter looks for modules first.
pub(super) const SEARCH_PATH: &str = "PYTHONPATH";

/// Variable with the directory for which pyenv selects a version; by default the working directory.
const PYENV_DIRECTORY: &str = "PYENV_DIR";

/// Time limit for questions to an interpreter.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Returns the first interpreter found: `$EVALUATOR_PYTHON`, the active virtual environment, `python3`, `python`.
pub(super) fn find(environment: &Environment) -> Result<PathBuf, String> {
    if let Some(chosen) = environment.get(INTERPRETER_VARIABLE) {
        return environment.find_program(chosen).ok_or_else(|| {
            format!(
                "{INTERPRETER_VARIABLE} names `{}`, which is not a program; correct or unset it",
                chosen.display()
            )
        });
    }
    // A shell keeps the variable after the directory was deleted.
    let active = environment.get("VIRTUAL_ENV").and_then(|directory| {
        environment.find_program(in_virtual_environment(Path::new(directory)))
    });
    let names: &[&str] = if cfg!(windows) { &["python"] } else { &["python3", "python"] };
    active
        .or_else(|| names.iter().find_map(|name| environment.find_program(name)))
        .ok_or_else(|| {
            format!("python3 was not found on PATH; install Python 3 or point {INTERPRETER_VARIABLE} at it")
        })
}

/// Path of the interpreter in a virtual environment.
pub(super) fn in_virtual_environment(directory: &Path) -> PathBuf {
    directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

const SCRIPT: &str = include_str!("probe.py");

/// Separates the parts of a question.
const PART: &str = "\u{1f}";

/// Properties that two interpreters must share to use the same virtual environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Identity {
    /// Implementation and version in short, e.g. `cpython-311`.
    pub(super) tag: String,
    /// Version, e.g. `3.11.7`.
    pub(super) version: String,
    /// Suffix of extension modules, which holds the ABI and the platform, e.g. `.cpython-311-x86_64-linux-gnu.so`.
    pub(super) abi: String,
    /// True if it can create a virtual environment, and has pip for it.
    pub(super) has_venv: bool,
    /// File of its pip that installs into other environments; `None` if it has no pip, or an old one.
    #[serde(default)]
    pub(super) pip: Option<PathBuf>,
    /// Wheel of setuptools that environments need which have no pip of their own; `None` from Python 3.12 on.
    #[serde(default)]
    pub(super) setuptools: Option<PathBuf>,
    /// File of the interpreter itself: not that of a virtual environment, and not a link.
    pub(super) base: String,
    /// Files that it reads, for a sandbox.
    #[serde(default)]
    pub(super) files: Files,
}

/// Files that an interpreter reads besides evaluators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Files {
    /// Directories of the installation, of the virtual environment, and of the user's packages.
    pub(super) directories: Vec<PathBuf>,
    /// Directory in which it looks for the user's packages, by default `~/.local`; `None` if there are none.
    pub(super) user_base: Option<PathBuf>,
}

/// Output of the script, in one line.
#[derive(Deserialize)]
struct Report {
    identity: Identity,
    executable: PathBuf,
    /// One for each question; `null` if it cannot be answered.
    answers: Vec<Value>,
}

/// Questions that one start of an interpreter answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    asked: Vec<OsString>,
}

impl Questions {
    /// Adds the question for the installed version of a distribution.
    pub(super) fn version(&mut self, distribution: &str) {
        self.add("version", [distribution.as_ref()]);
    }

    /// Adds the question whether an environment marker holds.
    pub(super) fn marker(&mut self, marker: &str) {
        self.add("marker", [marker.as_ref()]);
    }

    /// Adds the question whether `files` of an evaluator import the SDK, and whether it is there.
    pub(super) fn sdk(&mut self, script: &Path, files: &[PathBuf]) {
        self.add("sdk", sdk_parts(script, files));
    }

    /// Adds the question which modules that a script imports when it starts are missing.
    pub(super) fn missing(&mut self, script: &Path) {
        self.add("missing", [directory(script), script]);
    }

    fn add<'a>(&mut self, kind: &str, parts: impl IntoIterator<Item = &'a Path>) {
        let question = question(kind, parts);
        if !self.asked.contains(&question) {
            self.asked.push(question);
        }
    }

    /// Asks the interpreter of the working directory, which gets the variables of `environment`.
    ///
    /// # Errors
    ///
    /// The interpreter does not start, or is not Python 3.
    pub(super) fn ask(
        self,
        interpreter: &Path,
        environment: &Environment,
        cancellation: &Cancellation,
    ) -> Result<Answers, String> {
        let mut command = self.command(interpreter, environment);
        // The version that pyenv selects for the working directory: the name of one that is installed.
        if let (Ok(here), None) = (env::current_dir(), environment.get(PYENV_DIRECTORY)) {
            command = command.env(PYENV_DIRECTORY, here);
        }
        self.answers_of(&command, interpreter, cancellation)
    }

    /// The command that asks an interpreter, outside of the working directory.
    pub(super) fn command(&self, interpreter: &Path, environment: &Environment) -> CommandSpec {
        let mut command = environment.give_to(self.bare_command(interpreter));
        command.cwd = Some(tool::neutral_directory());
        if let Some(path) = environment.get(SEARCH_PATH).and_then(absolute_search_path) {
            command = command.env(SEARCH_PATH, path);
        }
        command
    }

    /// The command that asks an interpreter in a sandbox, which shows these paths only.
    ///
    /// # Errors
    ///
    /// Why this machine cannot contain it.
    pub(super) fn contained_command(
        &self,
        interpreter: &Path,
        environment: &Environment,
        containment: &Containment,
        read: Vec<PathBuf>,
    ) -> Result<CommandSpec, String> {
        let mut command = self.command(interpreter, environment);
        // The root directory of a sandbox is another one.
        command.cwd = Some("/usr".into());
        contain_build(command, containment, read, Vec::new())
    }

    /// Returns true if nothing was asked.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The command that asks an interpreter, with the inherited environment.
    pub(super) fn bare_command(&self, interpreter: &Path) -> CommandSpec {
        CommandSpec::new(interpreter).args(["-c", SCRIPT]).args(&self.asked)
    }

    /// Runs the command, possibly as an executor starts it.
    ///
    /// # Errors
    ///
    /// The interpreter does not start, or is not Python 3.
    pub(super) fn answers_of(
        self,
        command: &CommandSpec,
        interpreter: &Path,
        cancellation: &Cancellation,
    ) -> Result<Answers, String> {
        self.ask_by(command, cancellation).map_err(|problem| {
            format!(
                "{} does not report which Python 3 it is: {problem}; point {INTERPRETER_VARIABLE} at another one",
                interpreter.display()
            )
        })
    }

    /// Runs the command, possibly as an executor starts it.
    ///
    /// # Errors
    ///
    /// The last line of its standard error, or why it does not start.
    pub(super) fn ask_by(
        self,
        command: &CommandSpec,
        cancellation: &Cancellation,
    ) -> Result<Answers, String> {
        match tool::output(command, ANSWER_LIMIT, cancellation) {
            Ok(output) => {
                // Other code may print at the start and at the end of the interpreter.
                let report = |line: &str| serde_json::from_str::<Report>(line).ok();
                let report = output.stdout.lines().find_map(report);
                match report.filter(|_| output.status.success()) {
                    Some(Report { identity, executable, answers }) => {
                        let executable =
                            Some(executable).filter(|it| it.is_absolute() && it.is_file());
                        let answers = self.asked.into_iter().zip(answers).collect();
                        Ok(Answers { identity, executable, answers })
                    }
                    None => {
                        let mut lines = output.stderr.lines().rev().map(str::trim);
                        Err(lines.find(|line| !line.is_empty()).unwrap_or_default().to_owned())
                    }
                }
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The same search path for an interpreter that starts in another directory.
fn absolute_search_path(path: &OsStr) -> Option<OsString> {
    let here = env::current_dir().ok()?;
    env::join_paths(env::split_paths(path).map(|directory| here.join(directory))).ok()
}

/// Directory of an evaluator, where the interpreter looks for modules first.
fn directory(script: &Path) -> &Path {
    script.parent().unwrap_or(script)
}

fn sdk_parts<'a>(script: &'a Path, files: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    [directory(script)].into_iter().chain(files.iter().map(PathBuf::as_path))
}

fn question<'a>(kind: &str, parts: impl IntoIterator<Item = &'a Path>) -> OsString {
    let mut question = OsString::from(kind);
    for part in parts {
        question.push(PART);
        question.push(part);
    }
    question
}

/// Answers of an interpreter. A question that it cannot answer has none.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) identity: Identity,
    /// The interpreter behind a wrapper script.
    pub(super) executable: Option<PathBuf>,
    pub(super) answers: HashMap<OsString, Value>,
}

/// Whether an evaluator imports the SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SdkUse {
    /// It does not import the SDK.
    Unused,
    /// It imports the SDK, which is installed.
    Found,
    /// It imports the SDK, which is not installed or cannot be looked up.
    Missing,
}

/// A module that is imported and not found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct MissingModule {
    pub(super) name: String,
    /// Name of the file that imports it.
    pub(super) file: String,
    pub(super) line: u32,
    /// Name of the file of the evaluator that changes where modules are looked for, so that it may find the module when
    /// it runs.
    path_changed_in: Option<String>,
}

impl MissingModule {
    /// Returns why the evaluator may find the module when it runs; `None` if it cannot.
    pub(super) fn may_be_found(&self, entrypoint: &Entrypoint) -> Option<String> {
        let is_set = entrypoint.variables.iter().any(|name| name == SEARCH_PATH);
        let changed =
            || Some(format!("{} changes the search path", self.path_changed_in.as_ref()?));
        is_set.then(|| format!("its entry sets {SEARCH_PATH}")).or_else(changed)
    }
}

impl Answers {
    /// The installed version of a distribution.
    pub(super) fn version(&self, distribution: &str) -> Option<&str> {
        self.get("version", [distribution.as_ref()])?.as_str()
    }

    /// Returns whether an environment marker holds; `None` if the interpreter cannot tell.
    pub(super) fn marker(&self, marker: &str) -> Option<bool> {
        self.get("marker", [marker.as_ref()])?.as_bool()
    }

    pub(super) fn sdk(&self, script: &Path, files: &[PathBuf]) -> SdkUse {
        match self.get("sdk", sdk_parts(script, files)).and_then(Value::as_str) {
            Some("unused") => SdkUse::Unused,
            Some("found") => SdkUse::Found,
            _ => SdkUse::Missing,
        }
    }

    /// Modules that a script imports when it starts and that are not found; empty if the interpreter cannot tell.
    pub(super) fn missing(&self, script: &Path) -> Vec<MissingModule> {
        let answer = self.get("missing", [directory(script), script]).cloned();
        answer.and_then(|answer| serde_json::from_value(answer).ok()).unwrap_or_default()
    }

    fn get<'a>(&self, kind: &str, parts: impl IntoIterator<Item = &'a Path>) -> Option<&Value> {
        self.answers.get(&question(kind, parts))
    }
}

/// Names and versions of the packages that are installed for an interpreter, sorted: those of its virtual environment,
/// and of the installation it was made from. Each has a directory or file of that name next to its modules.
///
/// Packages that are found by other ways (`PYTHONPATH`, `.pth` files) are not listed.
pub(super) fn installed_for(interpreter: &Path) -> Vec<String> {
    layers(interpreter).flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The packages of [`installed_for`], those of a virtual environment first: they hide those of the installation it was made from.
pub(super) fn layers(interpreter: &Path) -> impl Iterator<Item = BTreeSet<String>> {
    let programs = [Some(interpreter.to_owned()), interpreter.canonicalize().ok()];
    programs.into_iter().flatten().filter_map(|program| {
        let prefix = program.parent()?.parent()?;
        let mut found = BTreeSet::new();
        list(&prefix.join("Lib/site-packages"), &mut found);
        for lib in ["lib", "lib64", "local/lib"].map(|lib| prefix.join(lib)) {
            for python in names(&lib).filter(|name| name.starts_with("python3")) {
                for packages in ["site-packages", "dist-packages"] {
                    list(&lib.join(&python).join(packages), &mut found);
                }
            }
        }
        Some(found)
    })
}

/// Names and versions of the packages in a directory, as [`installed_for`] lists them.
pub(super) fn installed_in(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    list(directory, &mut found);
    found
}

fn list(packages: &Path, found: &mut BTreeSet<String>) {
    let describes = |name: &String| name.ends_with(".dist-info") || name.ends_with(".egg-info");
    found.extend(names(packages).filter(describes));
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn the_variable_wins_over_the_virtual_environment_which_wins_over_the_path() {
        let directory = Directory::new("python-order");
        let chosen = directory.program("chosen/pypy");
        let venv = directory.program("venv/bin/python");
        directory.program("bin/python");
        let python3 = directory.program("bin/python3");

        let environment = Environment::new([("PATH", directory.path("bin"))]);
        assert_eq!(find(&environment).unwrap(), python3);
        let environment = environment.with("VIRTUAL_ENV", directory.path("venv"));
        assert_eq!(find(&environment).unwrap(), venv);
        let environment = environment.with("EVALUATOR_PYTHON", &chosen);
        assert_eq!(find(&environment).unwrap(), chosen);
    }

    #[test]
    fn a_deleted_virtual_environment_is_passed_over() {
        let directory = Directory::new("python-deleted-venv");
        let python = directory.program("bin/python");
        let environment = Environment::new([
            ("PATH", directory.path("bin")),
            ("VIRTUAL_ENV", directory.path("gone")),
        ]);
        assert_eq!(find(&environment).unwrap(), python);
    }

    #[test]
    fn a_wrong_variable_is_an_error_not_a_silent_fallback() {
        let environment = Environment::inherited().with("EVALUATOR_PYTHON", "python-9-not-here");
        assert_eq!(
            find(&environment).unwrap_err(),
            "EVALUATOR_PYTHON names `python-9-not-here`, which is not a program; correct or unset it"
        );
    }

    #[test]
    fn without_an_interpreter_the_hint_says_what_to_install() {
        let reason = find(&Environment::default()).unwrap_err();
        assert_eq!(
            reason,
            "python3 was not found on PATH; install Python 3 or point EVALUATOR_PYTHON at it"
        );
    }
}

#[cfg(all(test, unix))]
mod distributions_tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn an_environment_has_its_own_packages_and_those_below_it() {
        let directory = Directory::new("python-distributions");
        let system = directory.program("usr/bin/python3.12");
        directory.file("usr/lib/python3/dist-packages/six-1.16.0.egg-info", "");
        directory.file("usr/lib/python3.12/os.py", "");
        directory.file("venv/lib/python3.12/site-packages/pydantic-2.7.0.dist-info/RECORD", "");
        directory.file("venv/lib/python3.12/site-packages/pydantic/main.py", "");
        directory.file("venv/bin/activate", "");
        std::os::unix::fs::symlink(&system, directory.path("venv/bin/python")).unwrap();
        assert_eq!(
            installed_for(&directory.path("venv/bin/python")),
            ["pydantic-2.7.0.dist-info", "six-1.16.0.egg-info"]
        );
        assert_eq!(installed_for(&system), ["six-1.16.0.egg-info"]);
        assert!(installed_for(Path::new("python3")).is_empty());
    }
}

#[cfg(test)]
mod probe_tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn a_file_that_cannot_be_read_changes_nothing_for_other_evaluators() {
        let environment = Environment::inherited();
        let Some(python) = environment.find_program("python3") else { return };
        let directory = Directory::new("python-probe");
        let broken = directory.file("one/broken.py", "import os\ndef");
        directory.file("one/only_in_one.py", "");
        let script = directory.file("two/check.py", "import only_in_one");
        let mut questions = Questions::default();
        questions.missing(&broken);
        questions.missing(&script);
        let answers = questions.ask(&python, &environment, &Cancellation::new()).unwrap();
        assert_eq!(answers.missing(&broken), []);
        let missing = answers.missing(&script);
        let names: Vec<&str> = missing.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["only_in_one"]);
    }
}
