//! Arguments about eval files.

use std::path::PathBuf;

use clap::Args;

use super::{existing, run::RunArgs, whole};

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
    #[arg(help_heading = HEADING, long = "test-id", value_name = "GLOB")]
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

impl EvalFileFlags {
    /// Returns the name of the first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.targets.is_some(), "--targets"),
            (self.outputs.is_some(), "--outputs"),
            (!self.test_ids.is_empty(), "--test-id"),
            (self.target.is_some(), "--target"),
            (self.grader_target.is_some(), "--grader-target"),
            (self.max_retries.is_some(), "--max-retries"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

/// Returns the name of the first option that is given and has no meaning for eval files.
pub(crate) fn of_traces(args: &RunArgs) -> Option<&'static str> {
    let given = [
        (args.config.is_some(), "--config"),
        (args.no_config, "--no-config"),
        (args.eval_set.is_some(), "--eval-set"),
        (!args.metrics.is_empty(), "--metric"),
        (!args.evaluators.is_empty(), "--evaluator"),
        (args.format.is_some(), "--format"),
        (args.trajectory_match_type.is_some(), "--trajectory-match-type"),
        (args.group_by.is_some(), "--group-by"),
        (args.case_key.is_some(), "--case-key"),
        (args.require_evaluated.is_some(), "--require-evaluated"),
        (args.require_all_cases, "--require-all-cases"),
        (args.allow_unevaluated, "--allow-unevaluated"),
        (args.strict_matching, "--strict-matching"),
        (args.until_decided, "--until-decided"),
        (args.locked, "--locked"),
    ];
    let given = given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name);
    given.or_else(|| args.judge.of_traces())
}
