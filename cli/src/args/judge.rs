//! Arguments about models that judge.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use evaluator_host::{
    config::{JudgeSettings, Overrides},
    judging::parse_budget,
    models::{BudgetLimits, Mode},
};

use super::{existing, whole, writable};

/// Options of `evaluator run` and `evaluator check`.
#[derive(Debug, Default, Args)]
pub(crate) struct JudgeFlags {
    /// Model for metrics that use a judge
    #[arg(short = 'j', long, value_name = "MODEL", value_parser = model)]
    pub(crate) judge_model: Option<String>,
    /// Number of times that a judge is asked each question (default: 5)
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1000))]
    pub(crate) judge_samples: Option<u32>,
    /// File with recorded replies of judges
    #[arg(long, value_name = "FILE", value_parser = writable)]
    pub(crate) judge_cassette: Option<PathBuf>,
    /// Whether judges are asked: off (always, nothing is recorded), record (always), replay (never), auto (what is not
    /// recorded; default with a file)
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) judge_mode: Option<Mode>,
    /// Limits of what judges may spend in this run, e.g. money=5,calls=2000,tokens=3000000
    #[arg(long, value_name = "LIMITS", value_parser = parse_budget)]
    pub(crate) judge_budget: Option<BudgetLimits>,
}

impl JudgeFlags {
    /// Returns what they override in a configuration.
    pub(crate) fn overrides(mut self) -> Overrides {
        let judge_model = self.judge_model.take();
        Overrides { judge_model, judge: self.settings(), ..Overrides::default() }
    }

    /// Returns the settings, without the model.
    pub(crate) fn settings(self) -> JudgeSettings {
        let mut settings = JudgeSettings::default();
        settings.samples = self.judge_samples;
        settings.cassette = self.judge_cassette;
        settings.mode = self.judge_mode;
        settings.budget = self.judge_budget.unwrap_or_default();
        settings
    }
}

fn model(text: &str) -> Result<String, String> {
    // No model has a number as its name, and in other tools this letter takes one.
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => {
            Err("a model is named; write --jobs for the number of parallel evaluations".to_owned())
        }
        false => Ok(text.to_owned()),
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: evaluator_host::models::ModelError| error.message)
}

/// Commands of `evaluator judge`.
#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Print the prompts of the built-in metrics that a model judges
    Show {
        /// Name of a prompt, or of a metric (default: list all)
        name: Option<String>,
    },
    /// Write a file with recorded replies again: sorted, each record once
    #[command(after_help = "Exit codes: 0 written, 2 the file is not one of recorded replies")]
    Tidy {
        /// File with recorded replies
        #[arg(value_name = "FILE", value_parser = existing)]
        file: PathBuf,
        /// Remove records that this saved run did not use (a file of `run --save-run`)
        #[arg(long, value_name = "RUN", value_parser = existing)]
        unused_since_run: Option<PathBuf>,
    },
}
