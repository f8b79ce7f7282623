//! Scores that follow from verdicts.

use super::{Check, Grade, Item, Scheme};

impl Item {
    /// Returns true if a value is enough for the item, whatever the score of the whole is.
    pub fn accepts(&self, value: f64) -> bool {
        value >= self.min_score.unwrap_or(if self.required { 1.0 } else { 0.0 })
    }
}

impl Scheme {
    /// Returns the value of each item, from 0 to 1; one value if the verdict is a number or a choice.
    pub fn values(&self, grade: &Grade) -> Vec<f64> {
        match (self, grade) {
            (Self::Number(least, greatest), Grade::Number { number, .. }) => {
                vec![(number - least) / (greatest - least)]
            }
            (Self::Choices(choices), Grade::Choice { index, .. }) => {
                choices.get(*index).map(|choice| choice.score).into_iter().collect()
            }
            (_, Grade::Checks { checks, .. }) => checks.iter().map(|check| check.value).collect(),
            // Another scheme has read the reply.
            _ => Vec::new(),
        }
    }

    /// Returns the weighted mean of the values, 0 if all weights are 0.
    pub fn mean(&self, values: &[f64]) -> f64 {
        let Self::Rubrics(items) = self else { return values.first().copied().unwrap_or_default() };
        let weight: f64 = items.iter().map(|item| item.weight).sum();
        let sum: f64 = items.iter().zip(values).map(|(item, value)| item.weight * value).sum();
        if weight > 0.0 { (sum / weight).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the score of a verdict, from 0 to 1.
    pub fn score(&self, grade: &Grade) -> f64 {
        self.mean(&self.values(grade))
    }

    /// Returns the items that a verdict does not fulfil although they are required or have a least score.
    pub fn missed(&self, grade: &Grade) -> impl Iterator<Item = &Item> {
        let values = self.values(grade);
        self.items().iter().zip(values).filter(|(item, value)| !item.accepts(*value)).map(|it| it.0)
    }

    /// Returns the least value of the item of that index that counts as fulfilled, `threshold` if there are no items.
    pub(in crate::judge) fn bar(&self, index: usize, threshold: f64) -> f64 {
        let Some(item) = self.items().get(index) else { return threshold };
        let usual = if self.has_ranges() { Check::GOOD } else { 1.0 };
        item.min_score.unwrap_or(if item.required { 1.0 } else { usual })
    }
}
