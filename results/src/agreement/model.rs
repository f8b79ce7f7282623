//! The agreement of evaluators with people, as data.

use std::{fmt, io};

use evaluator_json::Value;
use evaluator_statistics::{Estimate, GateVerdict, Interval};
use serde::{Serialize, Serializer};

use crate::{CertificateError, LabelCounts, LabelError, json::to_rounded};

/// What is held against what, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct AgreementSettings {
    /// Names of the evaluators; empty for all with labels.
    pub evaluators: Vec<String>,
    /// Evaluator that the others are held against.
    pub with: Option<String>,
    /// Name of an evaluator in the labels. Only its labels are used then, for all evaluators.
    pub about: Option<String>,
    /// Grade from which on a graded label is a pass.
    pub pass_from: Option<f64>,
    /// Kappa that each evaluator has to have.
    pub min_kappa: Option<f64>,
    /// Confidence of intervals, two-sided.
    pub confidence: f64,
    /// Seed of the resamples for best thresholds.
    pub seed: u64,
}

impl Default for AgreementSettings {
    fn default() -> Self {
        Self {
            evaluators: Vec::new(),
            with: None,
            about: None,
            pass_from: None,
            min_kappa: None,
            confidence: crate::Gate::CONFIDENCE,
            seed: 0,
        }
    }
}

/// Evaluators of a run, held against labels of people or against another evaluator.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The labels; `None` if evaluators are held against each other only.
    pub labels: Option<LabelCounts>,
    /// Number of conversations of the run.
    pub conversations: u64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// Facts that limit what the numbers say, each a sentence without a full stop.
    pub notes: Vec<String>,
    /// The evaluators, in the order of the run.
    pub evaluators: Vec<EvaluatorAgreement>,
}

/// An evaluator against a reference: labels, or the verdicts of another evaluator.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EvaluatorAgreement {
    /// Name of the evaluator.
    pub name: String,
    /// Name of the other evaluator; `None` if it is held against labels.
    pub with: Option<String>,
    /// Score from which on the evaluator passes; `None` if it differs between conversations.
    pub threshold: Option<f64>,
    /// Whether labels are grades, not two classes.
    pub graded: bool,
    /// Number of conversations with a verdict of the evaluator and a reference.
    pub compared: u64,
    /// Number of conversations with a reference about which the evaluator broke. They are no disagreements.
    pub errors: u64,
    /// Number of those that it did not evaluate.
    pub not_evaluated: u64,
    /// Number of those about which it was not asked.
    pub not_run: u64,
    /// Number of conversations about which as many people say one as the other. They are left out.
    pub ties: u64,
    /// Number of conversations of the run without a reference.
    pub without_reference: u64,
    /// The people; `None` if it is held against an evaluator.
    pub raters: Option<Raters>,
    /// What both say: positive is a pass, and the reference decides what is true. `None` for grades without classes.
    pub confusion: Option<evaluator_statistics::Confusion>,
    /// Share of conversations about which both agree.
    #[serde(serialize_with = "estimate")]
    pub agreement: Option<Estimate>,
    /// Share of the passes of the reference that the evaluator passes, too.
    #[serde(serialize_with = "estimate")]
    pub true_positive_rate: Option<Estimate>,
    /// Share of the failures of the reference that the evaluator fails, too.
    #[serde(serialize_with = "estimate")]
    pub true_negative_rate: Option<Estimate>,
    /// Share of the passes of the evaluator that the reference passes, too.
    #[serde(serialize_with = "estimate")]
    pub precision: Option<Estimate>,
    /// Harmonic mean of precision and true positive rate.
    pub f1: Option<f64>,
    /// Mean of the true positive and the true negative rate.
    pub balanced_accuracy: Option<f64>,
    /// Matthews' correlation coefficient.
    pub mcc: Option<f64>,
    /// Cohen's kappa of the classes.
    pub kappa: Option<KappaEstimate>,
    /// Kappa of grades with quadratic weights, if all scores are grades.
    pub weighted_kappa: Option<KappaEstimate>,
    /// Chance that a pass of the reference has a higher score than a failure.
    #[serde(serialize_with = "auroc")]
    pub auroc: Option<evaluator_statistics::Auroc>,
    /// The threshold that would separate passes and failures of the reference best.
    #[serde(serialize_with = "best_threshold")]
    pub best_threshold: Option<evaluator_statistics::BestThreshold>,
    /// Correlation of scores and grades.
    pub correlation: Option<evaluator_statistics::Correlation>,
    /// Whether kappa is as high as asked; `None` if nothing is asked.
    pub min_kappa: Option<MinKappa>,
    /// Conversations about which both disagree: false passes first, those with scores farthest from the threshold first.
    pub disagreements: Vec<Disagreement>,
    /// What was compared, in the order of the run.
    #[serde(skip)]
    pub pairs: Vec<ComparedLabel>,
}

/// The people who labelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Raters {
    /// Number of different people.
    pub raters: u64,
    /// Number of labels.
    pub labels: u64,
    /// Number of conversations with labels of several people.
    pub shared: u64,
    /// Krippendorff's alpha among them; `None` if none is shared, or all labels are the same.
    pub alpha: Option<f64>,
    /// Kappa of the evaluator with each of the labels of these conversations by itself, to be held against `alpha`: the majority of
    /// people is a better reference than one of them, and ties are not in it. `None` if `alpha` is, and for grades without classes.
    /// It has no interval: labels of one conversation are not independent.
    pub evaluator: Option<f64>,
}

