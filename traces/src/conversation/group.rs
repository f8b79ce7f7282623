//! Grouping of traces into conversations.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt, mem,
};

use indexmap::{IndexMap, IndexSet};

use super::convention::{Conventions, Kind, keys::OPERATION};
use crate::{
    json::{Object, Value, is_printable, scalar_text, strip},
    trace::{Span, Trace, TraceIndex, TrackedAttributes, TrackedNames},
};

/// Name of a session of the recorder; only on resources.
const SESSION_NAME: &str = "agentevals.session_name";
/// The attributes that group traces, in order of precedence. All but the first may also be on spans.
const KEYS: [&str; 16] = [
    SESSION_NAME,
    "gen_ai.conversation.id",
    "session.id",
    "gcp.vertex.agent.session_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.conversation_id",
    // Of Vercel's AI SDK; applications choose these names, and Langfuse and LangSmith read them.
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "ai.telemetry.metadata.thread_id",
    "ai.telemetry.metadata.conversation_id",
    "ai.settings.context.sessionId",
    "ai.settings.context.conversationId",
    // Of the OpenAI Agents SDK as Logfire records it; only next to its id of the trace.
    GROUP_ID,
];
const GROUP_ID: &str = "group_id";
const AGENT_TRACE_ID: &str = "agent_trace_id";
/// The attributes that an index has to track for [`group_indexed`] without reading traces: those that group traces, and
/// others that decide whether a trace counts.
pub const GROUPING: TrackedAttributes =
    TrackedAttributes { keys: &TRACKED, name: tracked_name, may_have_name };
const TRACKED: [&str; KEYS.len() + 2] = {
    let mut tracked = [AGENT_TRACE_ID; KEYS.len() + 2];
    let mut key = 0;
    while key < KEYS.len() {
        tracked[key] = KEYS[key];
        key += 1;
    }
    tracked[OPERATION_KEY] = OPERATION;
    tracked
};
/// Number of the operation in [`TRACKED`].
const OPERATION_KEY: usize = KEYS.len() + 1;
/// The operation of a span that creates an agent and does nothing with it.
const CREATE_AGENT: &str = "create_agent";
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

/// How traces were grouped into conversations, the reason, and the attributes that name conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GroupedBy {
    rule: Rule,
    /// Whether each of [`KEYS`] named a conversation or, if each trace is a conversation, would join several.
    named: [bool; KEYS.len()],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// By trace, as requested.
    Trace,
    /// By trace, because nothing in the input requires conversations.
    TraceByDefault,
    /// By conversation, as requested.
    Conversation,
    /// By conversation, because a case of the eval set has several turns.
    MultiTurnCase,
    /// By conversation, because a trace names its session.
    SessionName,
}

impl Rule {
    /// The names of the rules in run files.
    const NAMES: [(Self, &str); 5] = [
        (Self::Trace, "trace"),
        (Self::TraceByDefault, "trace_by_default"),
        (Self::Conversation, "conversation"),
        (Self::MultiTurnCase, "multi_turn_case"),
        (Self::SessionName, "session_name"),
    ];
}

/// The rule, then the attributes, separated by spaces.
impl From<GroupedBy> for String {
    fn from(grouped_by: GroupedBy) -> Self {
        let rule = Rule::NAMES.iter().filter(|(rule, _)| *rule == grouped_by.rule);
        let words: Vec<_> = rule.map(|(_, name)| *name).chain(grouped_by.attributes()).collect();
        words.join(" ")
    }
}

impl TryFrom<String> for GroupedBy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut words = text.split(' ');
        let name = words.next().unwrap_or_default();
        let rule = Rule::NAMES.iter().find(|(_, known)| *known == name);
        let (rule, _) = rule.ok_or_else(|| format!("unknown grouping `{name}`"))?;
        let words: Vec<_> = words.collect();
        Ok(Self { rule: *rule, named: KEYS.map(|key| words.contains(&key)) })
    }
}

