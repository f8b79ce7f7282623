//! Grouping of traces into conversations.

use indexmap::IndexMap;

use crate::{
    json::{Object, Value},
    python_text::{is_printable, scalar_text, strip},
    trace::{Seen, SeenSpan, Trace, TraceIndex},
};

/// Names a session of the recorder; only on resources.
const SESSION_NAME: &str = "agentevals.session_name";
/// The attributes that group traces, in the order in which they count. All but the first may stand on spans too.
pub(crate) const GROUPING: [&str; 3] = [SESSION_NAME, "gen_ai.conversation.id", "session.id"];
/// Longer names of conversations are not names.
const MAX_KEY_CHARS: usize = 256;

/// What belongs to one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// By conversation if a trace names its session or a golden conversation has several turns, else by trace.
    #[default]
    Auto,
    /// Each trace id is a conversation.
    Trace,
    /// All traces with the same session name, conversation id or session id.
    Conversation,
}

/// The traces of one conversation, by start. Never empty.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    members: Vec<&'a Trace>,
}

impl<'a> Group<'a> {
    /// These traces, which are at least one, as a conversation.
    pub(crate) fn new(mut members: Vec<&'a Trace>) -> Self {
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
    let by_conversation = match group_by {
        GroupBy::Trace => false,
        GroupBy::Conversation => true,
        GroupBy::Auto => eval_set_has_multi_turn || traces.iter().any(has_session_name),
    };
    let mut groups: IndexMap<String, Vec<&Trace>> = IndexMap::new();
    for trace in traces {
        let key = Some(trace)
            .filter(|_| by_conversation)
            .and_then(conversation_key)
            .unwrap_or_else(|| trace.trace_id.to_string());
        groups.entry(key).or_default().push(trace);
    }
    groups.into_values().map(Group::new).collect()
}

/// Groups traces that are not in memory as [`group`] does, by their numbers.
///
/// Reads only those of which nothing less tells the group. One that cannot be read is a group by itself; whoever reads
/// it next will say why.
pub(crate) fn group_indexed(
    index: &TraceIndex,
    group_by: GroupBy,
    eval_set_has_multi_turn: bool,
) -> Vec<Vec<usize>> {
    let by_conversation = match group_by {
        GroupBy::Trace => false,
        GroupBy::Conversation => true,
        GroupBy::Auto => {
            eval_set_has_multi_turn
                || (0..index.len()).any(|trace| match index.seen(trace) {
                    Seen::Nothing => false,
                    Seen::Spans(spans) => {
                        spans.iter().any(|span| name_among(span.resource, 0).is_some())
                    }
                    Seen::Unsure => index.read(trace).is_ok_and(|trace| has_session_name(&trace)),
                })
        }
    };
    let mut groups: IndexMap<String, Vec<usize>> = IndexMap::new();
    for trace in 0..index.len() {
        let key = if by_conversation { indexed_key(index, trace) } else { None };
        let key = key.unwrap_or_else(|| index.trace_id(trace).to_string());
        groups.entry(key).or_default().push(trace);
    }
    groups.into_values().collect()
}

/// What [`conversation_key`] says of a trace.
fn indexed_key(index: &TraceIndex, trace: usize) -> Option<String> {
    let known = match index.seen(trace) {
        Seen::Nothing => Some(None),
        Seen::Spans(spans) => key_of_spans(&spans),
        Seen::Unsure => None,
    };
    known.unwrap_or_else(|| index.read(trace).ok().and_then(|trace| conversation_key(&trace)))
}

/// The name of the earliest span that has one; `None` when it depends on more than is known of the spans.
fn key_of_spans(spans: &[SeenSpan<'_>]) -> Option<Option<String>> {
    for key in 0..GROUPING.len() {
        for on_resource in [false, true] {
            if key == 0 && !on_resource {
                continue;
            }
            let named = spans.iter().filter_map(|span| {
                let values = if on_resource { span.resource } else { span.attributes };
                Some((span.start, name_among(values, key)?))
            });
            let mut first: Option<(i64, String)> = None;
            let mut is_tie = false;
            for (start, name) in named {
                match &first {
                    Some((earliest, _)) if start > *earliest => {}
                    // The ids of the spans decide.
                    Some((earliest, known)) if start == *earliest => is_tie |= *known != name,
                    _ => {
                        first = Some((start, name));
                        is_tie = false;
                    }
                }
            }
            if first.is_some() {
                return if is_tie { None } else { Some(first.map(|(_, name)| name)) };
            }
        }
    }
    Some(None)
}

fn name_among(values: &[(usize, Value)], key: usize) -> Option<String> {
    values.iter().find(|(number, _)| *number == key).and_then(|(_, value)| name(value))
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
    let [session_name, others @ ..] = GROUPING;
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
