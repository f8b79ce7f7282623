//! Arguments of `compare`, and those with which a new run is held against an earlier one.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use evaluator_host::report::{ComparisonSettings, run_file::ChangeKind};

use super::{
    gates::confidence,
    given::Given,
    parts::PartArgs,
    values::{ResultOutput, existing, name, result_output, writable},
};

pub(super) const EXIT_CODES: &str = "Exit codes: 0 the new run shows what is asked of it, or nothing is asked; 1 it does not; 2 the runs cannot be compared; 3 something broke in one of them; 4 the cases do not decide";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run file (.evalrun) that is compared with, or a result of promptfoo or Inspect in JSON. Parts of a run are joined by `cat`
    #[arg(value_name = "BASE", value_parser = existing)]
    pub(crate) base: PathBuf,
    /// Run file of the new version
    #[arg(value_name = "NEW", value_parser = existing)]
    pub(crate) new: PathBuf,
    /// Further files, which are refused with what to do
    #[arg(hide = true)]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) parts: PartArgs,
    #[command(flatten)]
    pub(crate) claims: ClaimArgs,
    /// Confidence of intervals, between 0 and 1 (default: 0.95)
    #[arg(long, value_name = "C", value_parser = confidence)]
    pub(crate) confidence: Option<f64>,
    /// Seed of random numbers (default: 0)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Compare also for each value of this attribute in the new run; repeatable. Values of those that the run named with --by are
    /// in its file, and always those of service.name, gen_ai.request.model and gen_ai.agent.name
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) by: Vec<String>,
    /// Form of the comparison (table, json, markdown, html), and with =FILE the file that it is written to instead of stdout;
    /// repeatable (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = result_output)]
    pub(crate) output: Vec<ResultOutput>,
}

impl CompareArgs {
    /// Returns the settings of the comparison.
    pub(crate) fn settings(&self) -> ComparisonSettings {
        let settings = self.claims.settings(self.confidence);
        ComparisonSettings { seed: self.seed.unwrap_or(settings.seed), ..settings }
    }
}

/// What a new run has to show, compared with an earlier one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClaimArgs {
    /// The mean score of each evaluator may be lower by at most this much, from 0 to 1, with 95 % confidence
    #[arg(help_heading = HEADING, long, value_name = "D")]
    pub(crate) no_worse_than: Option<f64>,
    /// No case that passed may fail
    #[arg(help_heading = HEADING, long)]
    pub(crate) no_regressions: bool,
    /// Cases that the new run does not have decide nothing
    #[arg(help_heading = HEADING, long)]
    pub(crate) allow_missing: bool,
    /// Compare although this was changed between the runs: an evaluator, settings of the run, golden cases, a judge, or all of
    /// them; repeatable. The differences are printed
    #[arg(help_heading = HEADING, long, value_name = "WHAT", value_enum)]
    allow_changed: Vec<Allowed>,
    /// Difference of scores up to which a case with the same status is unchanged (default: 0.01)
    #[arg(help_heading = HEADING, long, value_name = "X", value_parser = difference)]
    pub(crate) min_change: Option<f64>,
}

/// Heading of these options in the help.
const HEADING: &str = "Comparison with an earlier run";

impl ClaimArgs {
    /// Returns the settings of the comparison.
    pub(crate) fn settings(&self, confidence: Option<f64>) -> ComparisonSettings {
        let default = ComparisonSettings::default();
        ComparisonSettings {
            confidence: confidence.unwrap_or(default.confidence),
            min_change: self.min_change.unwrap_or(default.min_change),
            no_worse_than: self.no_worse_than,
            no_regressions: self.no_regressions,
            allow_missing: self.allow_missing,
            ..default
        }
    }

    /// Returns the kinds of changes that are allowed.
    pub(crate) fn allowed(&self) -> Vec<ChangeKind> {
        self.allow_changed.iter().flat_map(|it| it.kinds()).copied().collect()
    }
}

/// Ids of [`BaselineArgs`] that need a baseline.
pub(crate) const OF_BASELINES: &str =
    "no_worse_than no_regressions allow_missing allow_changed min_change update_baseline";

/// Options of `run` and `report` about a run that the new one is compared with.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BaselineArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Compare with this run file (.evalrun), case by case; the comparison is part of the report and of the exit code
    #[arg(help_heading = HEADING, long, value_name = "FILE", value_parser = writable)]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) claims: ClaimArgs,
    /// Write the run to the file of the baseline if it ends with exit code 0. The file may be missing then; if something is
    /// claimed, failures of the run that creates it are known ones
    #[arg(help_heading = HEADING, long)]
    pub(crate) update_baseline: bool,
}

/// What may differ between two runs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Files, settings and thresholds of evaluators
    Evaluator,
    /// Settings of the run, such as the grouping
    Config,
    /// Golden cases
    Golden,
    /// Models, parameters and prompts of judges
    Judge,
    /// All of these
    All,
}

impl Allowed {
    /// Returns the kinds of changes that this allows.
    fn kinds(self) -> &'static [ChangeKind] {
        match self {
            Self::Evaluator => &[ChangeKind::Evaluator],
            Self::Config => &[ChangeKind::Config],
            Self::Golden => &[ChangeKind::Golden],
            Self::Judge => &[ChangeKind::Judge],
            Self::All => &ChangeKind::REFUSED,
        }
    }
}

fn difference(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|it| it.is_finite() && *it >= 0.0).ok_or("must be a number from 0 on".to_owned())
}