impl GroupedBy {
    /// Returns the grouping by a rule that was requested, where the conversations are not looked at.
    pub fn requested(group_by: GroupBy) -> Self {
        Self::decide(group_by, false, || false)
    }

    /// Returns `trace` or `conversation`, as the option is called.
    pub fn name(self) -> &'static str {
        if self.is_by_conversation() { "conversation" } else { "trace" }
    }

    /// Returns true if traces of one session are one conversation.
    pub fn is_by_conversation(self) -> bool {
        !matches!(self.rule, Rule::Trace | Rule::TraceByDefault)
    }

    /// Returns the attributes that named conversations; if each trace is a conversation, those by which traces would be
    /// joined.
    pub fn attributes(self) -> impl Iterator<Item = &'static str> {
        KEYS.into_iter().zip(self.named).filter(|(_, named)| *named).map(|(key, _)| key)
    }

    /// Returns true if a report should mention the grouping: traces are joined, or would be by another option.
    pub fn is_noteworthy(self) -> bool {
        self.is_by_conversation() || self.named.contains(&true)
    }

    /// Decides by the option and the data; `names_session` is called only if it decides.
    fn decide(group_by: GroupBy, multi_turn: bool, names_session: impl FnOnce() -> bool) -> Self {
        let rule = match group_by {
            GroupBy::Trace => Rule::Trace,
            GroupBy::Conversation => Rule::Conversation,
            GroupBy::Auto if multi_turn => Rule::MultiTurnCase,
            GroupBy::Auto if names_session() => Rule::SessionName,
            GroupBy::Auto => Rule::TraceByDefault,
        };
        Self { rule, named: [false; KEYS.len()] }
    }
}

/// A sentence without its full stop.
impl fmt::Display for GroupedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rule {
            Rule::Trace => "each trace is a conversation, as --group-by says",
            Rule::TraceByDefault => {
                "each trace is a conversation: no resource has agentevals.session_name and no eval case has several \
                 turns"
            }
            Rule::Conversation => {
                "traces with the same session name, conversation id or session id are one conversation, as --group-by \
                 says"
            }
            Rule::MultiTurnCase => {
                "traces with the same session name, conversation id or session id are one conversation, because an \
                 eval case has several turns"
            }
            Rule::SessionName => {
                "traces with the same session name, conversation id or session id are one conversation, because a \
                 resource has agentevals.session_name"
            }
        })?;
        let attributes: Vec<_> = self.attributes().collect();
        if attributes.is_empty() {
            return Ok(());
        }
        let attributes = attributes.join(", ");
        match self.is_by_conversation() {
            true => write!(f, "; named by {attributes}"),
            false => write!(f, "; --group-by conversation joins traces with the same {attributes}"),
        }
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
    pub fn members(&self) -> &[&'a Trace] {
        &self.members
    }
}

/// Groups traces, in the order in which the groups are first seen. Traces that only create agents are in no group.
///
/// `eval_set_has_multi_turn` is true if a golden conversation has more than one turn.
pub fn group(traces: &[Trace], group_by: GroupBy, eval_set_has_multi_turn: bool) -> Vec<Group<'_>> {
    let traces =
        || traces.iter().filter(|trace| !only_creates_agents(trace, Conventions::built_in()));
    let names_session = || traces().any(has_session_name);
    let by_conversation =
        GroupedBy::decide(group_by, eval_set_has_multi_turn, names_session).is_by_conversation();
    // The parts of a trace in several files belong together, whichever of them names the conversation.
    let mut keys: HashMap<&str, String> = HashMap::new();
    for trace in traces().filter(|_| by_conversation) {
        if let Entry::Vacant(entry) = keys.entry(&*trace.trace_id)
            && let Some((_, key)) = conversation_key(trace)
        {
            entry.insert(key);
        }
    }
    let mut groups: IndexMap<&str, Vec<&Trace>> = IndexMap::new();
    for trace in traces() {
        let key = keys.get(&*trace.trace_id).map_or(&*trace.trace_id, String::as_str);
        groups.entry(key).or_default().push(trace);
    }
    groups.into_values().map(Group::new).collect()
}

