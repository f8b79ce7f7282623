//! The [`Metric`] trait and what a metric gets to see.

use std::{fmt, str::FromStr};

use super::AlignmentSettings;
use crate::{
    conversation::Turn,
    eval_set::{EvalCase, Unmatched},
    json::Object,
    verdict::Verdict,
};

/// A metric that is computed in this process.
pub trait Metric: Send + Sync + fmt::Debug {
    /// Name as in a config's `name:` key, e.g. `tool_trajectory_avg_score`.
    fn name(&self) -> &str;

    /// What it scores, in one sentence.
    fn description(&self) -> &str;

    /// Why the metric is known but cannot be computed here; `None` for metrics that can.
    fn unavailable(&self) -> Option<&str> {
        None
    }

    /// Whether a model judges. Settings of a judge mean something to such metrics only.
    fn asks_judge(&self) -> bool {
        false
    }

    /// Whether the score says how the turns compare with the golden ones. Where it does, golden turns that are not
    /// recorded fail the evaluation, unless its entry says `missing_turns: ignore`. `true` by default: a metric that does
    /// not say must not pass an agent that stopped early.
    fn compares_golden_turns(&self) -> bool {
        true
    }

    /// Checks the settings that `config` of its entry gives it; they are [`MetricSettings::config`] when it scores. By
    /// default a metric has no such settings.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words that name the key.
    fn check_config(&self, config: &Object) -> Result<(), String> {
        match config.keys().next() {
            Some(key) => Err(format!("`{}` has no setting `config.{key}`", self.name())),
            None => Ok(()),
        }
    }

    /// What changes whenever the metric would score something differently, e.g. a version. By default nobody knows, and
    /// what it scored is not taken from the [`RunFile`](crate::report::run_file::RunFile) of another run.
    fn revision(&self) -> Option<&str> {
        None
    }

    /// Scores a conversation.
    ///
    /// What cannot be computed is [`Verdict::MetricFailed`], never a low score. The status may be left to the
    /// threshold.
    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict;
}

/// What a metric gets to see.
#[derive(Clone, Copy, Debug)]
pub struct MetricInput<'a> {
    /// Turns of the conversation in order.
    pub turns: &'a [Turn],
    /// The golden case of the conversation, or why there is none.
    pub golden: Result<&'a EvalCase, &'a Unmatched>,
    /// The score that is enough to pass.
    pub threshold: f64,
    /// Settings of this metric.
    pub settings: &'a MetricSettings,
}

/// Settings a config can give to a built-in metric.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct MetricSettings {
    /// How tool calls are compared. Default: [`MatchType::Exact`].
    pub trajectory_match_type: MatchType,
    /// Whether tool calls are the same if only their names are. Default: no.
    pub ignore_args: bool,
    /// The most a turn may take, in the unit of a metric that measures; at least 0. Default: it only measures.
    pub max: Option<f64>,
    /// How `tool_trajectory_alignment` compares.
    pub alignment: AlignmentSettings,
    /// Model for metrics that ask one.
    pub judge_model: Option<String>,
    /// Settings of a metric that was registered, as in the `config` of its entry; checked by
    /// [`Metric::check_config`]. Empty by default.
    pub config: Object,
    /// Name of the credential to ask a judge with. A run is given no credentials yet, so a metric that has this and
    /// could be scored is an error, as in agentevals.
    pub credential_ref: Option<String>,
}

/// How the tool calls of a turn are compared with the expected ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub enum MatchType {
    /// The same calls in the same order, and no others.
    #[default]
    Exact,
    /// The expected calls in their order; there may be others between them.
    InOrder,
    /// The expected calls in any order; there may be others.
    AnyOrder,
}

impl MatchType {
    /// All match types.
    pub const ALL: [Self; 3] = [Self::Exact, Self::InOrder, Self::AnyOrder];

    /// Name as in configs and arguments: `EXACT`, `IN_ORDER`, `ANY_ORDER`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "EXACT",
            Self::InOrder => "IN_ORDER",
            Self::AnyOrder => "ANY_ORDER",
        }
    }
}

impl fmt::Display for MatchType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MatchType {
    type Err = UnknownMatchType;

    /// Reads a name, in any case.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownMatchType { name: name.to_owned() })
    }
}

/// A match type that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown match type `{name}` (known: EXACT, IN_ORDER, ANY_ORDER)")]
pub struct UnknownMatchType {
    /// The name asked for.
    pub name: String,
}
