//! Grouping of traces into conversations.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

use indexmap::{IndexMap, IndexSet};

use crate::{
    json::{Object, Value},
    json::{is_printable, scalar_text, strip},
    trace::{Seen, Trace, TraceIndex, Watch},
};

/// Names a session of the recorder; only on resources.
const SESSION_NAME: &str = "agentevals.session_name";
/// The attributes that group traces, in the order in which they count. All but the first may stand on spans too.
const KEYS: [&str; 3] = [SESSION_NAME, "gen_ai.conversation.id", "session.id"];
/// What has to be known of traces to group them without reading them.
pub const GROUPING: Watch = Watch { keys: &KEYS, text: name };
/// Longer names of conversations are not names.
const MAX_KEY_CHARS: usize = 256;

/// What belongs to one conversation.
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

/// How traces were grouped into conversations, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// Decides by what was asked for and what there is; `names_session` is called only if it decides.
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
    /// These traces, which are at least one, as a conversation.
    pub fn new(mut members: Vec<&'a Trace>) -> Self {
        members.sort_by_cached_key(|trace| trace.start_ns());
        Self { members }
    }

    /// The traces, sorted by start.
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

/// Conversations as the numbers of their traces. Two numbers of four bytes for a conversation of one trace, and one for
/// each other trace.
#[derive(Debug, Default)]
pub struct Groups {
    /// Group by group, and within a group in the order of the index.
    members: Vec<u32>,
    /// Where each group ends.
    ends: Vec<u32>,
}

impl Groups {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The traces of a group, which are at least one.
    pub fn get(&self, group: usize) -> impl ExactSizeIterator<Item = usize> {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.members[start as usize..self.ends[group] as usize].iter().map(|trace| *trace as usize)
    }

    /// Sorts traces into the groups whose numbers they have, of which there are so many.
    fn sorted(group_of: &[u32], groups: usize) -> Self {
        // First where each group starts, which moves on to where it ends as it is filled.
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

/// Groups traces that are not in memory as [`group`] does, by their numbers.
///
/// Reads only those of which nothing less tells the group. One that cannot be read is a group by itself; whoever reads
/// it next will say why.
pub fn group_indexed(
    index: &TraceIndex,
    group_by: GroupBy,
    eval_set_has_multi_turn: bool,
) -> (Groups, GroupedBy) {
    let names_session = || {
        (0..index.len()).any(|trace| match index.seen(trace) {
            Seen::Texts(texts) => texts.get(0, true).is_some(),
            Seen::Unsure => index.read(trace).is_ok_and(|trace| has_session_name(&trace)),
        })
    };
    let grouped_by = GroupedBy::decide(group_by, eval_set_has_multi_turn, names_session);
    let by_conversation = grouped_by.is_by_conversation();
    // By the number of the text that is their key.
    let mut numbers = vec![NONE; index.texts()];
    let mut groups = 0;
    // Names that turned up when traces were read.
    let mut others = IndexSet::new();
    let keys = if by_conversation { indexed_keys(index, &mut others) } else { Vec::new() };
    let mut group_of = Vec::with_capacity(index.len());
    for trace in 0..index.len() {
        let id = index.trace_id_text(trace);
        let key = keys.get(id as usize).copied().filter(|key| *key != NONE).unwrap_or(id) as usize;
        if key >= numbers.len() {
            numbers.resize(key + 1, NONE);
        }
        if numbers[key] == NONE {
            numbers[key] = groups;
            groups += 1;
        }
        group_of.push(numbers[key]);
    }
    drop(numbers);
    (Groups::sorted(&group_of, groups as usize), grouped_by)
}

/// No text has this number.
const NONE: u32 = u32::MAX;

/// The numbers of the conversations' names by the number of the text that is the id of their traces; [`NONE`] where no
/// part of a trace names its conversation. Of several parts, in several files, the first that does so decides.
fn indexed_keys(index: &TraceIndex, others: &mut IndexSet<String>) -> Vec<u32> {
    let mut keys = vec![NONE; index.texts()];
    for trace in 0..index.len() {
        let id = index.trace_id_text(trace) as usize;
        if keys[id] == NONE
            && let Some(key) = indexed_key(index, others, trace)
        {
            // There are fewer than four thousand million texts.
            keys[id] = u32::try_from(key).unwrap_or(NONE);
        }
    }
    keys
}

/// The number of what [`conversation_key`] says of a trace.
fn indexed_key(index: &TraceIndex, others: &mut IndexSet<String>, trace: usize) -> Option<usize> {
    match index.seen(trace) {
        Seen::Texts(texts) => {
            let mut others = 1..KEYS.len();
            let first =
                others.find_map(|key| texts.get(key, false).or_else(|| texts.get(key, true)));
            texts.get(0, true).or(first).map(|text| text as usize)
        }
        Seen::Unsure => {
            let name = conversation_key(&*index.read(trace).ok()?)?;
            let known = index.text(&name).map(|text| text as usize);
            Some(known.unwrap_or_else(|| index.texts() + others.insert_full(name).0))
        }
    }
}

fn has_session_name(trace: &Trace) -> bool {
    trace.spans.iter().any(|span| key_in(&span.resource, SESSION_NAME).is_some())
}

/// The name under which a trace's conversation goes, from its earliest span that has one.
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

/// A name: text or a number, printable and of reasonable length.
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
    use crate::conversation::recording::Recording;

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