/// Conversations as numbers of traces: nothing if each trace is one, else eight bytes for each conversation and four for each
/// further trace.
#[derive(Debug, Default)]
pub struct Groups {
    /// Number of groups.
    count: usize,
    /// Traces by group, and within a group in the order of the index. Empty if each trace is the group with its number.
    members: Vec<u32>,
    /// End of each group in `members`.
    ends: Vec<u32>,
}

impl Groups {
    /// Returns the number of groups.
    #[expect(clippy::len_without_is_empty, reason = "the only caller counts")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the traces of a group, at least one.
    pub fn get(&self, group: usize) -> impl ExactSizeIterator<Item = usize> {
        let places = match (self.ends.get(group), group.checked_sub(1)) {
            (Some(end), before) => before.map_or(0, |it| self.ends[it] as usize)..*end as usize,
            (None, _) => group..group + 1,
        };
        places.map(|place| self.members.get(place).map_or(place, |trace| *trace as usize))
    }

    /// Sorts traces into `groups` groups by their numbers in `group_of`, where [`NONE`] means that a trace is in no group.
    fn sorted(group_of: &[u32], groups: usize) -> Self {
        if group_of.iter().zip(0..).all(|(group, trace)| *group == trace) {
            return Self { count: groups, ..Self::default() };
        }
        // First the start of each group, which moves to its end while the group is filled.
        let mut ends = vec![0; groups];
        for group in group_of.iter().filter(|group| **group != NONE) {
            ends[*group as usize] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            let count = mem::replace(end, start);
            start += count;
        }
        let mut members = vec![0; start as usize];
        for (trace, group) in (0..).zip(group_of).filter(|(_, group)| **group != NONE) {
            let next = &mut ends[*group as usize];
            members[*next as usize] = trace;
            *next += 1;
        }
        Self { count: groups, members, ends }
    }
}

/// Groups traces that are not in memory as [`group`] does.
///
/// Only traces whose names are not in the index are read. A trace that cannot be read is a group of its own; the next read
/// reports the error.
pub fn group_indexed(
    index: &TraceIndex,
    conventions: &Conventions,
    group_by: GroupBy,
    eval_set_has_multi_turn: bool,
) -> (Groups, GroupedBy) {
    let counts: Vec<bool> =
        (0..index.len()).map(|trace| !creates_agents(index, trace, conventions)).collect();
    let traces = || (0..index.len()).filter(|trace| counts[*trace]);
    let names_session = || {
        traces().any(|trace| match index.tracked(trace) {
            Some(names) => names.get(0, true).is_some(),
            None => index.read(trace).is_ok_and(|trace| has_session_name(&trace)),
        })
    };
    let mut grouped_by = GroupedBy::decide(group_by, eval_set_has_multi_turn, names_session);
    let by_conversation = grouped_by.is_by_conversation();
    // The number of each conversation's name, by the number of the name that is the id of its traces. Of a trace with parts
    // in several files, the first part with a name decides.
    let mut keys = vec![NONE; index.names()];
    // Names that were found by reading traces.
    let mut others = IndexSet::new();
    // Whether a trace has a name that is not used, by the number of the name.
    let mut ignored = vec![false; index.names()];
    for trace in traces() {
        let id = index.id_number(trace) as usize;
        if by_conversation {
            if keys[id] == NONE
                && let Some((key, name)) = indexed_key(index, &mut others, trace)
            {
                keys[id] = u32::try_from(name).unwrap_or(NONE);
                grouped_by.named[key] = true;
            }
        } else if let Some((key, name)) = index.tracked(trace).and_then(first_name) {
            grouped_by.named[key] |= mem::replace(&mut ignored[name], true);
        }
    }
    (groups_of(index, &counts, &keys, others.len()), grouped_by)
}

