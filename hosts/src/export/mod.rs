//! Exports: the files with which another host runs an evaluator.
//!
//! | file | contents |
//! |---|---|
//! | `program` | an evaluator as a command line, and whether a host can run it |
//! | `text` | text for Python, YAML and JSON; templates |
//! | `write` | writing files without overwriting those of users |
//!
//! Exports keep promises that their hosts do not keep. ADK ignores metrics that break: exported ones fail the case and
//! say why. AgentV records PASS for a program that is killed or prints no JSON object: a shell guards the program, and
//! ends it when AgentV kills the shell. promptfoo treats a failure without a reason as a pass: exported assertions
//! always give a reason. Exported files name the program by its absolute path, because hosts start them in directories
//! of their own choice.

mod program;
pub(super) mod text;
mod write;

use std::path::Path;

use super::{ForeignHost, HOSTS};

pub use evaluator_protocol::Contract;
pub(super) use program::{CommandLine, utf8};
pub use program::{ExportError, Language, Program, Reads};
#[doc(hidden)]
pub use text::{path_segment, quoted};
pub use write::{WriteError, copy, copy_of, write};

/// Generator of the files with which a host runs an evaluator.
#[derive(Debug)]
pub(crate) struct Exporter {
    /// Description of the files.
    pub(super) about: &'static str,
    /// Returns the files.
    pub(super) files: fn(&Job<'_>) -> Result<Export, ExportError>,
}

/// An evaluator to be exported.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The evaluator.
    pub(super) program: &'a Program,
    /// Its command line.
    pub(super) command: CommandLine,
    /// Directory of the files, an absolute path.
    pub(super) directory: &'a Path,
    /// Line that says which command wrote a file.
    pub(super) origin: &'a Origin,
}

/// Files with which a host runs an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The files, in reading order.
    pub files: Vec<ExportedFile>,
    /// Instructions for the user, one line each.
    pub usage: Vec<String>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFile {
    /// File name.
    pub name: String,
    /// Content.
    pub text: String,
}

impl Export {
    /// Adds a file.
    pub(super) fn file(mut self, name: impl Into<String>, text: String) -> Self {
        self.files.push(ExportedFile { name: name.into(), text });
        self
    }

    /// Adds an instruction.
    pub(super) fn usage(mut self, line: impl Into<String>) -> Self {
        self.usage.push(line.into());
        self
    }

    /// Adds the files of another evaluator. Equal instructions are kept once.
    pub fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        for line in other.usage {
            if !self.usage.contains(&line) {
                self.usage.push(line);
            }
        }
    }
}

/// Start of the line that every exported file contains near its beginning, and no other file.
const MARK: &str = "Written by `evaluator export --for ";

/// Line in exported files that says which command wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    line: String,
}

impl Origin {
    /// The command `evaluator export --for HOST` with these arguments, of a version.
    #[must_use]
    pub fn new(host: &ForeignHost, arguments: &[String], version: &str) -> Self {
        let words: Vec<_> = arguments.iter().map(|argument| shell_words::quote(argument)).collect();
        // One line whatever the file names contain, because code follows it.
        let command = text::one_line(&words.join(" ")).replace('`', "'");
        let host = host.name;
        Self {
            line: format!(
                "{MARK}{host} {command}` ({version}). Changes are lost when it is run again."
            ),
        }
    }

    /// Returns the line, without a line feed.
    pub(super) fn line(&self) -> &str {
        &self.line
    }
}

/// Returns the hosts that evaluators can be exported for, each with a description of the files.
pub fn targets() -> impl Iterator<Item = (&'static ForeignHost, &'static str)> {
    HOSTS.iter().copied().filter_map(|host| Some((host, host.exporter.as_ref()?.about)))
}

/// Returns the hosts that evaluators can be exported for without further information if they read documents of `reads`.
pub fn targets_of(reads: Reads) -> impl Iterator<Item = &'static ForeignHost> {
    targets().map(|(host, _)| host).filter(move |host| reads.includes(host.contract))
}

/// Returns the files with which `host` runs `program`, to be written to `directory`, an absolute path. Deterministic.
///
/// # Errors
///
/// [`ExportError`]: the evaluator does not read the documents of the host, or its command line is not text.
pub fn export(
    program: &Program,
    host: &'static ForeignHost,
    directory: &Path,
    origin: &Origin,
) -> Result<Export, ExportError> {
    let Some(exporter) = &host.exporter else {
        return Err(ExportError(format!("there is no export for {}", host.name)));
    };
    program.check(host)?;
    let command = program.command_line()?;
    (exporter.files)(&Job { program, command, directory, origin })
}

#[cfg(test)]
mod tests;
