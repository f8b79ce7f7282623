//! An evaluator as a command line, and for whom it can be exported.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use evaluator_protocol::Contract;

use super::{Target, text};
use crate::process::CommandSpec;

/// Variables that cargo sets for what it runs, and that a program which was installed does not have either.
const CARGOS_OWN: [&str; 3] = ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "OUT_DIR"];

/// An evaluator that is ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// What it is written in.
    pub language: Language,
    /// What starts it, for one document.
    pub command: CommandSpec,
    /// Whose documents it reads, if that is known.
    pub contract: Option<Reads>,
    /// What a configuration names: the file or folder, as it was given.
    pub entrypoint: PathBuf,
}

/// What an evaluator is written in, as far as it matters to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// A script that agentevals starts by itself, since it is called `.py`, `.js` or `.ts`.
    Script,
    /// Another file for an interpreter.
    Interpreted,
    /// A program that starts by itself.
    Native,
}

/// Whose documents an evaluator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reads {
    /// Those of any host: it is of the default contract, and knows the others.
    All,
    /// Those of one contract.
    One(Contract),
}

/// A command line as it is written into files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
}

/// Why an evaluator cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The host sends documents that it does not read.
    #[error("`{name}` reads documents of {reads}, and {target} sends {sent}; {hint}")]
    DoesNotFit {
        /// The evaluator.
        name: String,
        /// Whose documents it reads.
        reads: Contract,
        /// The host.
        target: Target,
        /// What that sends, in words.
        sent: &'static str,
        /// What can be done.
        hint: &'static str,
    },
    /// No text file can say how it is started.
    #[error("{}: this is not UTF-8, and no file that other tools read can name it; rename it", .text.display())]
    NotText {
        /// The path, argument or variable.
        text: OsString,
    },
    /// It has a name of which no file name can be made.
    #[error("`{name}` is no name for a file; rename the evaluator")]
    BadName {
        /// The evaluator's name.
        name: String,
    },
}

impl Program {
    /// A program of that name.
    pub fn new(
        name: impl Into<String>,
        entrypoint: impl Into<PathBuf>,
        language: Language,
        command: CommandSpec,
    ) -> Self {
        let contract = match language {
            Language::Native => None,
            // They were written with an SDK of agentevals, or against its documents: no other host can name such a file.
            Language::Script | Language::Interpreted => Some(Reads::One(Contract::Agentevals)),
        };
        Self { name: name.into(), language, command, contract, entrypoint: entrypoint.into() }
    }

    /// The same with what is known of the documents that it reads.
    #[must_use]
    pub fn reads(mut self, contract: Reads) -> Self {
        self.contract = Some(contract);
        self
    }

    /// Whether the documents of a host are those that it reads.
    pub(super) fn check(&self, target: Target) -> Result<(), ExportError> {
        if !text::is_file_name(&self.name) {
            return Err(ExportError::BadName { name: self.name.clone() });
        }
        let reads = match self.contract {
            Some(Reads::One(reads)) if reads != target.contract() => reads,
            _ => return Ok(()),
        };
        Err(ExportError::DoesNotFit {
            name: self.name.clone(),
            reads,
            target,
            sent: match target {
                Target::Agentevals => "those of agentevals",
                Target::AgentV => "those of AgentV",
                Target::Adk => "those of ADK",
                Target::Agenta => "those of Agenta",
                Target::Promptfoo => "none (what is exported for it makes one of AgentV)",
            },
            hint: if reads == Contract::Agentevals {
                "evaluators of this SDK's default contract read those of every host; if this one does, too, say so with \
                 `--contract`"
            } else {
                "evaluators of the default contract read those of every host"
            },
        })
    }

    /// Its command line as text.
    pub(super) fn command_line(&self) -> Result<CommandLine, ExportError> {
        let words = std::iter::once(&self.command.program).chain(&self.command.args);
        let set = self.command.env.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let needed = set.filter(|(name, _)| !CARGOS_OWN.iter().any(|own| *name == OsStr::new(own)));
        Ok(CommandLine {
            words: words.map(|word| utf8(word)).collect::<Result<_, _>>()?,
            environment: needed
                .map(|(name, value)| Ok((utf8(name)?, utf8(value)?)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The file that its configuration names, absolute.
    pub(super) fn file(&self) -> Result<String, ExportError> {
        let file = self.entrypoint.canonicalize().unwrap_or_else(|_| self.entrypoint.clone());
        utf8(file.as_os_str())
    }
}

impl Language {
    /// That of a file; `is_native` where it needs no interpreter.
    #[must_use]
    pub fn of(path: &Path, is_native: bool) -> Self {
        let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            _ if is_native => Self::Native,
            Some("py" | "js" | "ts") => Self::Script,
            _ => Self::Interpreted,
        }
    }
}

pub(super) fn utf8(text: &OsStr) -> Result<String, ExportError> {
    let written = text.to_str().map(str::to_owned);
    written.ok_or_else(|| ExportError::NotText { text: text.to_owned() })
}
