//! Counts of a classifier against a reference.

use serde::Serialize;

use crate::refusal::{Refusal, require};

/// Numbers of items by what a classifier and the reference say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// Both say yes.
    pub true_positives: u64,
    /// The classifier says yes, and the reference no.
    pub false_positives: u64,
    /// The classifier says no, and the reference yes.
    pub false_negatives: u64,
    /// Both say no.
    pub true_negatives: u64,
}

/// Rates of a [`Confusion`]. One whose denominator is 0 is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Share of all items about which both agree.
    pub accuracy: f64,
    /// TP / (TP + FP).
    pub precision: Option<f64>,
    /// True positive rate: TP / (TP + FN).
    pub recall: Option<f64>,
    /// True negative rate: TN / (TN + FP).
    pub specificity: Option<f64>,
    /// 2 TP / (2 TP + FP + FN).
    pub f1: Option<f64>,
    /// Mean of recall and specificity.
    pub balanced_accuracy: Option<f64>,
    /// Matthews' correlation coefficient.
    pub mcc: Option<f64>,
}

impl Confusion {
    /// Number of items.
    pub fn total(&self) -> u64 {
        self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
    }
}

/// Returns the rates of a table of two classes (Powers 2011; MCC: Matthews 1975):
/// (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)).
///
/// # Errors
///
/// There are no items.
pub fn confusion(counts: &Confusion) -> Result<Rates, Refusal> {
    require(counts.total() > 0, Refusal::Empty)?;
    let [tp, fp, fn_, tn] = [
        counts.true_positives,
        counts.false_positives,
        counts.false_negatives,
        counts.true_negatives,
    ]
    .map(|count| count as f64);
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let (recall, specificity) = (ratio(tp, tp + fn_), ratio(tn, tn + fp));
    let scale = ((tp + fp) * (tp + fn_) * (tn + fp) * (tn + fn_)).sqrt();
    Ok(Rates {
        accuracy: (tp + tn) / counts.total() as f64,
        precision: ratio(tp, tp + fp),
        recall,
        specificity,
        f1: ratio(2.0 * tp, 2.0 * tp + fp + fn_),
        balanced_accuracy: recall.zip(specificity).map(|(one, other)| (one + other) / 2.0),
        mcc: ratio(tp * tn - fp * fn_, scale),
    })
}
