//! Arguments of `evaluator inspect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{run::Grouping, trace_input};

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Trace files, directories of trace files, or - for stdin
    #[arg(required = true, value_name = "TRACE_FILE", value_parser = trace_input)]
    pub(crate) traces: Vec<PathBuf>,
    /// Format of the trace files (default: detected from their content)
    #[arg(short, long, ignore_case = true)]
    pub(crate) format: Option<String>,
    /// How traces are grouped into conversations (default: auto, as in a run without an eval set)
    #[arg(long, value_enum)]
    pub(crate) group_by: Option<Grouping>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = InspectOutput::Text)]
    pub(crate) output: InspectOutput,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InspectOutput {
    /// Readable text
    Text,
    /// One JSON document; `invocations` are those of the document that evaluators read
    Json,
}
