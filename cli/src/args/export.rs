//! The arguments of `evaluator export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use evaluator_host::export::{Contract, Target};

use super::existing;

pub(super) const EXIT_CODES: &str = "Exit codes: 0 written, 2 the evaluator cannot be exported so, or a file is in the way (nothing was written), 3 it cannot be built, or a file cannot be written";

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Evaluator: a source file, a package or an executable. What has to be built is built; the files name what was built
    /// where it is, unless it is copied
    #[arg(value_parser = existing)]
    pub(crate) evaluator: PathBuf,
    /// Host that is to run it
    #[arg(long = "for", value_name = "HOST", value_enum)]
    pub(crate) host: Host,
    /// Folder for the files (default: the current one)
    #[arg(short, long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) output: PathBuf,
    /// Whose documents the evaluator reads, where it does not say so itself and it is not agentevals
    #[arg(long, value_name = "NAME")]
    pub(crate) contract: Option<Contract>,
    /// Build with cargo's release profile
    #[arg(long)]
    pub(crate) release: bool,
    /// Copy the executable next to the files, which name the copy: it stays when build folders are cleaned
    #[arg(long)]
    pub(crate) copy: bool,
    /// Overwrite files that were not written by this command, too
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Host {
    /// A Python file that becomes the evaluator, and an entry
    Agentevals,
    /// An entry for each generation of AgentV
    #[value(name = "agentv")]
    AgentV,
    /// A Python module for Google's ADK, and an EvalConfig
    Adk,
    /// Custom code for each of Agenta's interfaces, and a webhook
    Agenta,
    /// A Python assertion, and an entry
    Promptfoo,
}

impl From<Host> for Target {
    fn from(host: Host) -> Self {
        match host {
            Host::Agentevals => Self::Agentevals,
            Host::AgentV => Self::AgentV,
            Host::Adk => Self::Adk,
            Host::Agenta => Self::Agenta,
            Host::Promptfoo => Self::Promptfoo,
        }
    }
}
