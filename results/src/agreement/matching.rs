//! Which label belongs to which conversation.

use std::collections::{BTreeMap, HashMap};

use super::{model::AgreementError, talks::Talks};
use crate::{Label, LabelError};

/// Number of examples in a message.
const NAMED: usize = 3;

/// Labels by conversation.
pub(super) struct Matched<'l> {
    /// By the number of the conversation, in the order of the files.
    pub(super) labels: BTreeMap<usize, Vec<&'l Label>>,
    /// Those that match none.
    pub(super) unmatched: Vec<&'l Label>,
}

/// Person and evaluator of a label.
type Key<'l> = (Option<&'l str>, Option<&'l str>);

impl<'l> Matched<'l> {
    /// Finds the conversation of each label.
    ///
    /// # Errors
    ///
    /// No label matches, one names two conversations, one person labelled a conversation twice, or a case has several conversations.
    pub(super) fn new(labels: &'l [Label], talks: &Talks) -> Result<Self, AgreementError> {
        let mut matched = Self { labels: BTreeMap::new(), unmatched: Vec::new() };
        let mut seen: HashMap<(usize, Key<'l>), &Label> = HashMap::new();
        for label in labels {
            let Some(number) = find(label, talks)? else {
                matched.unmatched.push(label);
                continue;
            };
            let key = (label.rater.as_deref(), label.evaluator.as_deref());
            if let Some(first) = seen.insert((number, key), label) {
                return Err(twice(label, first).into());
            }
            matched.labels.entry(number).or_default().push(label);
        }
        if matched.labels.is_empty() {
            return Err(nothing(&matched.unmatched, talks));
        }
        Ok(matched)
    }
}

/// Returns the conversation of a label: that of its trace id if it has one, else that of its case.
fn find(label: &Label, talks: &Talks) -> Result<Option<usize>, LabelError> {
    let trace = |id: &str| talks.by_trace.get(id).copied();
    let of_case = |case: &str| match talks.by_case.get(case) {
        Some(numbers) => numbers.clone(),
        None => trace(case).into_iter().collect(),
    };
    let named = label.case.as_deref().map(|case| (case, of_case(case)));
    if let Some(id) = label.trace_id.as_deref() {
        // Its case may be in the run by another recording, which is not the labelled one.
        let Some(number) = trace(id) else { return Ok(None) };
        return match named {
            Some((case, numbers)) if !numbers.is_empty() && !numbers.contains(&number) => {
                Err(label.place.error(format!(
                    "trace id `{id}` is a conversation of `{}`, and case `{case}` is another one",
                    talks.all[number].case
                )))
            }
            _ => Ok(Some(number)),
        };
    }
    match named.as_ref().map(|(case, numbers)| (case, numbers.as_slice())) {
        None | Some((_, [])) => Ok(None),
        Some((_, [number])) => Ok(Some(*number)),
        Some((case, several)) => Err(label.place.error(format!(
            "case `{case}` has {} conversations in the run; say by `trace_id` which of them is labelled",
            several.len()
        ))),
    }
}

fn twice(label: &Label, first: &Label) -> LabelError {
    let who = match &label.rater {
        Some(rater) => format!("`{rater}` labelled `{}` twice", label.name()),
        None => format!(
            "`{}` is labelled twice; if two people labelled it, a column `rater` says who",
            label.name()
        ),
    };
    label.place.error(format!("{who}: the other label is {}", first.place))
}

fn nothing(unmatched: &[&Label], talks: &Talks) -> AgreementError {
    let labels: Vec<String> = unmatched
        .iter()
        .take(NAMED)
        .map(|label| format!("`{}` ({})", label.name(), label.place))
        .collect();
    let cases: Vec<String> =
        talks.all.iter().take(NAMED).map(|talk| format!("`{}`", talk.case)).collect();
    let cases = if cases.is_empty() { "none".to_owned() } else { cases.join(", ") };
    AgreementError::Refused(format!(
        "no label matches a conversation of the run: labels name {}, and cases of the run are {cases}; a label names the golden case, \
         the value of --case-key, or the trace id",
        labels.join(", ")
    ))
}
