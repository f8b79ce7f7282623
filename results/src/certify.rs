//! Certifies an evaluator by labels of people.

use std::collections::HashSet;

use evaluator_statistics::{Estimate, Weights, clopper_pearson, kappa};

use crate::{
    Agreement, AgreementError, AgreementSettings, Certificate, CertifiedLabels, EvaluatorAgreement,
    Labels, Report,
};

/// The part of labels that counts, if they have parts. Prompts are written with the others.
const TEST: &str = "test";

/// Confidence with which labels have to be chosen by verdicts to be refused.
const CONFIDENCE: f64 = 0.999;

/// A certificate that was made, and what it does not rest on.
#[derive(Clone, Debug, PartialEq)]
pub struct Certified {
    /// The certificate.
    pub certificate: Certificate,
    /// Number of further recordings of cases that count already, which are not independent of them.
    pub further_recordings: u64,
}

/// Certifies the evaluator of a run that the settings name. Of labels with parts, those of the part `test` count.
///
/// # Errors
///
/// The settings do not name one evaluator, the labels cannot be compared with it, or they do not suffice.
pub fn certify(
    report: &Report,
    mut labels: Labels,
    settings: &AgreementSettings,
) -> Result<Certified, AgreementError> {
    let has_parts = keep_test_part(&mut labels)?;
    let agreement = Agreement::new(report, Some(&labels), settings)?;
    let [found] = &agreement.evaluators[..] else {
        let names: Vec<&str> = agreement.evaluators.iter().map(|it| &*it.name).collect();
        let reason = format!(
            "a certificate is of one evaluator; choose one with --evaluator: {}",
            names.join(", ")
        );
        return Err(unusable("labels", &reason));
    };
    let name = &*found.name;
    let header = report.header.as_ref().filter(|header| header.is_of_run_file());
    let Some(entry) = header.and_then(|header| header.entry(name)) else {
        return Err(unusable(name, "the run does not have the digests of its evaluators"));
    };
    if entry.repeat > 1 {
        let reason = "its evaluations are repeated, and a certificate is about single ones; run it without `repeat`";
        return Err(unusable(name, reason));
    }
    ensure_at_random(report, found)?;
    let mut cases: HashSet<&str> = HashSet::new();
    let (mut counted, mut further_recordings) = (Vec::new(), 0);
    for pair in &found.pairs {
        let Some(is_good) = pair.label_passes else {
            let reason =
                "labels are grades; --pass-from GRADE says from which grade on a case is good";
            return Err(unusable(name, reason));
        };
        if cases.insert(&pair.case) {
            counted.push((&*pair.case, is_good, pair.passed));
        } else {
            further_recordings += 1;
        }
    }
    counted.sort_unstable();
    let labelled: Vec<(&str, bool)> =
        counted.iter().map(|(case, good, _)| (*case, *good)).collect();
    let part = has_parts.then(|| TEST.to_owned());
    let mut certified = CertifiedLabels::new(part, &labelled, found.ties);
    counted.iter().for_each(|(_, is_good, passed)| certified.add(*is_good, *passed));
    let certificate = entry.certify(certified, kappa_of(&counted))?;
    Ok(Certified { certificate, further_recordings })
}

/// Keeps the labels of the part `test`. Returns whether labels have parts; without parts all are kept.
fn keep_test_part(labels: &mut Labels) -> Result<bool, AgreementError> {
    if labels.labels.iter().all(|label| label.split.is_none()) {
        return Ok(false);
    }
    labels.labels.retain(|label| label.split.as_deref() == Some(TEST));
    if !labels.labels.is_empty() {
        return Ok(true);
    }
    let reason = match labels.counts.other_splits {
        0 => "they have parts (`split`), and none is `test`",
        _ => {
            "a certificate counts those of the part `test`, and --split excludes them; leave --split out"
        }
    };
    Err(unusable("labels", reason))
}

/// Returns kappa of the cases that are counted, each with whether it is good and whether it passed.
fn kappa_of(counted: &[(&str, bool, bool)]) -> Option<f64> {
    let labels: Vec<f64> = counted.iter().map(|(_, is_good, _)| f64::from(*is_good)).collect();
    let verdicts: Vec<f64> = counted.iter().map(|(.., passed)| f64::from(*passed)).collect();
    kappa(&labels, &verdicts, &[0.0, 1.0], Weights::Equal).ok()?.kappa
}

/// Checks that as large a share of the labelled conversations passes as of all. If labels were chosen by what the evaluator says,
/// the rates of the labelled conversations are not its rates.
fn ensure_at_random(report: &Report, found: &EvaluatorAgreement) -> Result<(), AgreementError> {
    let all = report.evaluators(CONFIDENCE)?;
    let Some(all) = all.into_iter().find(|it| it.name == found.name) else { return Ok(()) };
    let (labelled, scored) = (found.pairs.len(), all.tally.scored());
    let passed = found.pairs.iter().filter(|pair| pair.passed).count();
    let Ok(Estimate { interval, .. }) = clopper_pearson(passed, labelled, CONFIDENCE) else {
        return Ok(());
    };
    let share = all.tally.passed as f64 / scored.max(1) as f64;
    if (interval.lower..=interval.upper).contains(&share) {
        return Ok(());
    }
    let reason = format!(
        "it passes {passed} of {labelled} labelled conversations and {} of {scored} in the run, so the labels were not chosen at \
         random; `agree --sheet FILE --at-random` draws conversations to label",
        all.tally.passed
    );
    Err(unusable(&found.name, &reason))
}

fn unusable(about: &str, reason: &str) -> AgreementError {
    AgreementError::Refused(format!("{about}: {reason}"))
}
