//! Arguments of `evaluator pipe`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;
use evaluator_host::{conversation::GroupBy, document::size};

use super::{JudgeFlags, existing, file, jobs, one_of, run::GROUPINGS, whole};

/// Exit codes, for the help of the command.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 every line has its record, whatever the scores; 2 usage or configuration error, or an evaluator cannot be prepared (no record is written); 3 it could not finish";

/// Options are those of `run` that decide evaluations. What decides about a report belongs to `report`.
#[derive(Debug, Args)]
pub(crate) struct PipeArgs {
    /// Configuration with the evaluators to run
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: PathBuf,
    /// Eval set with golden conversations (overrides the configuration's). Prompts are compared as with --strict-matching
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
    /// What a line is: one trace, or the traces of one session (default: the key `group_by`). There is no `auto`, since a
    /// stream is a part of the input
    #[arg(long, value_name = "RULE", value_parser = one_of(GROUPINGS))]
    pub(crate) group_by: Option<GroupBy>,
    /// Number of parallel evaluations
    #[arg(long, value_name = "N", default_value = "1", value_parser = jobs)]
    pub(crate) jobs: NonZeroUsize,
    /// Repeat evaluations that timed out, were killed by another process or could not be started for lack of resources, up to
    /// N times (default: 0). Engines repeat tasks, too
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=100))]
    pub(crate) retries: Option<u32>,
    /// Longest line that is read
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = bytes)]
    pub(crate) max_line: usize,
    #[command(flatten)]
    pub(crate) judge: JudgeFlags,
}

fn bytes(text: &str) -> Result<usize, String> {
    let bytes = size::parse(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "must be a size above 0, e.g. 64MiB".to_owned())
}
