//! Exports and their targets.

use std::path::Path;

use super::program::{CommandLine, ExportError, Program};

/// Generator of the files with which a host runs an evaluator.
#[derive(Debug)]
pub(crate) struct Exporter {
    /// Description of the files.
    pub(crate) about: &'static str,
    /// Returns the files.
    pub(crate) files: fn(&Job<'_>) -> Result<Export, ExportError>,
}

/// An evaluator to be exported.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The evaluator.
    pub(crate) program: &'a Program,
    /// Its command line.
    pub(crate) command: CommandLine,
    /// Directory of the files, an absolute path.
    pub(crate) directory: &'a Path,
    /// Line that says which command wrote a file.
    pub(crate) origin: &'a Origin,
}

/// Files with which a host runs an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// The files, in reading order.
    pub files: Vec<ExportedFile>,
    /// Instructions for the user, one line each.
    pub usage: Vec<String>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// File name.
    pub name: String,
    /// Content.
    pub text: String,
}

impl Export {
    /// Adds a file.
    pub(crate) fn file(mut self, name: impl Into<String>, text: String) -> Self {
        self.files.push(ExportedFile { name: name.into(), text });
        self
    }

    /// Adds an instruction.
    pub(crate) fn usage(mut self, line: impl Into<String>) -> Self {
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
pub(crate) const MARK: &str = "Written by `evaluator export --for ";

/// Line in exported files that says which command wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub(crate) line: String,
}

impl Origin {
    /// Returns the line, without a line feed.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }
}
