//! An evaluator against a reference.

use evaluator_statistics::{
    Confusion, Estimate, Kappa, Weights, auroc, best_threshold, clopper_pearson, confusion,
    correlation, kappa, normal_quantile,
};

use super::{
    decide::decide,
    model::{
        AgreementSettings, ComparedLabel, Disagreement, EvaluatorAgreement, KappaEstimate,
        RaterComment,
    },
    raters::Reference,
    talks::{Opinion, Talk},
};
use crate::EvaluationOutcome;

/// Resamples for the interval of a best threshold.
const RESAMPLES: u64 = 2_000;

/// Number of different grades up to which they are categories.
const GRADES: usize = 20;

/// An evaluator against a reference, while conversations are added.
pub(super) struct Measured {
    agreement: EvaluatorAgreement,
    /// Thresholds of the evaluations so far; `None` if they differ.
    threshold: Option<Option<f64>>,
}

impl Measured {
    pub(super) fn new(agreement: EvaluatorAgreement) -> Self {
        Self { agreement, threshold: None }
    }

    /// Adds a conversation with a reference; `None` if people say both. Comments are asked for if both disagree.
    pub(super) fn add(
        &mut self,
        talk: &Talk,
        opinion: Opinion,
        reference: Option<Reference>,
        comments: impl FnOnce() -> Vec<RaterComment>,
    ) {
        let agreement = &mut self.agreement;
        let Some(reference) = reference else {
            agreement.ties += 1;
            return;
        };
        let (Some(passed), Some(score)) = (opinion.passed(), opinion.score) else {
            let count = match opinion.outcome {
                EvaluationOutcome::Error => &mut agreement.errors,
                EvaluationOutcome::NotRun => &mut agreement.not_run,
                _ => &mut agreement.not_evaluated,
            };
            *count += 1;
            return;
        };
        let threshold = opinion.threshold;
        if *self.threshold.get_or_insert(threshold) != threshold {
            self.threshold = Some(None);
        }
        agreement.compared += 1;
        let Talk { case, trace_id, prompt, .. } = talk;
        let (case, trace_id) = (case.to_string(), trace_id.to_string());
        if reference.passes.is_some_and(|passes| passes != passed) {
            agreement.disagreements.push(Disagreement {
                case: case.clone(),
                trace_id: trace_id.clone(),
                passed,
                score,
                distance: (score - threshold.unwrap_or(0.5)).abs(),
                reason: opinion.reason,
                comments: comments(),
                prompt: prompt.as_ref().map(ToString::to_string),
            });
        }
        agreement.pairs.push(ComparedLabel {
            case,
            trace_id,
            label: reference.label,
            label_passes: reference.passes,
            passed,
            score,
        });
    }

    /// Computes everything. `grades` are all that people gave, if they gave grades.
    pub(super) fn finish(
        self,
        grades: Option<&[f64]>,
        settings: &AgreementSettings,
    ) -> EvaluatorAgreement {
        let mut agreement = self.agreement;
        agreement.threshold = self.threshold.flatten();
        agreement
            .disagreements
            .sort_by(|a, b| b.passed.cmp(&a.passed).then(b.distance.total_cmp(&a.distance)));
        classes(&mut agreement, settings);
        if let Some(grades) = grades {
            graded(&mut agreement, grades, settings.confidence);
        }
        agreement.min_kappa = settings
            .min_kappa
            .map(|limit| decide(limit, agreement.kappa.as_ref(), agreement.confusion.as_ref()));
        agreement
    }
}

/// Computes what classes of the reference allow.
fn classes(agreement: &mut EvaluatorAgreement, settings: &AgreementSettings) {
    let pairs = &agreement.pairs;
    let labels: Option<Vec<bool>> = pairs.iter().map(|it| it.label_passes).collect();
    let Some(labels) = labels.filter(|labels| !labels.is_empty()) else { return };
    let scores: Vec<f64> = pairs.iter().map(|it| it.score).collect();
    let verdicts: Vec<f64> = pairs.iter().map(|it| f64::from(it.passed)).collect();
    let both = |label: bool, passed: bool| {
        pairs.iter().zip(&labels).filter(|(it, is)| **is == label && it.passed == passed).count()
    };
    let [tp, fp, fn_, tn] =
        [both(true, true), both(false, true), both(true, false), both(false, false)];
    let counts = Confusion {
        true_positives: tp as u64,
        false_positives: fp as u64,
        false_negatives: fn_ as u64,
        true_negatives: tn as u64,
    };
    let confidence = settings.confidence;
    let rate = |k: usize, n: usize| -> Option<Estimate> { clopper_pearson(k, n, confidence).ok() };
    let rates = confusion(&counts).ok();
    let classes: Vec<f64> = labels.iter().map(|label| f64::from(*label)).collect();
    agreement.agreement = rate(tp + tn, labels.len());
    agreement.true_positive_rate = rate(tp, tp + fn_);
    agreement.true_negative_rate = rate(tn, tn + fp);
    agreement.precision = rate(tp, tp + fp);
    agreement.f1 = rates.and_then(|it| it.f1);
    agreement.balanced_accuracy = rates.and_then(|it| it.balanced_accuracy);
    agreement.mcc = rates.and_then(|it| it.mcc);
    let found = kappa(&classes, &verdicts, &[0.0, 1.0], Weights::Equal).ok();
    agreement.kappa = found.and_then(|it| with_interval(it, confidence));
    agreement.auroc = auroc(&labels, &scores, confidence).ok();
    agreement.best_threshold =
        best_threshold(&labels, &scores, settings.seed, RESAMPLES, confidence).ok();
    agreement.confusion = Some(counts);
}

/// Computes what grades allow.
fn graded(agreement: &mut EvaluatorAgreement, grades: &[f64], confidence: f64) {
    let labels: Vec<f64> = agreement.pairs.iter().map(|it| it.label).collect();
    let scores: Vec<f64> = agreement.pairs.iter().map(|it| it.score).collect();
    agreement.correlation = correlation(&labels, &scores).ok();
    if grades.len() <= GRADES {
        // Refused if a score is not a grade.
        let found = kappa(&labels, &scores, grades, Weights::Quadratic).ok();
        agreement.weighted_kappa = found.and_then(|it| with_interval(it, confidence));
    }
}

fn with_interval(kappa: Kappa, confidence: f64) -> Option<KappaEstimate> {
    // What rounding leaves of a zero would be shown as `-0.00`.
    let exact = |number: f64| if number.abs() < 1e-12 { 0.0 } else { number };
    let (value, se) = (exact(kappa.kappa?), exact(kappa.se?));
    let z = normal_quantile(1.0 - (1.0 - confidence) / 2.0);
    let (lower, upper) = ((value - z * se).max(-1.0), (value + z * se).min(1.0));
    Some(KappaEstimate { value, se, lower, upper })
}
