//! Arguments of `evaluator report`.

use std::path::PathBuf;

use clap::Args;

use super::{
    existing,
    output::{ReportOutput, ReportOutputParser, report_file},
};

pub(super) const EXIT_CODES: &str = "Exit codes: those of the run; 2 a file is not a run file, or two are not parts of one run, 3 also for a run that did not end";

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run files (.evalrun). Several are reported as one run: runs of one configuration on different conversations
    #[arg(required = true, value_name = "RUN", value_parser = existing)]
    pub(crate) runs: Vec<PathBuf>,
    /// Form of the report, and with =FILE the file that it is written to instead of stdout; repeatable (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = ReportOutputParser)]
    pub(crate) output: Vec<ReportOutput>,
    /// Write the report to this file instead of stdout; for a single form. A regular file appears whole or not at all
    #[arg(long, value_name = "FILE", value_parser = report_file)]
    pub(crate) output_file: Option<PathBuf>,
}
