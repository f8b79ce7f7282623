//! All evaluators against labels, and against another evaluator.

use std::collections::{BTreeSet, HashSet};

use evaluator_statistics::{Weights, kappa};

use super::{
    matching::Matched,
    measure::Measured,
    model::{Agreement, AgreementError, AgreementSettings, EvaluatorAgreement, RaterComment},
    raters::{Ratings, Reference, applicable},
    talks::Talks,
};
use crate::{Label, LabelCounts, Labels, Report, UnmatchedLabel};

/// Number of unmatched labels that are named.
const NAMED: usize = 10;

impl Agreement {
    /// Holds evaluators of a run against labels, and with [`with`](AgreementSettings::with) against another evaluator.
    ///
    /// # Errors
    ///
    /// A label is contradictory or matches several conversations, none matches any, an evaluator is not in the run, there is
    /// nothing to compare, or a conversation cannot be read back.
    pub fn new(
        report: &Report,
        labels: Option<&Labels>,
        settings: &AgreementSettings,
    ) -> Result<Self, AgreementError> {
        let names: Option<HashSet<&str>> = labels.map(|labels| {
            let names =
                labels.labels.iter().flat_map(|it| [it.case.as_deref(), it.trace_id.as_deref()]);
            names.flatten().collect()
        });
        let names = names.as_ref().filter(|_| settings.with.is_none());
        let talks = Talks::read(report, names)?;
        let chosen = known(&talks, &settings.evaluators)?;
        let with = known(&talks, settings.with.as_slice())?.first().copied();
        if let Some(number) = with.filter(|it| chosen.contains(it)) {
            let name = &talks.evaluators[number];
            return Err(AgreementError::Refused(format!(
                "`{name}` would be compared with itself; --with names another evaluator than --evaluator"
            )));
        }
        let all: Vec<usize> = (0..talks.evaluators.len()).collect();
        let mut agreement = Self {
            labels: None,
            conversations: talks.all.len() as u64,
            confidence: settings.confidence,
            notes: notes(&talks),
            evaluators: Vec::new(),
        };
        if let Some(labels) = labels {
            let both = chosen.iter().copied().chain(with).collect();
            let chosen = if chosen.is_empty() { all.clone() } else { both };
            agreement.against_labels(&talks, labels, &chosen, settings)?;
        }
        if let Some(other) = with {
            let chosen = if chosen.is_empty() { all } else { chosen };
            let compare = |it| against_evaluator(&talks, it, other, settings);
            agreement.evaluators.extend(chosen.into_iter().filter(|it| *it != other).map(compare));
        }
        if agreement.evaluators.iter().all(|it| it.compared == 0) {
            return Err(agreement.nothing());
        }
        Ok(agreement)
    }

    fn against_labels(
        &mut self,
        talks: &Talks,
        labels: &Labels,
        chosen: &[usize],
        settings: &AgreementSettings,
    ) -> Result<(), AgreementError> {
        let about = settings.about.as_deref();
        let is_used = |label: &Label| match (&label.evaluator, about) {
            (Some(name), Some(about)) => name == about,
            (Some(name), None) => chosen.iter().any(|it| talks.evaluators[*it] == *name),
            (None, about) => about.is_none(),
        };
        let matched = Matched::new(&labels.labels, talks)?;
        self.labels = Some(counts(labels, &matched, is_used));
        for evaluator in chosen {
            let of = matched.labels.iter().filter_map(|(talk, labels)| {
                let labels = applicable(labels, &talks.evaluators[*evaluator], about);
                (!labels.is_empty()).then_some((*talk, labels))
            });
            let ratings = Ratings::new(of, settings.pass_from)?;
            if ratings.all.is_empty() {
                continue;
            }
            if settings.min_kappa.is_some() && ratings.are_graded && settings.pass_from.is_none() {
                let first = ratings.all.iter().find_map(|it| it.labels.first());
                let place = first.map(|it| it.place.to_string()).unwrap_or_default();
                return Err(AgreementError::Refused(format!(
                    "{place}: labels are grades, and --min-kappa needs two classes; --pass-from GRADE says from which grade on a label is a pass"
                )));
            }
            self.evaluators.push(against_people(talks, *evaluator, &ratings, settings));
        }
        Ok(())
    }

    /// Returns the reason why no conversation has both a verdict and a reference.
    fn nothing(&self) -> AgreementError {
        if let Some(labels) = self.labels.as_ref().filter(|it| it.about_others > 0)
            && self.evaluators.is_empty()
        {
            let others = labels.others.join(", ");
            return AgreementError::Refused(format!(
                "labels are about {others}, which is not compared; --about NAME uses labels of this name for the evaluators of the run"
            ));
        }
        let errors: u64 = self.evaluators.iter().map(|it| it.errors).sum();
        AgreementError::Refused(format!(
            "there is nothing to compare: no conversation has both a label and a verdict ({errors} errors)"
        ))
    }
}

