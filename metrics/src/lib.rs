//! Built-in metrics: scores that are computed from a recording without running an evaluator program.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! A metric looks at the turns of one conversation and, if it compares, at the golden case of that conversation. It owns its
//! name, its settings and their documentation: a new metric is a file that implements [`Metric`] and a line in
//! [`Metrics::default`]. Programs that embed the host add theirs with [`Metrics::register`].
//!
//! ```
//! use evaluator_metrics::{MetricInput, Metrics, Outcome};
//! use evaluator_traces::eval_set::Unmatched;
//!
//! let settings = [("max".to_owned(), 10_i64.into())].into_iter().collect();
//! let metric = Metrics::default().configured("tool_call_count_v1", &settings)?;
//! let outcome = metric.evaluate(&MetricInput::new(&[], Err(&Unmatched::NoEvalSet), 1.0));
//! assert!(matches!(outcome, Outcome::NotEvaluated { .. }), "there are no turns");
//! # Ok::<(), String>(())
//! ```

mod alignment;
mod efficiency;
mod registry;
mod response_match;
mod similarity;
mod stem;
mod trajectory;
mod turn_scores;
mod turns;

use std::{any::Any, fmt, sync::Arc};

use evaluator_document::Fields;
use evaluator_json::{Object, Value};

use evaluator_traces::{
    conversation::{Turn, TurnPart},
    eval_set::{EvalCase, ExpectedTurn, Unmatched},
};

pub use alignment::ToolTrajectoryAlignment;
pub use efficiency::Efficiency;
pub use registry::{Metrics, UnknownMetric};
pub use response_match::{ResponseMatch, rouge_1};
pub use similarity::{
    Measure, NO_WORDNET, NoCosine, SIMILARITIES, Similarity, WordNet, WordNetError, cosine,
    find_wordnet, read_wordnet, tokens_13a,
};
pub use trajectory::{MatchType, ToolTrajectory};
pub use turn_scores::{TurnScore, TurnScores};
pub use turns::arguments;

/// Revision of the metrics of this crate.
const REVISION: &str = env!("CARGO_PKG_VERSION");

/// A metric with its settings. The registered one has the default settings.
pub trait Metric: Any + Send + Sync + fmt::Debug {
    /// Returns the name by which configurations refer to the metric, e.g. `tool_trajectory_avg_score`.
    fn name(&self) -> &str;

    /// Returns a sentence that says what the metric scores.
    fn description(&self) -> &str;

    /// Returns the documentation of the keys that [`configure`](Self::configure) takes; none by default.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Takes the settings of the metric from its entry and returns the metric with these settings. Settings that are wrong
    /// or missing are problems of `fields`, see [`Field`](evaluator_document::Field). Returns `None` by default: the metric
    /// has no settings.
    fn configure(&self, _fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        None
    }

    /// Returns the threshold of entries that give none; 0.5 by default.
    fn default_threshold(&self) -> f64 {
        0.5
    }

    /// Returns the reason why the metric is known but cannot be computed; `None` if it can, which is the default.
    fn unavailable(&self) -> Option<&str> {
        None
    }

    /// Returns true if a model judges. Only these metrics use the settings of a judge. `false` by default.
    fn asks_judge(&self) -> bool {
        false
    }

    /// Returns true if the score compares turns with golden turns. Then golden turns without a recording fail the
    /// evaluation, unless its entry has `missing_turns: ignore`. `true` by default, so that an agent that stopped early does
    /// not pass by accident.
    fn compares_golden_turns(&self) -> bool {
        true
    }

    /// Returns a text that changes whenever the metric would score something differently, e.g. a version. Results of
    /// earlier runs are reused only if the revision is the same, and never if it is `None`, which is the default.
    fn revision(&self) -> Option<&str> {
        None
    }

    /// Scores a conversation.
    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome;
}

/// Documentation of a key in the entry of a metric.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Key.
    pub key: &'static str,
    /// Second spelling of the key.
    pub alias: Option<&'static str>,
    /// JSON Schema of the value, as JSON.
    pub schema: &'static str,
    /// YAML that sets the key, with comments; shown as an example.
    pub example: &'static str,
}

impl Setting {
    /// Creates the documentation of a key with one spelling.
    pub const fn new(key: &'static str, schema: &'static str, example: &'static str) -> Self {
        Self { key, alias: None, schema, example }
    }

    /// Sets the second spelling.
    #[must_use]
    pub const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

/// Input of a metric.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MetricInput<'a> {
    /// Turns of the conversation in order.
    pub turns: &'a [Turn],
    /// Golden case of the conversation, or the reason why it has none.
    pub golden: Result<&'a EvalCase, &'a Unmatched>,
    /// Lowest score that passes.
    pub threshold: f64,
}

impl<'a> MetricInput<'a> {
    /// Creates an input.
    pub fn new(
        turns: &'a [Turn],
        golden: Result<&'a EvalCase, &'a Unmatched>,
        threshold: f64,
    ) -> Self {
        Self { turns, golden, threshold }
    }

    /// Returns the golden turns, for a metric that compares these parts of the turns with them.
    ///
    /// # Errors
    ///
    /// The outcome of a metric that has nothing to compare with: there are no golden turns, or a producer did not record a
    /// part.
    pub fn comparable_turns(&self, parts: &[TurnPart]) -> Result<&'a [ExpectedTurn], Outcome> {
        let golden = self.golden_turns()?;
        for turn in &self.turns[..self.turns.len().min(golden.len())] {
            if let Some(unknown) = parts.iter().find_map(|part| turn.unrecorded(*part)) {
                return Err(Outcome::not_evaluated(unknown.to_string()));
            }
        }
        Ok(golden)
    }

    /// Returns the golden turns.
    ///
    /// # Errors
    ///
    /// The outcome of a metric that has nothing to compare with.
    pub fn golden_turns(&self) -> Result<&'a [ExpectedTurn], Outcome> {
        match self.golden {
            Ok(case) => Ok(&case.turns),
            Err(unmatched) => Err(Outcome::not_evaluated(unmatched.to_string())),
        }
    }
}

/// Result of a metric.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A score.
    Scored(Scored),
    /// There was nothing to score.
    NotEvaluated {
        /// Details; their `reason` says why.
        details: Object,
    },
    /// The metric could not be computed. That is an error, never a low score.
    Failed {
        /// Reason.
        reason: String,
    },
}

/// Score of a conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scored {
    /// Score, from 0 to 1.
    pub score: f64,
    /// Whether the conversation passes; decided by the threshold if `None`.
    pub passed: Option<bool>,
    /// Score of each turn, `None` for turns without one; empty if turns are not scored.
    pub per_turn: Vec<Option<f64>>,
    /// Details for the report.
    pub details: Option<Object>,
}

impl Scored {
    /// Creates a score without details that the threshold decides about.
    pub fn new(score: f64) -> Self {
        Self { score, passed: None, per_turn: Vec::new(), details: None }
    }
}

impl Outcome {
    /// Creates the outcome of a conversation that has nothing to score.
    pub fn not_evaluated(reason: impl Into<String>) -> Self {
        let reason = Value::String(reason.into());
        Self::NotEvaluated { details: Object::from_iter([("reason".to_owned(), reason)]) }
    }
}

#[cfg(test)]
mod testing;
