//! Arguments of `evaluator bundle`.

use std::path::PathBuf;

use clap::Args;

use super::{existing, file, writable};

/// Exit codes, for the help of the command.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 the bundle was written; 2 something cannot be in a bundle, or an evaluator cannot be prepared (nothing was written); 3 it could not be written";

/// Endings of the archive: Spark unpacks no other compression.
const ENDINGS: [&str; 2] = [".tar.gz", ".tgz"];

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Configuration with the evaluators
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: PathBuf,
    /// Archive to write, FILE.tar.gz
    #[arg(short, long, value_name = "FILE", value_parser = archive)]
    pub(crate) output: PathBuf,
    /// File or directory next to the configuration that evaluators read while they run; repeatable. What the configuration
    /// names and what scripts import is there without it
    #[arg(long, value_name = "PATH", value_parser = existing)]
    pub(crate) include: Vec<PathBuf>,
    /// Reject remote evaluators that are not pinned in evaluators.lock, instead of pinning them
    #[arg(long)]
    pub(crate) locked: bool,
}

fn archive(text: &str) -> Result<PathBuf, String> {
    match ENDINGS.iter().any(|ending| text.ends_with(ending)) {
        true => writable(text),
        false => Err(format!("must end with {}", ENDINGS.join(" or "))),
    }
}
