//! Arguments of `evaluator export`.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use evaluator_host::hosts::{
    ForeignHost,
    export::{Contract, targets},
};

use super::existing;

pub(super) const EXIT_CODES: &str = "Exit codes: 0 written, 2 the evaluator cannot be exported so, or a file is in the way (nothing was written), 3 it cannot be built, or a file cannot be written";

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Evaluator: a source file, a package or an executable. What has to be built is built; the files name what was built
    /// where it is, unless it is copied
    #[arg(value_parser = existing)]
    pub(crate) evaluator: PathBuf,
    /// Host that is to run it
    #[arg(long = "for", value_name = "HOST", value_parser = target())]
    pub(crate) host: &'static ForeignHost,
    /// Directory for the files (default: the current one)
    #[arg(short, long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) output: PathBuf,
    /// Contract of the documents that the evaluator reads, if it does not say so itself and it is not agentevals
    #[arg(long, value_name = "NAME")]
    pub(crate) contract: Option<Contract>,
    /// Build with cargo's release profile
    #[arg(long)]
    pub(crate) release: bool,
    /// Copy the executable next to the files, which name the copy: it stays when build directories are cleaned
    #[arg(long)]
    pub(crate) copy: bool,
    /// Overwrite files that were not written by this command, too
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses the name of a host that evaluators can be exported for.
fn target() -> impl TypedValueParser<Value = &'static ForeignHost> {
    let values = targets().map(|(host, about)| PossibleValue::new(host.name).help(about));
    PossibleValuesParser::new(values).try_map(|name| {
        let target = targets().find(|(host, _)| host.name == name);
        target.map(|(host, _)| host).ok_or("it is not exported for")
    })
}