/// Returns the groups of traces by the names of their conversations, of which `others` are not in the index.
fn groups_of(index: &TraceIndex, counts: &[bool], keys: &[u32], others: usize) -> Groups {
    // The number of each group, by the number of its name.
    let mut numbers = vec![NONE; index.names() + others];
    let mut groups = 0;
    let mut group_of = Vec::with_capacity(index.len());
    for (trace, does_count) in counts.iter().enumerate() {
        if !does_count {
            group_of.push(NONE);
            continue;
        }
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
    drop(numbers);
    Groups::sorted(&group_of, groups as usize)
}

/// Returns true if a trace of an index does nothing but create agents.
fn creates_agents(index: &TraceIndex, trace: usize, conventions: &Conventions) -> bool {
    let may_create = match index.tracked(trace) {
        Some(names) => names.get(OPERATION_KEY, false).is_some(),
        None => true,
    };
    may_create && index.read(trace).is_ok_and(|trace| only_creates_agents(&trace, conventions))
}

/// Returns true if a trace has spans that create agents, as some frameworks record before an agent is used, and none of a run.
fn only_creates_agents(trace: &Trace, conventions: &Conventions) -> bool {
    let creates =
        |span: &Span| span.attributes.get(OPERATION).and_then(Value::as_str) == Some(CREATE_AGENT);
    trace.spans.iter().any(creates)
        && conventions.kinds_of(trace).iter().all(|found| found.kind == Kind::Plain)
}

/// Returns the name that a tracked attribute gives a trace.
fn tracked_name(key: usize, found: &[(usize, Value)]) -> Option<String> {
    let get = |number: usize| found.iter().find(|(key, _)| *key == number).map(|(_, value)| value);
    match key {
        OPERATION_KEY => get(key)?.as_str().filter(|name| *name == CREATE_AGENT).map(str::to_owned),
        _ => {
            name_under(KEYS.get(key)?, |key| get(TRACKED.iter().position(|known| *known == key)?))
        }
    }
}

/// Returns true unless the text of an attribute has an operation that does not count.
fn may_have_name(key: usize, text: &[u8]) -> bool {
    let name = CREATE_AGENT.as_bytes();
    key != OPERATION_KEY || text.windows(name.len()).any(|part| part == name)
}

/// Not the number of a name.
const NONE: u32 = u32::MAX;

/// Returns the number of the key, and the number of the name that [`conversation_key`] gives a trace.
fn indexed_key(
    index: &TraceIndex,
    others: &mut IndexSet<String>,
    trace: usize,
) -> Option<(usize, usize)> {
    if let Some(names) = index.tracked(trace) {
        return first_name(names);
    }
    let (key, name) = conversation_key(&*index.read(trace).ok()?)?;
    let known = index.name_number(&name).map(|name| name as usize);
    Some((key, known.unwrap_or_else(|| index.names() + others.insert_full(name).0)))
}

/// Returns the number of the key that names the conversation, and that of the name.
fn first_name(names: TrackedNames<'_>) -> Option<(usize, usize)> {
    let first =
        |key| names.get(key, false).or_else(|| names.get(key, true)).map(|name| (key, name));
    let session = names.get(0, true).map(|name| (0, name));
    let (key, name) = session.or_else(|| (1..KEYS.len()).find_map(first))?;
    Some((key, name as usize))
}

/// The name of a session that a part of a trace gives it. Of names that several parts give, the least one counts, as in the whole
/// trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionName {
    key: usize,
    is_of_resource: bool,
    start_ns: i128,
    span_id: String,
    name: String,
}

impl SessionName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

/// Returns the name of the session that a trace is of: of conversations that are grouped by it, the one that joins their traces.
pub fn session_of(trace: &Trace) -> Option<String> {
    session_name_of(trace).map(|session| session.name)
}

