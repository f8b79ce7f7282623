//! The first record of a run file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::{Gate, Report};

/// The first record: the evaluators, settings and conversations of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Name of the format.
    pub format: String,
    /// Version of the format.
    pub version: u64,
    /// Program that wrote the file, e.g. `evaluator 0.1.0`.
    pub tool: String,
    /// Digest of everything that decides verdicts but the traces. `None` in runs that are not saved.
    pub plan: Option<Digest>,
    /// Settings of the run, by their keys in a configuration.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Digest of `settings` and of the evaluators' names, thresholds and handling of missing turns.
    pub config: Option<Digest>,
    /// The golden cases, if there are any.
    pub golden: Option<Golden>,
    /// The evaluators of the run.
    pub evaluators: Vec<EvaluatorEntry>,
    /// Gates of evaluators. No digest contains them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Conversations in the traces.
    pub conversations: usize,
    /// Digest of the trace ids of all conversations, in order. `None` in runs that are not saved.
    pub inputs: Option<Digest>,
    /// Number of lines after this one with evaluations of earlier runs.
    pub earlier: usize,
    /// The report at the start of the first evaluation.
    pub report: Report,
}

/// Golden cases that conversations are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    /// Id of the eval set.
    pub id: String,
    /// Digest of each case, by its id.
    pub cases: BTreeMap<String, Digest>,
}

/// An evaluator of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluatorEntry {
    /// Name of the evaluator.
    pub name: String,
    /// `builtin`, `judge`, `grader`, `code` or `linked`; `broken` for one that cannot run.
    pub kind: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// `None` if changes of the evaluator would not be noticed, and in runs that are not saved.
    pub fingerprint: Option<Digest>,
}
