//! From traces to conversations.

use std::{borrow::Cow, collections::BTreeSet, path::PathBuf, sync::Arc};

use indexmap::{IndexMap, IndexSet};

use super::{
    Attachment, Conversation, Group, GroupBy, Labels, Turn,
    convention::{Conventions, keys},
    group,
    join::join,
    performance::measure,
    turns::{RecordedSides, read_turns},
};
use crate::{
    json::{Object, scalar_text},
    trace::{Trace, merge},
};

/// Names the golden conversation a recording is to be compared with.
const CASE_ID: &str = "agentevals.eval.case.id";

/// Groups traces and extracts the conversation of each group, in the order in which the groups are first seen.
///
/// Reads the built-in conventions. [`GroupBy::Auto`] uses `eval_set_has_multi_turn`: whether a golden conversation has more
/// than one turn.
pub fn extract(
    traces: &[Trace],
    group_by: GroupBy,
    eval_set_has_multi_turn: bool,
) -> Vec<Conversation> {
    let groups = group(traces, group_by, eval_set_has_multi_turn);
    groups.iter().map(|group| extract_group(group, Conventions::built_in())).collect()
}

/// Extracts the conversation of a group. Groups have nothing in common, so this can run on several threads.
pub fn extract_group(group: &Group<'_>, conventions: &Conventions) -> Conversation {
    let traces = whole_traces(group.members());
    let group = Group::new(traces.iter().map(AsRef::as_ref).collect());
    let members = group.members();
    let mut errors: BTreeSet<String> =
        members.iter().flat_map(|trace| trace.errors.iter().cloned()).collect();
    let drafts = members.iter().flat_map(|trace| read_turns(trace, conventions, &mut errors));
    let drafts = join(drafts.collect());
    let recorded = RecordedSides::of(&drafts);
    let mut warnings: BTreeSet<String> =
        members.iter().flat_map(|trace| trace.warnings.iter().cloned()).collect();
    let mut turns: Vec<Turn> =
        drafts.into_iter().map(|turn| turn.finish(recorded, &mut warnings)).collect();
    forget_repeated(&mut turns);
    Conversation {
        trace_id: members
            .first()
            .map_or_else(|| Arc::from(""), |trace| Arc::clone(&trace.trace_id)),
        file: members.first().map_or_else(PathBuf::new, |trace| trace.file.clone()),
        performance: Some(measure(&turns, members)),
        operations: if turns.is_empty() { operations(members) } else { Vec::new() },
        turns,
        case_id: case_id(members),
        labels: Labels::new(),
        warnings: warnings.into_iter().collect(),
        errors: errors.into_iter().collect(),
        dropped_copies: members.iter().map(|trace| trace.dropped_copies).sum(),
    }
}

/// Forgets attachments of the history that earlier turns have.
fn forget_repeated(turns: &mut [Turn]) {
    for number in 0..turns.len() {
        let (before, rest) = turns.split_at_mut(number);
        if let Some(turn) = rest.first_mut() {
            let is_known =
                |it: &Attachment| before.iter().flat_map(Turn::attachments).any(|one| one == it);
            turn.earlier_attachments.retain(|it| !is_known(it));
        }
    }
}

/// Joins the parts of each trace that are in several files.
fn whole_traces<'a>(members: &[&'a Trace]) -> Vec<Cow<'a, Trace>> {
    if let [only] = members {
        return vec![Cow::Borrowed(*only)];
    }
    let mut parts: IndexMap<&str, Vec<&Trace>> = IndexMap::new();
    for trace in members {
        parts.entry(&trace.trace_id).or_default().push(trace);
    }
    let whole = parts.into_values().filter_map(|parts| match parts[..] {
        [only] => Some(Cow::Borrowed(only)),
        _ => merge(&parts).map(Cow::Owned),
    });
    whole.collect()
}

/// Returns the different operations of the spans, in recorded order.
fn operations(members: &[&Trace]) -> Vec<String> {
    let spans = members.iter().flat_map(|trace| &trace.spans);
    let found: IndexSet<String> = spans
        .filter_map(|span| span.attributes.get(keys::OPERATION).and_then(scalar_text))
        .filter(|operation| !operation.is_empty())
        .collect();
    found.into_iter().collect()
}

fn case_id(members: &[&Trace]) -> Option<String> {
    let read = |attributes: &Object| {
        let value = attributes.get(CASE_ID).filter(|value| !value.is_null())?;
        scalar_text(value).filter(|id| !id.is_empty())
    };
    members
        .iter()
        .flat_map(|trace| &trace.spans)
        .find_map(|span| read(&span.attributes).or_else(|| read(&span.resource)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::testing::{Recording, says};

    #[test]
    fn groups_can_be_extracted_on_threads() {
        let traces: Vec<_> = (1..=4)
            .map(|number| {
                Recording::default()
                    .with_trace_id(number)
                    .with_resource(json!({CASE_ID: number}))
                    .chat((number, 0), (0, 1), json!([says("user", "hi")]), json!(null))
                    .trace()
            })
            .collect();
        let groups = group(&traces, GroupBy::Trace, false);
        let case_ids: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = groups
                .iter()
                .map(|group| scope.spawn(|| extract_group(group, Conventions::built_in())))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap().case_id.unwrap()).collect()
        });
        assert_eq!(case_ids, ["1", "2", "3", "4"]);
    }

    #[test]
    fn a_trace_without_turns_is_a_conversation_without_turns() {
        let recording = Recording::default().span((1, 0), "GET", (5, 25), json!({}));
        let conversations = extract(&[recording.trace()], GroupBy::Auto, false);
        let performance = conversations[0].performance.as_ref().unwrap();
        assert!(conversations[0].turns.is_empty());
        assert_eq!((performance.latency.overall.median, performance.counts.invocations), (20.0, 0));
    }
}
