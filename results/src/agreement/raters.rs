//! What several people say about a conversation together.

use std::collections::{BTreeMap, BTreeSet};

use evaluator_statistics::{Level, kripp};

use super::model::Raters;
use crate::{Label, LabelError, LabelValue};

/// What people say about a conversation.
pub(super) struct Rated<'l> {
    /// Number of the conversation.
    pub(super) talk: usize,
    /// The labels.
    pub(super) labels: Vec<&'l Label>,
    /// Them as numbers: 1 and 0 for classes, else grades.
    values: Vec<f64>,
}

/// What people say about all conversations.
pub(super) struct Ratings<'l> {
    pub(super) all: Vec<Rated<'l>>,
    /// Whether labels are grades, not classes.
    pub(super) are_graded: bool,
    /// Grade from which on a label is a pass.
    pass_from: Option<f64>,
}

/// What people say about a conversation together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    /// The class as 1 or 0, or the grade.
    pub(super) label: f64,
    /// The class; `None` for grades without classes.
    pub(super) passes: Option<bool>,
}

impl<'l> Ratings<'l> {
    /// Collects labels by conversation.
    ///
    /// # Errors
    ///
    /// Some labels are classes, and others are grades.
    pub(super) fn new(
        labels: impl Iterator<Item = (usize, Vec<&'l Label>)>,
        pass_from: Option<f64>,
    ) -> Result<Self, LabelError> {
        let number = |label: &&Label| match label.value {
            LabelValue::Class(class) => f64::from(class),
            LabelValue::Number(number) => number,
        };
        let rated = |(talk, labels): (usize, Vec<&'l Label>)| {
            let values = labels.iter().map(number).collect();
            Rated { talk, labels, values }
        };
        let all: Vec<Rated<'l>> = labels.map(rated).collect();
        let each = || all.iter().flat_map(|rated| rated.labels.iter().copied());
        let grade =
            each().find(|it| matches!(it.value, LabelValue::Number(n) if n != 0.0 && n != 1.0));
        let class = each().find(|it| matches!(it.value, LabelValue::Class(_)));
        if let (Some(grade), Some(class)) = (grade, class) {
            return Err(class.place.error(format!(
                "`{}` is a class, and {} at {} is a grade; labels are one of both (--label 'WORD=NUMBER' makes a word a grade)",
                class.value, grade.value, grade.place
            )));
        }
        Ok(Self { all, are_graded: grade.is_some(), pass_from })
    }

    /// Returns what people say together: the class of most, or the lower middle one of their grades. `None` if as many say one as
    /// the other.
    pub(super) fn reference(&self, rated: &Rated<'_>) -> Option<Reference> {
        let mut grades = rated.values.clone();
        grades.sort_by(f64::total_cmp);
        let grade = *grades.get((grades.len().max(1) - 1) / 2)?;
        let Some(limit) = self.limit() else {
            return Some(Reference { label: grade, passes: None });
        };
        let passes = grades.iter().filter(|value| **value >= limit).count();
        let passes = match (2 * passes).cmp(&grades.len()) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => return None,
        };
        let label = if self.are_graded { grade } else { f64::from(passes) };
        Some(Reference { label, passes: Some(passes) })
    }

    /// Returns each label of a conversation that several people labelled as a class; nothing for grades without classes.
    pub(super) fn shared_classes(&self, rated: &Rated<'_>) -> Vec<bool> {
        match self.limit() {
            Some(limit) if rated.values.len() > 1 => {
                rated.values.iter().map(|value| *value >= limit).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the number from which on a label is a pass.
    fn limit(&self) -> Option<f64> {
        if self.are_graded { self.pass_from } else { Some(0.5) }
    }

    /// Returns all grades that people gave, in order.
    pub(super) fn grades(&self) -> Vec<f64> {
        let mut grades: Vec<f64> =
            self.all.iter().flat_map(|rated| rated.values.iter().copied()).collect();
        grades.sort_by(f64::total_cmp);
        grades.dedup();
        grades
    }

    /// Returns who labelled, and how much they agree.
    pub(super) fn raters(&self) -> Raters {
        let labels = || self.all.iter().flat_map(|rated| &rated.labels);
        let names: BTreeSet<Option<&str>> = labels().map(|label| label.rater.as_deref()).collect();
        let units: Vec<&[f64]> = self.all.iter().map(|rated| &*rated.values).collect();
        let level = if self.are_graded { Level::Interval } else { Level::Nominal };
        Raters {
            raters: names.len() as u64,
            labels: labels().count() as u64,
            shared: units.iter().filter(|unit| unit.len() > 1).count() as u64,
            alpha: kripp(&units, level).ok().and_then(|it| it.alpha),
            evaluator: None,
        }
    }
}

/// Returns the labels of a conversation that count for an evaluator: of each person those about it, else those about any.
/// With `about`, only labels about the evaluator of that name count.
pub(super) fn applicable<'l>(
    labels: &[&'l Label],
    evaluator: &str,
    about: Option<&str>,
) -> Vec<&'l Label> {
    let mut by_rater: BTreeMap<Option<&str>, &'l Label> = BTreeMap::new();
    let wanted = about.unwrap_or(evaluator);
    let mut order = Vec::new();
    for label in labels.iter().copied() {
        let rater = label.rater.as_deref();
        match label.evaluator.as_deref() {
            Some(name) if name == wanted => {
                by_rater.insert(rater, label);
            }
            None if about.is_none() => {
                by_rater.entry(rater).or_insert(label);
            }
            _ => continue,
        }
        if !order.contains(&rater) {
            order.push(rater);
        }
    }
    order.iter().filter_map(|rater| by_rater.get(rater).copied()).collect()
}
