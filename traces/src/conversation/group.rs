//! Grouping of traces into conversations.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

use indexmap::{IndexMap, IndexSet};

use crate::{
    json::{Object, Value, is_printable, scalar_text, strip},
    trace::{Trace, TraceIndex, TrackedAttributes},
};

/// Name of a session of the recorder; only on resources.
const SESSION_NAME: &str = "agentevals.session_name";
/// The attributes that group traces, in order of precedence. All but the first may also be on spans.
const KEYS: [&str; 3] = [SESSION_NAME, "gen_ai.conversation.id", "session.id"];
/// The attributes that an index has to track for [`group_indexed`] without reading traces.
pub const GROUPING: TrackedAttributes = TrackedAttributes { keys: &KEYS, name };
/// Maximum length of the name of a conversation in characters.
const MAX_KEY_CHARS: usize = 256;

/// Rule by which traces form conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// By conversation if a resource has `agentevals.session_name` or an eval case has several turns, else by trace.
    #[default]
    Auto,
    /// Each trace id is a conversation.
    Trace,
    /// All traces with the same session name, conversation id or session id.
    Conversation,
}

/// How traces were grouped into conversations, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GroupedBy {
    /// By trace, as asked for.
    Trace,
    /// By trace, because nothing asks for conversations.
    TraceByDefault,
    /// By conversation, as asked for.
    Conversation,
    /// By conversation, because a case of the eval set has several turns.
    MultiTurnCase,
    /// By conversation, because a trace names its session.
    SessionName,
}

impl GroupedBy {
    /// Returns `trace` or `conversation`, as the option is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.is_by_conversation() { "conversation" } else { "trace" }
    }

    /// Returns true if traces of one session are one conversation.
    #[must_use]
    pub fn is_by_conversation(self) -> bool {
        !matches!(self, Self::Trace | Self::TraceByDefault)
    }

    /// Decides by the option and the data; `names_session` is called only if it decides.
    fn decide(group_by: GroupBy, multi_turn: bool, names_session: impl FnOnce() -> bool) -> Self {
        match group_by {
            GroupBy::Trace => Self::Trace,
            GroupBy::Conversation => Self::Conversation,
            GroupBy::Auto if multi_turn => Self::MultiTurnCase,
            GroupBy::Auto if names_session() => Self::SessionName,
            GroupBy::Auto => Self::TraceByDefault,
        }
    }
}

/// A sentence without its full stop.
impl fmt::Display for GroupedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "each trace is a conversation, as --group-by says",
            Self::TraceByDefault => {
                "each trace is a conversation: no resource has agentevals.session_name and no eval case has several \
                 turns"
            }
            Self::Conversation => {
                "traces with the same session name, conversation id or session id are one conversation, as --group-by \
                 says"
            }
            Self::MultiTurnCase => {
                "traces with the same session name, conversation id or session id are one conversation, because an \
                 eval case has several turns"
            }
            Self::SessionName => {
                "traces with the same session name, conversation id or session id are one conversation, because a \
                 resource has agentevals.session_name"
            }
        })
    }
}

/// The traces of one conversation, by start. Never empty.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    members: Vec<&'a Trace>,
}

impl<'a> Group<'a> {
    /// Returns a group of these traces, at least one.
    pub fn new(mut members: Vec<&'a Trace>) -> Self {
        members.sort_by_cached_key(|trace| trace.start_ns());
        Self { members }
    }

    /// Returns the traces, sorted by start.
    #[must_use]
    pub fn members(&self) -> &[&'a Trace] {
        &self.members
    }
}

