//! Arguments about eval files.

use std::path::PathBuf;

use clap::Args;

use super::{existing, whole};

/// Ids of [`EvalFileFlags`].
pub(crate) const OF_EVAL_FILES: &str = "targets outputs test_id target grader_target max_retries";

/// Ids of options of `evaluator run` that have no meaning for eval files.
pub(crate) const OF_TRACES: &str = "config no_config eval_set metric evaluator format trajectory_match_type group_by case_key require_evaluated \
     require_all_cases allow_unevaluated strict_matching until_decided locked judge_model judge_samples";

/// Heading of these options in the help. Set on each: a heading of the group would continue with the options after it.
const HEADING: &str = "Eval files";

/// Options of `evaluator run` and `evaluator check` with an eval file.
#[derive(Debug, Default, Args)]
pub(crate) struct EvalFileFlags {
    /// Targets of an AgentV eval file, or the directory with targets.yaml (default: targets.yaml or .agentv/targets.yaml of its
    /// directory, a parent up to the repository, or the working directory)
    #[arg(help_heading = HEADING, long, value_name = "FILE", value_parser = existing)]
    pub(crate) targets: Option<PathBuf>,
    /// Recorded outputs to grade instead of those of a target: a directory of ID.json or ID.txt, or a JSONL file
    #[arg(help_heading = HEADING, long, value_name = "FILE|DIR", value_parser = existing)]
    pub(crate) outputs: Option<PathBuf>,
    /// Run only tests whose id matches this glob; repeatable
    #[arg(help_heading = HEADING, id = "test_id", long = "test-id", value_name = "GLOB")]
    pub(crate) test_ids: Vec<String>,
    /// Target that is tested (default: that of the test or of the eval file, else `default`)
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub(crate) target: Option<String>,
    /// Target that judges (default: `grader_target` or `judge_target` of the tested target)
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub(crate) grader_target: Option<String>,
    /// Repeat commands of targets that took too long, tested or judging, up to N times (default: 2)
    #[arg(help_heading = HEADING, long, value_name = "N", value_parser = whole::<u32>(0..=100))]
    pub(crate) max_retries: Option<u32>,
}