/// Returns the numbers of evaluators, each once.
pub(super) fn known(talks: &Talks, wanted: &[String]) -> Result<Vec<usize>, AgreementError> {
    let mut numbers = Vec::new();
    for name in wanted {
        let number = talks.evaluators.iter().position(|it| it == name).ok_or_else(|| {
            let names = talks.evaluators.join(", ");
            AgreementError::Refused(format!("the run has no evaluator `{name}`; it has {names}"))
        })?;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn notes(talks: &Talks) -> Vec<String> {
    let mut notes = Vec::new();
    if talks.are_repeated {
        notes.push(
            "evaluations were repeated; what is compared is their combined verdict".to_owned(),
        );
    }
    let several = talks.by_case.values().any(|numbers| numbers.len() > 1);
    if several || talks.are_clustered {
        notes.push(
            "conversations of the same case or cluster are not independent, and intervals do not know it: they are too narrow"
                .to_owned(),
        );
    }
    notes
}

fn counts(labels: &Labels, matched: &Matched<'_>, is_used: impl Fn(&Label) -> bool) -> LabelCounts {
    let others: Vec<&Label> = labels.labels.iter().filter(|label| !is_used(label)).collect();
    let names: BTreeSet<&str> = others.iter().filter_map(|it| it.evaluator.as_deref()).collect();
    let named = matched.unmatched.iter().take(NAMED).map(|label| UnmatchedLabel {
        place: label.place.to_string(),
        name: label.name().to_owned(),
    });
    LabelCounts {
        labels: labels.labels.len() as u64,
        about_others: others.len() as u64,
        others: names.into_iter().map(str::to_owned).collect(),
        unmatched: matched.unmatched.len() as u64,
        unmatched_labels: named.collect(),
        ..labels.counts.clone()
    }
}

fn against_people(
    talks: &Talks,
    evaluator: usize,
    ratings: &Ratings<'_>,
    settings: &AgreementSettings,
) -> EvaluatorAgreement {
    let mut measured = Measured::new(EvaluatorAgreement {
        name: talks.evaluators[evaluator].clone(),
        graded: ratings.are_graded,
        raters: Some(ratings.raters()),
        without_reference: (talks.all.len() - ratings.all.len()) as u64,
        ..EvaluatorAgreement::default()
    });
    let (mut labels, mut verdicts) = (Vec::new(), Vec::new());
    for rated in &ratings.all {
        let talk = &talks.all[rated.talk];
        let (opinion, reference) = (talk.opinion(evaluator), ratings.reference(rated));
        if let Some(passed) = opinion.passed() {
            let classes = ratings.shared_classes(rated);
            verdicts.extend(classes.iter().map(|_| f64::from(passed)));
            labels.extend(classes.into_iter().map(f64::from));
        }
        measured.add(talk, opinion, reference, || {
            let comment = |label: &&Label| RaterComment {
                rater: label.rater.clone(),
                label: label.value.to_string(),
                comment: label.comment.clone(),
            };
            rated.labels.iter().map(comment).collect()
        });
    }
    let grades = ratings.are_graded.then(|| ratings.grades());
    let mut agreement = measured.finish(grades.as_deref(), settings);
    if let Some(raters) = agreement.raters.as_mut().filter(|it| it.alpha.is_some()) {
        let found = kappa(&labels, &verdicts, &[0.0, 1.0], Weights::Equal);
        raters.evaluator = found.ok().and_then(|it| it.kappa);
    }
    agreement
}

fn against_evaluator(
    talks: &Talks,
    evaluator: usize,
    other: usize,
    settings: &AgreementSettings,
) -> EvaluatorAgreement {
    let other_name = &talks.evaluators[other];
    let mut measured = Measured::new(EvaluatorAgreement {
        name: talks.evaluators[evaluator].clone(),
        with: Some(other_name.clone()),
        ..EvaluatorAgreement::default()
    });
    let mut without = 0;
    for talk in &talks.all {
        let reference = talk.opinion(other);
        let Some(passes) = reference.passed() else {
            without += 1;
            continue;
        };
        let label = f64::from(passes);
        let opinion = talk.opinion(evaluator);
        let both = Reference { label, passes: Some(passes) };
        measured.add(talk, opinion, Some(both), || {
            vec![RaterComment {
                rater: Some(other_name.clone()),
                label: if passes { "pass" } else { "fail" }.to_owned(),
                comment: reference.reason.clone(),
            }]
        });
    }
    let mut agreement = measured.finish(None, settings);
    agreement.without_reference = without;
    agreement
}