/// Groups traces, in the order in which the groups are first seen.
///
/// `eval_set_has_multi_turn` says whether a golden conversation has more than one turn.
#[must_use]
pub fn group(traces: &[Trace], group_by: GroupBy, eval_set_has_multi_turn: bool) -> Vec<Group<'_>> {
    let names_session = || traces.iter().any(has_session_name);
    let by_conversation =
        GroupedBy::decide(group_by, eval_set_has_multi_turn, names_session).is_by_conversation();
    // The parts of a trace in several files belong together, whichever of them names the conversation.
    let mut keys: HashMap<&str, String> = HashMap::new();
    for trace in traces.iter().filter(|_| by_conversation) {
        if let Entry::Vacant(entry) = keys.entry(&*trace.trace_id)
            && let Some(key) = conversation_key(trace)
        {
            entry.insert(key);
        }
    }
    let mut groups: IndexMap<&str, Vec<&Trace>> = IndexMap::new();
    for trace in traces {
        let key = keys.get(&*trace.trace_id).map_or(&*trace.trace_id, String::as_str);
        groups.entry(key).or_default().push(trace);
    }
    groups.into_values().map(Group::new).collect()
}

/// Conversations as numbers of traces: eight bytes for each conversation of one trace, and four for each further trace.
#[derive(Debug, Default)]
pub struct Groups {
    /// Traces by group, and within a group in the order of the index.
    members: Vec<u32>,
    /// End of each group in `members`.
    ends: Vec<u32>,
}

impl Groups {
    /// Returns the number of groups.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the only caller counts")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the traces of a group, at least one.
    pub fn get(&self, group: usize) -> impl ExactSizeIterator<Item = usize> {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.members[start as usize..self.ends[group] as usize].iter().map(|trace| *trace as usize)
    }

    /// Sorts traces into `groups` groups by their numbers in `group_of`.
    fn sorted(group_of: &[u32], groups: usize) -> Self {
        // First the start of each group, which moves to its end while the group is filled.
        let mut ends = vec![0; groups];
        for group in group_of {
            ends[*group as usize] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            let count = std::mem::replace(end, start);
            start += count;
        }
        let mut members = vec![0; group_of.len()];
        for (trace, group) in (0..).zip(group_of) {
            let next = &mut ends[*group as usize];
            members[*next as usize] = trace;
            *next += 1;
        }
        Self { members, ends }
    }
}

/// Groups traces that are not in memory as [`group`] does.
///
/// Only traces whose names the index does not know are read. A trace that cannot be read is a group of its own; the next
/// read reports the error.
#[must_use]
pub fn group_indexed(
    index: &TraceIndex,
    group_by: GroupBy,
    eval_set_has_multi_turn: bool,
) -> (Groups, GroupedBy) {
    let names_session = || {
        (0..index.len()).any(|trace| match index.tracked(trace) {
            Some(names) => names.get(0, true).is_some(),
            None => index.read(trace).is_ok_and(|trace| has_session_name(&trace)),
        })
    };
    let grouped_by = GroupedBy::decide(group_by, eval_set_has_multi_turn, names_session);
    // The number of each conversation's name, by the number of the name that is the id of its traces. Of a trace with parts
    // in several files, the first part with a name decides.
    let mut keys = vec![NONE; index.names()];
    // Names that were found by reading traces.
    let mut others = IndexSet::new();
    for trace in (0..index.len()).filter(|_| grouped_by.is_by_conversation()) {
        let id = index.id_number(trace) as usize;
        if keys[id] == NONE
            && let Some(key) = indexed_key(index, &mut others, trace)
        {
            keys[id] = u32::try_from(key).unwrap_or(NONE);
        }
    }
    // The number of each group, by the number of its name.
    let mut numbers = vec![NONE; index.names() + others.len()];
    let mut groups = 0;
    let mut group_of = Vec::with_capacity(index.len());
    for trace in 0..index.len() {
        let id = index.id_number(trace);
        let key = match keys[id as usize] {
            NONE => id,
            key => key,
        };
        let number = &mut numbers[key as usize];
        if *number == NONE {
            *number = groups;
            groups += 1;
        }
        group_of.push(*number);
    }
    drop((keys, numbers));
    (Groups::sorted(&group_of, groups as usize), grouped_by)
}

/// Not the number of a name.
const NONE: u32 = u32::MAX;

/// Returns the number of the name that [`conversation_key`] gives a trace.
fn indexed_key(index: &TraceIndex, others: &mut IndexSet<String>, trace: usize) -> Option<usize> {
    if let Some(names) = index.tracked(trace) {
        let first =
            (1..KEYS.len()).find_map(|key| names.get(key, false).or_else(|| names.get(key, true)));
        return names.get(0, true).or(first).map(|name| name as usize);
    }
    let name = conversation_key(&*index.read(trace).ok()?)?;
    let known = index.name_number(&name).map(|name| name as usize);
    Some(known.unwrap_or_else(|| index.names() + others.insert_full(name).0))
}

