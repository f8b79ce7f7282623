//! Questions to an interpreter: what it is, and which packages it finds.
//!
//! All questions of a run are answered by one start of the interpreter, before the clock of any evaluation starts.

use std::{
    collections::HashMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::interpreter::{ANSWER_LIMIT, INTERPRETER_VARIABLE};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Environment,
        tool::{self, Stream},
    },
};

const SCRIPT: &str = include_str!("probe.py");

/// Separates the parts of a question or of an answer.
const PART: char = '\u{1f}';

/// Separates the items of an answer.
const ITEM: char = '\u{1e}';

/// What decides whether an environment that was built for an interpreter fits another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Implementation and version in short, e.g. `cpython-311`.
    pub(super) tag: String,
    /// Version, e.g. `3.11.7`.
    pub(super) version: String,
    /// Suffix of extension modules, which holds the ABI and the platform, e.g. `.cpython-311-x86_64-linux-gnu.so`.
    pub(super) abi: String,
    /// Whether it has what it takes to make a virtual environment with pip in it.
    pub(super) has_venv: bool,
    /// The file of the interpreter: not that of a virtual environment, and no link.
    pub(super) base: String,
}

impl Identity {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '\t').map(str::to_owned);
        Some(Self {
            tag: parts.next()?,
            version: parts.next()?,
            abi: parts.next()?,
            has_venv: parts.next()? == "venv",
            base: parts.next()?,
        })
    }
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

    /// Adds the question whether `files` of the evaluator in `folder` import the SDK, and whether it is there.
    pub(super) fn sdk(&mut self, folder: &Path, files: &[PathBuf]) {
        self.add("sdk", [folder].into_iter().chain(files.iter().map(PathBuf::as_path)));
    }

    /// Adds the question which modules that a script imports when it starts are missing.
    pub(super) fn missing(&mut self, folder: &Path, script: &Path) {
        self.add("missing", [folder, script]);
    }

    fn add<'a>(&mut self, kind: &str, parts: impl IntoIterator<Item = &'a Path>) {
        let question = question(kind, parts);
        if !self.asked.contains(&question) {
            self.asked.push(question);
        }
    }

    /// Asks an interpreter that sees the variables of `environment`.
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
        let mut command = CommandSpec::new(interpreter).args(["-c", SCRIPT]).args(&self.asked);
        command.clear_env = true;
        let variables = environment.iter();
        command.env =
            variables.map(|(name, value)| (name.to_owned(), Some(value.to_owned()))).collect();
        let mut answers = Lines::default();
        let mut complaint = String::new();
        let status =
            tool::run(&command, ANSWER_LIMIT, cancellation, &mut |stream, line| match stream {
                Stream::Stdout => answers.read(line),
                Stream::Stderr if line.trim().is_empty() => {}
                Stream::Stderr => line.trim().clone_into(&mut complaint),
            });
        let trouble = match (status, answers.identity) {
            (Ok(status), Some(identity)) if status.success() => {
                let real = answers.executable.filter(|it| it.is_absolute() && it.is_file());
                let answers = answers
                    .texts
                    .into_iter()
                    .filter_map(|(number, text)| Some((self.asked.get(number)?.clone(), text)));
                return Ok(Answers { identity, executable: real, answers: answers.collect() });
            }
            (Ok(_), _) => complaint,
            (Err(error), _) => error.to_string(),
        };
        Err(format!(
            "{} does not say which Python 3 it is: {trouble}; point {INTERPRETER_VARIABLE} at another one",
            interpreter.display()
        ))
    }
}

fn question<'a>(kind: &str, parts: impl IntoIterator<Item = &'a Path>) -> OsString {
    let mut question = OsString::from(kind);
    for part in parts {
        question.push(PART.encode_utf8(&mut [0; 4]));
        question.push(part);
    }
    question
}

/// What was read of the output so far.
#[derive(Debug, Default)]
struct Lines {
    identity: Option<Identity>,
    executable: Option<PathBuf>,
    texts: Vec<(usize, String)>,
}

impl Lines {
    fn read(&mut self, line: &str) {
        match line.split_once('\t') {
            Some(("identity", text)) => {
                self.identity = Identity::read(text).or(self.identity.take())
            }
            Some(("executable", text)) => self.executable = Some(text.into()),
            Some(("answer", text)) => {
                let parsed = text
                    .split_once('\t')
                    .and_then(|(number, text)| Some((number.parse().ok()?, text.to_owned())));
                self.texts.extend(parsed);
            }
            _ => {}
        }
    }
}

/// What an interpreter has answered. What it could not tell is missing.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) identity: Identity,
    /// The interpreter behind a wrapper script.
    pub(super) executable: Option<PathBuf>,
    answers: HashMap<OsString, String>,
}

/// Whether an evaluator imports the SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SdkUse {
    /// It does not.
    Unused,
    /// It does, and the interpreter finds it.
    Found,
    /// It does, and the interpreter does not find it or could not tell.
    Missing,
}

/// A module that is imported and not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingModule {
    pub(super) name: String,
    /// Name of the file that imports it.
    pub(super) file: String,
    pub(super) line: String,
}

impl Answers {
    /// The installed version of a distribution.
    pub(super) fn version(&self, distribution: &str) -> Option<&str> {
        self.get("version", [distribution.as_ref()])
    }

    /// Whether an environment marker holds; `None` if that could not be told.
    pub(super) fn marker(&self, marker: &str) -> Option<bool> {
        self.get("marker", [marker.as_ref()])?.parse().ok()
    }

    pub(super) fn sdk(&self, folder: &Path, files: &[PathBuf]) -> SdkUse {
        let parts = [folder].into_iter().chain(files.iter().map(PathBuf::as_path));
        match self.get("sdk", parts) {
            Some("unused") => SdkUse::Unused,
            Some("found") => SdkUse::Found,
            _ => SdkUse::Missing,
        }
    }

    /// Modules that a script imports when it starts and that are not found; empty if that could not be told.
    pub(super) fn missing(&self, folder: &Path, script: &Path) -> Vec<MissingModule> {
        let text = self.get("missing", [folder, script]).unwrap_or_default();
        let item = |item: &str| {
            let mut parts = item.split(PART).map(str::to_owned);
            Some(MissingModule { name: parts.next()?, file: parts.next()?, line: parts.next()? })
        };
        text.split(ITEM).filter(|text| !text.is_empty()).filter_map(item).collect()
    }

    fn get<'a>(&self, kind: &str, parts: impl IntoIterator<Item = &'a Path>) -> Option<&str> {
        self.answers.get(&question(kind, parts)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn a_file_that_cannot_be_read_changes_nothing_for_other_evaluators() {
        let environment = Environment::inherited();
        let Some(python) = environment.find_program("python3") else { return };
        let folder = Folder::new("python-probe");
        let broken = folder.file("one/broken.py", "import os\ndef");
        folder.file("one/only_in_one.py", "");
        let script = folder.file("two/check.py", "import only_in_one");
        let mut questions = Questions::default();
        questions.missing(&folder.path("one"), &broken);
        questions.missing(&folder.path("two"), &script);
        let answers = questions.ask(&python, &environment, &Cancellation::new()).unwrap();
        assert_eq!(answers.missing(&folder.path("one"), &broken), []);
        let missing = answers.missing(&folder.path("two"), &script);
        let names: Vec<&str> = missing.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["only_in_one"]);
    }
}