/// Returns the same as [`session_of`], to be compared with the names that other parts of the trace give.
pub fn session_name_of(trace: &Trace) -> Option<SessionName> {
    let mut spans: Vec<_> = trace.spans.iter().collect();
    spans.sort_by(|a, b| (a.start_ns, &a.span_id).cmp(&(b.start_ns, &b.span_id)));
    let first = |key: usize, is_of_resource: bool| {
        spans.iter().find_map(|span| {
            let attributes = if is_of_resource { &span.resource } else { &span.attributes };
            let name = key_in(attributes, KEYS[key])?;
            let (start_ns, span_id) = (span.start_ns, span.span_id.clone());
            Some(SessionName { key, is_of_resource, start_ns, span_id, name })
        })
    };
    (0..KEYS.len()).find_map(|key| {
        let on_span = if key == 0 { None } else { first(key, false) };
        on_span.or_else(|| first(key, true))
    })
}

fn has_session_name(trace: &Trace) -> bool {
    trace.spans.iter().any(|span| key_in(&span.resource, SESSION_NAME).is_some())
}

/// Returns the number of the key and the name of the conversation of a trace.
fn conversation_key(trace: &Trace) -> Option<(usize, String)> {
    session_name_of(trace).map(|session| (session.key, session.name))
}

fn key_in(attributes: &Object, key: &str) -> Option<String> {
    name_under(key, |key| attributes.get(key))
}

/// Returns the name under a key of attributes.
fn name_under<'a>(key: &str, get: impl Fn(&str) -> Option<&'a Value>) -> Option<String> {
    if key == GROUP_ID {
        // An absent group is recorded as the JSON text of `null`.
        get(AGENT_TRACE_ID)?;
        return name(get(key)?).filter(|name| name != "null");
    }
    name(get(key)?)
}

/// Returns the name in a value: text or a number, printable and not too long.
pub(super) fn name(value: &Value) -> Option<String> {
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
    fn groups_of_the_agents_sdk_count_next_to_its_trace_id() {
        let of = |group: &str| json!({"group_id": group, "agent_trace_id": "t"});
        let traces = [
            trace(1, 0, json!({}), of("g")),
            trace(2, 1, json!({}), of("g")),
            trace(3, 2, json!({}), of("null")),
            trace(4, 3, json!({}), of("null")),
            trace(5, 4, json!({}), json!({"group_id": "g"})),
        ];
        let by_conversation = groups(&traces, GroupBy::Conversation, false);
        assert_eq!(by_conversation, [vec![1, 2], vec![3], vec![4], vec![5]]);
    }

    #[test]
    fn a_trace_that_only_creates_agents_is_in_no_group() {
        let of = |operation: &str| json!({"gen_ai.operation.name": operation});
        let traces = [
            trace(1, 0, json!({}), of("create_agent")),
            trace(2, 1, json!({}), of("invoke_agent")),
        ];
        assert_eq!(groups(&traces, GroupBy::Trace, false), [[2]]);
        assert_eq!(groups(&traces, GroupBy::Conversation, false), [[2]]);
    }

    #[test]
    fn a_grouping_is_one_text_in_run_files() {
        for rule in Rule::NAMES.map(|(rule, _)| rule) {
            let mut grouped_by = GroupedBy { rule, named: [false; KEYS.len()] };
            grouped_by.named[2] = true;
            let text = String::from(grouped_by);
            assert!(text.ends_with(" session.id"), "{text}");
            assert_eq!(GroupedBy::try_from(text), Ok(grouped_by));
        }
        assert!(GroupedBy::try_from("other".to_owned()).is_err());
    }

    #[test]
    fn what_cannot_be_a_name_is_none() {
        let key = |value: Value| {
            let trace = trace(1, 0, json!({"session.id": value}), json!({}));
            conversation_key(&trace).map(|(_, name)| name)
        };
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
