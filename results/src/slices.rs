//! Sums by the values of an attribute: how each model, service or tag does.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    CaseValues, ComparisonSettings, EvaluatorDifference, EvaluatorSums, Report, Slice, Slices,
    comparison::BaseValues, model::has_too_few_cases,
};

/// Attributes whose values are in every run file, so that every report can be sliced by them: service, model, agent.
pub const RECORDED_ATTRIBUTES: [&str; 3] =
    ["service.name", "gen_ai.request.model", "gen_ai.agent.name"];

/// Number of values that have a slice.
const VALUES: usize = 1000;

impl EvaluatorSums {
    /// Returns true if there are too few cases to say much: the interval of the mean is wider than half of the scale.
    pub fn has_too_few_cases(&self) -> bool {
        has_too_few_cases(self.mean.as_ref())
    }
}

impl Report {
    /// Returns the sums by the values of the attributes in [`by`](Self::by), with intervals of this confidence.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn slices(&self, confidence: f64) -> io::Result<Vec<Slices<EvaluatorSums>>> {
        self.sliced(|cases| EvaluatorSums::of(cases, (&[], None), confidence, |_| None))
    }

    /// Returns the differences from a base by the values of the attributes in [`by`](Self::by). Each case is compared with all
    /// of its conversations in the base.
    pub(crate) fn sliced_differences(
        &self,
        base: &BaseValues<'_>,
        settings: &ComparisonSettings,
    ) -> io::Result<Vec<Slices<EvaluatorDifference>>> {
        self.sliced(|cases| base.differences(cases, settings))
    }

    fn sliced<E>(&self, of: impl Fn(&CaseValues) -> Vec<E>) -> io::Result<Vec<Slices<E>>> {
        if self.by.is_empty() {
            return Ok(Vec::new());
        }
        let mut collected: Vec<Collected> = self.by.iter().map(|_| Collected::default()).collect();
        for conversation in self.conversations.iter().outlines() {
            let conversation = conversation?;
            for (by, collected) in self.by.iter().zip(&mut collected) {
                let values = conversation.labels.get(by).map(Vec::as_slice).unwrap_or_default();
                collected.overlapping += u64::from(values.len() > 1);
                let values = values.iter().cloned().map(Some);
                let none = conversation.labels.get(by).is_none_or(Vec::is_empty).then_some(None);
                for value in values.chain(none) {
                    let is_full = collected.slices.len() >= VALUES;
                    if is_full && !collected.slices.contains_key(&value) {
                        collected.left_out += 1;
                        continue;
                    }
                    let (count, cases) = collected.slices.entry(value).or_default();
                    *count += 1;
                    cases.add(&conversation);
                }
            }
        }
        let sliced = self.by.iter().zip(collected);
        Ok(sliced.map(|(by, collected)| collected.finish(by.clone(), &of)).collect())
    }

    /// Returns the attributes that conversations have values of, in alphabetical order: those that [`by`](Self::by) may name.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn labels(&self) -> io::Result<Vec<String>> {
        let mut found = BTreeSet::new();
        for conversation in self.conversations.iter().outlines() {
            let labels = conversation?.labels;
            if labels.keys().any(|label| !found.contains(label)) {
                found.extend(labels.into_keys());
            }
        }
        Ok(found.into_iter().collect())
    }
}

/// Conversations of each value.
#[derive(Default)]
struct Collected {
    slices: BTreeMap<Option<String>, (u64, CaseValues)>,
    overlapping: u64,
    left_out: u64,
}

impl Collected {
    fn finish<E>(self, by: String, of: impl Fn(&CaseValues) -> Vec<E>) -> Slices<E> {
        let Self { slices, overlapping, left_out } = self;
        let slice = |(value, (conversations, cases)): (Option<String>, (u64, CaseValues))| Slice {
            value,
            conversations,
            evaluators: of(&cases),
        };
        let mut slices: Vec<Slice<E>> = slices.into_iter().map(slice).collect();
        slices.sort_by(|one, other| {
            // Those without a value come last.
            let key = |it: &Slice<E>| (it.value.is_none(), Reverse(it.conversations));
            key(one).cmp(&key(other)).then_with(|| one.value.cmp(&other.value))
        });
        Slices { by, slices, overlapping, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConversationReport, EvaluationReport, Status};

    fn conversation(values: &[&str], score: f64) -> ConversationReport {
        let status = if score >= 0.5 { Status::Passed } else { Status::Failed };
        let evaluation = EvaluationReport {
            score: Some(score),
            threshold: Some(0.5),
            status,
            ..EvaluationReport::new("check")
        };
        let values: Vec<String> = values.iter().map(|it| (*it).to_owned()).collect();
        let labels = (!values.is_empty()).then(|| ("model".to_owned(), values));
        ConversationReport {
            labels: labels.into_iter().collect(),
            evaluations: vec![evaluation],
            ..ConversationReport::new("t".into())
        }
    }

    fn slices(conversations: Vec<ConversationReport>) -> Slices<EvaluatorSums> {
        let by = vec!["model".to_owned()];
        let report = Report { conversations: conversations.into(), by, ..Report::default() };
        report.slices(0.95).unwrap().remove(0)
    }

    #[test]
    fn a_conversation_is_in_the_slice_of_each_of_its_values() {
        let found = slices(vec![
            conversation(&["small"], 1.0),
            conversation(&[], 0.0),
            conversation(&["small", "large"], 0.0),
            conversation(&[], 0.0),
            conversation(&[], 0.0),
        ]);
        let rows: Vec<_> = found
            .slices
            .iter()
            .map(|it| (it.value.as_deref(), it.conversations, it.evaluators[0].mean.unwrap().mean))
            .collect();
        assert_eq!(rows, [(Some("small"), 2, 0.5), (Some("large"), 1, 0.0), (None, 3, 0.0)]);
        assert_eq!((found.overlapping, found.left_out), (1, 0));
    }

    #[test]
    fn a_slice_of_few_cases_says_little() {
        let few = |count: usize| {
            let conversations = (0..count).map(|_| conversation(&["small"], 1.0)).collect();
            slices(conversations).slices[0].evaluators[0].has_too_few_cases()
        };
        assert_eq!([8, 9].map(few), [true, false]);
    }

    #[test]
    fn a_value_for_each_conversation_needs_bounded_memory() {
        let conversations =
            (0..VALUES + 5).map(|number| conversation(&[&number.to_string()], 1.0)).collect();
        let found = slices(conversations);
        assert_eq!((found.slices.len(), found.left_out), (VALUES, 5));
    }
}