fn has_session_name(trace: &Trace) -> bool {
    trace.spans.iter().any(|span| key_in(&span.resource, SESSION_NAME).is_some())
}

/// Returns the name of the conversation of a trace, from the earliest span that has one.
fn conversation_key(trace: &Trace) -> Option<String> {
    let mut spans: Vec<_> = trace.spans.iter().collect();
    spans.sort_by(|a, b| (a.start_ns, &a.span_id).cmp(&(b.start_ns, &b.span_id)));
    let on_resource = |key| spans.iter().find_map(|span| key_in(&span.resource, key));
    let on_span = |key| spans.iter().find_map(|span| key_in(&span.attributes, key));
    let [session_name, others @ ..] = KEYS;
    on_resource(session_name)
        .or_else(|| others.into_iter().find_map(|key| on_span(key).or_else(|| on_resource(key))))
}

fn key_in(attributes: &Object, key: &str) -> Option<String> {
    name(attributes.get(key)?)
}

/// Returns the name in a value: text or a number, printable and not too long.
fn name(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null | Value::Bool(_) => return None,
        value => scalar_text(value)?,
    };
    let text = strip(&text);
    let is_name =
        !text.is_empty() && text.chars().count() <= MAX_KEY_CHARS && text.chars().all(is_printable);
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::conversation::testing::Recording;

    fn trace(number: u64, start: u64, resource: Value, attributes: Value) -> Trace {
        Recording::default()
            .with_trace_id(number)
            .with_resource(resource)
            .span((number, 0), "span", (start, start + 1), attributes)
            .trace()
    }

    /// The trace numbers of each group.
    fn groups(traces: &[Trace], group_by: GroupBy, multi_turn: bool) -> Vec<Vec<u64>> {
        let number = |trace: &&Trace| u64::from_str_radix(&trace.trace_id, 16).unwrap();
        group(traces, group_by, multi_turn)
            .iter()
            .map(|group| group.members().iter().map(number).collect())
            .collect()
    }

    #[test]
    fn traces_of_a_session_are_one_group_in_order_of_time() {
        let session = |name: &str| json!({"agentevals.session_name": name});
        let traces = [
            trace(1, 30, session("s"), json!({})),
            trace(2, 10, json!({}), json!({})),
            trace(3, 20, session(" s "), json!({})),
        ];
        assert_eq!(groups(&traces, GroupBy::Auto, false), [vec![3, 1], vec![2]]);
        assert_eq!(groups(&traces, GroupBy::Trace, true), [[1], [2], [3]]);
    }

    #[test]
    fn conversation_ids_count_when_the_eval_set_has_several_turns() {
        let traces = [
            trace(1, 0, json!({"session.id": "c"}), json!({"gen_ai.conversation.id": 7})),
            trace(2, 5, json!({"gen_ai.conversation.id": "7"}), json!({})),
            trace(3, 9, json!({"session.id": "c"}), json!({})),
        ];
        assert_eq!(groups(&traces, GroupBy::Auto, true), [vec![1, 2], vec![3]]);
        assert_eq!(groups(&traces, GroupBy::Auto, false), [[1], [2], [3]]);
    }

    #[test]
    fn what_cannot_be_a_name_is_none() {
        let key =
            |value: Value| conversation_key(&trace(1, 0, json!({"session.id": value}), json!({})));
        assert_eq!(key(json!(42)).as_deref(), Some("42"));
        assert_eq!(key(json!(3.0)).as_deref(), Some("3.0"));
        assert_eq!(key(json!("é x")).as_deref(), Some("é x"));
        for bad in [
            json!(true),
            json!(""),
            json!("a\tb"),
            json!("a\u{200b}b"),
            json!("x".repeat(257)),
            json!(["x"]),
        ] {
            assert_eq!(key(bad.clone()), None, "{bad}");
        }
    }
}
