//! An evaluator as a command line, and whether a host can run it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use evaluator_protocol::Contract;

use crate::process::CommandSpec;

/// Variables that cargo sets for the programs it runs; an installed program does not have them.
const CARGOS_OWN: [&str; 3] = ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "OUT_DIR"];

/// An evaluator that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name.
    pub name: String,
    /// Kind of its file.
    pub language: Language,
    /// Command line for one document.
    pub command: CommandSpec,
    /// Contract of the documents that it reads; `None` if it is not known.
    pub contract: Option<Reads>,
    /// File or directory, as it was given.
    pub entrypoint: PathBuf,
}

/// Kind of an evaluator's file, as far as it matters to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// A script with the extension `.py`, `.js` or `.ts`, which agentevals can start.
    Script,
    /// Another file that needs an interpreter.
    Interpreted,
    /// An executable.
    Native,
}

/// Documents that an evaluator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reads {
    /// Documents of every contract: an evaluator of the default contract, by this project's SDK.
    All,
    /// Documents of one contract.
    One(Contract),
}

impl Reads {
    /// Documents of a script of unknown origin: only agentevals starts scripts, so they are written for its documents.
    pub const SCRIPT: Self = Self::One(Contract::Agentevals);

    /// Returns true if the evaluator reads documents of a contract.
    pub fn includes(self, contract: Contract) -> bool {
        match self {
            Self::All => true,
            Self::One(reads) => reads == contract,
        }
    }
}

/// A command line as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) words: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

/// Reason why an evaluator cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExportError(pub(super) String);

impl Program {
    /// Returns an evaluator.
    pub fn new(
        name: impl Into<String>,
        entrypoint: impl Into<PathBuf>,
        language: Language,
        command: CommandSpec,
    ) -> Self {
        let contract = match language {
            Language::Native => None,
            Language::Script | Language::Interpreted => Some(Reads::SCRIPT),
        };
        Self { name: name.into(), language, command, contract, entrypoint: entrypoint.into() }
    }

    /// Sets the documents that it reads.
    #[must_use]
    pub fn reads(mut self, contract: Reads) -> Self {
        self.contract = Some(contract);
        self
    }

    /// Returns the command line as text.
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

    /// Returns the absolute path of the file.
    pub(crate) fn file(&self) -> Result<String, ExportError> {
        let file = self.entrypoint.canonicalize().unwrap_or_else(|_| self.entrypoint.clone());
        utf8(file.as_os_str())
    }
}

impl Language {
    /// Returns the kind of a file; `is_native` if it needs no interpreter.
    pub fn of(path: &Path, is_native: bool) -> Self {
        let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            _ if is_native => Self::Native,
            Some("py" | "js" | "ts") => Self::Script,
            _ => Self::Interpreted,
        }
    }
}

pub(crate) fn utf8(text: &OsStr) -> Result<String, ExportError> {
    let written = text.to_str().map(str::to_owned);
    written.ok_or_else(|| {
        ExportError(format!(
            "{}: this is not UTF-8, and no file that other tools read can name it; rename it",
            text.display()
        ))
    })
}
