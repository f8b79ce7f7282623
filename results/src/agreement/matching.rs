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
    /// Finds the conversation of each label: by its trace id, else by the id of its case.
    ///
    /// # Errors
    ///
    /// No label matches, one person labelled a conversation twice, or a case has several conversations.
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

fn find(label: &Label, talks: &Talks) -> Result<Option<usize>, LabelError> {
    let trace = |id: &str| talks.by_trace.get(id).copied();
    if let Some(number) = label.trace_id.as_deref().and_then(trace) {
        return Ok(Some(number));
    }
    let Some(case) = label.case.as_deref() else { return Ok(None) };
    match talks.by_case.get(case).map(Vec::as_slice) {
        None => Ok(trace(case)),
        Some([number]) => Ok(Some(*number)),
        Some(several) => Err(label.place.error(format!(
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
    AgreementError::Nothing(format!(
        "no label matches a conversation of the run: labels name {}, and cases of the run are {cases}; a label names the golden case, \
         the value of --case-key, or the trace id",
        labels.join(", ")
    ))
}
