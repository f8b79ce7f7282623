//! Grouping of traces into conversations.

use indexmap::IndexMap;

use crate::{
    json::{Object, Value},
    python_text::{is_printable, scalar_text, strip},
    trace::Trace,
};

/// Names a session of the recorder; only on resources.
const SESSION_NAME: &str = "agentevals.session_name";
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
    groups
        .into_values()
        .map(|mut members| {
            members.sort_by_cached_key(|trace| trace.start_ns());
            Group { members }
        })
        .collect()
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
    on_resource(SESSION_NAME).or_else(|| {
        ["gen_ai.conversation.id", "session.id"]
            .into_iter()
            .find_map(|key| on_span(key).or_else(|| on_resource(key)))
    })
}

/// A name: text or a number, printable and of reasonable length.
fn key_in(attributes: &Object, key: &str) -> Option<String> {
    let text = match attributes.get(key)? {
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
