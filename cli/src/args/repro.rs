//! Arguments of `evaluator repro`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Command, FromArgMatches as _};

use super::{RunArgs, file, trace_input, whole};

pub(super) const EXIT_CODES: &str = "Exit codes: 0 the same result, 1 another one, 2 it cannot be repeated, 3 it broke and did not then";

#[derive(Debug, Args)]
pub(crate) struct ReproArgs {
    /// The saved run
    #[arg(value_name = "RUN", value_parser = file)]
    pub(crate) run: PathBuf,
    /// Conversation: id of its golden case or of its test, its value of --case-key, or its trace id or the beginning of it
    pub(crate) case: String,
    /// Name of the evaluator
    pub(crate) evaluator: String,
    /// Trace file, or directory of trace files, that has the conversation; repeatable (default: the file that the run read)
    #[arg(long, value_name = "PATH", value_parser = trace_input)]
    pub(crate) traces: Vec<PathBuf>,
    /// Repeat it K times, and report how often the result is the same
    #[arg(long, value_name = "K", default_value_t = 1, hide_default_value = true, value_parser = whole::<u32>(1..=1000))]
    pub(crate) repeat: u32,
    /// Print the document that the evaluator reads, byte for byte, and run nothing
    #[arg(long, conflicts_with = "shell")]
    pub(crate) print_input: bool,
    /// Print a command line that does the same without `evaluator` and without time limit, and run nothing
    #[arg(long)]
    pub(crate) shell: bool,
    /// Go on if the recording, the golden case or the evaluator have changed since the run
    #[arg(long)]
    pub(crate) live: bool,
}

/// Parses options of `run` that a run file has, with these traces.
///
/// # Errors
///
/// They cannot be used here: a message.
pub(crate) fn run_again(options: &[String], traces: &[PathBuf]) -> Result<RunArgs, String> {
    let words = options.iter().map(String::as_str).chain(["--"]);
    let words = words.map(OsString::from);
    let words = words.chain(traces.iter().map(|path| path.clone().into_os_string()));
    RunArgs::augment_args(Command::default().no_binary_name(true))
        .try_get_matches_from(words)
        .and_then(|matches| RunArgs::from_arg_matches(&matches))
        .map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        })
}