/// Kappa with its interval. Serialized, it has an interval only if there is a standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KappaEstimate {
    /// Kappa.
    pub value: f64,
    /// Standard error.
    pub se: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

impl Serialize for KappaEstimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, se, .. } = self;
        let [lower, upper] = [self.lower, self.upper].map(|end| (*se > 0.0).then_some(end));
        serde_json::json!({"value": value, "se": se, "lower": lower, "upper": upper})
            .serialize(serializer)
    }
}

/// Shows two decimals; the interval only if there is a standard error.
impl fmt::Display for KappaEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [value, lower, upper] = [self.value, self.lower, self.upper].map(without_minus_zero);
        write!(f, "{value:.2}")?;
        if self.se > 0.0 { write!(f, " ({lower:.2} to {upper:.2})") } else { Ok(()) }
    }
}

/// Returns the number, or 0 if two decimals would show it as `-0.00`.
pub fn without_minus_zero(number: f64) -> f64 {
    if number.abs() < 0.005 { 0.0 } else { number }
}

/// A lower limit of kappa, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MinKappa {
    /// The limit.
    pub limit: f64,
    /// The verdict.
    pub verdict: GateVerdict,
    /// What it rests on: a clause.
    pub reason: String,
}

/// A conversation about which an evaluator and its reference disagree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Id of the case.
    pub case: String,
    /// Trace id.
    pub trace_id: String,
    /// What the evaluator says: true for a pass. The reference says the opposite.
    pub passed: bool,
    /// Score of the evaluator; 0 if it fails whatever its score is.
    pub score: f64,
    /// Distance of the score from the threshold.
    pub distance: f64,
    /// Reason of the evaluator.
    pub reason: Option<String>,
    /// What people say; of another evaluator its reason.
    pub comments: Vec<RaterComment>,
    /// First words of the user.
    pub prompt: Option<String>,
}

/// What a person, or another evaluator, says about a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RaterComment {
    /// The person or evaluator; `None` if the file does not say.
    pub rater: Option<String>,
    /// The label: `pass`, `fail` or a grade.
    pub label: String,
    /// What is said about it.
    pub comment: Option<String>,
}

/// A conversation with a verdict of an evaluator and a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedLabel {
    /// Id of the case.
    pub case: String,
    /// Trace id.
    pub trace_id: String,
    /// The label as a number: 1 and 0 for classes, else the grade.
    pub label: f64,
    /// The class of the label; `None` for grades without classes.
    pub label_passes: Option<bool>,
    /// Whether the evaluator passes it.
    pub passed: bool,
    /// Score of the evaluator; 0 if it fails whatever its score is.
    pub score: f64,
}

/// Reason why nothing can be compared or certified.
#[derive(Debug, thiserror::Error)]
pub enum AgreementError {
    /// A label cannot be used.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// There is no certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// There is nothing to compare or to certify: a message.
    #[error("{0}")]
    Refused(String),
    /// A conversation cannot be read back.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

impl Agreement {
    /// Returns the verdict of all evaluators together: they pass only if each does. A pass if nothing is asked.
    pub fn verdict(&self) -> GateVerdict {
        let has = |verdict| {
            let mut asked = self.evaluators.iter().filter_map(|it| it.min_kappa.as_ref());
            asked.any(|it| it.verdict == verdict)
        };
        match (has(GateVerdict::Fail), has(GateVerdict::Inconclusive)) {
            (true, _) => GateVerdict::Fail,
            (_, true) => GateVerdict::Inconclusive,
            _ => GateVerdict::Pass,
        }
    }

    /// Returns the JSON form, with six decimals: the digits behind them may differ between machines.
    ///
    /// # Errors
    ///
    /// A number cannot be represented.
    pub fn to_json(&self) -> io::Result<Value> {
        to_rounded(self)
    }
}

fn ends(interval: Option<Interval>) -> [Option<f64>; 2] {
    [interval.map(|it| it.lower), interval.map(|it| it.upper)]
}

#[expect(clippy::ref_option, reason = "the signature is that of serde")]
fn estimate<S: Serializer>(estimate: &Option<Estimate>, serializer: S) -> Result<S::Ok, S::Error> {
    let members = estimate.map(|it| {
        let [lower, upper] = ends(Some(it.interval));
        serde_json::json!({"n": it.n, "value": it.mean, "lower": lower, "upper": upper})
    });
    members.serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the signature is that of serde")]
fn auroc<S: Serializer>(
    auroc: &Option<evaluator_statistics::Auroc>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let members = auroc.map(|it| {
        let [lower, upper] = ends(it.interval);
        serde_json::json!({"value": it.auroc, "se": it.se, "lower": lower, "upper": upper})
    });
    members.serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the signature is that of serde")]
fn best_threshold<S: Serializer>(
    best: &Option<evaluator_statistics::BestThreshold>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let members = best.map(|it| {
        let [lower, upper] = ends(it.interval);
        serde_json::json!({"value": it.threshold, "youden_j": it.youden_j, "lower": lower, "upper": upper})
    });
    members.serialize(serializer)
}
