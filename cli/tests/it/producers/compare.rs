//! Differences between the conversations of a trace and what happened.

use serde_json::Value;

use super::recording::{Seen, items};

/// Returns one line per difference.
pub(super) fn differences(seen: &Seen, expected: &Value) -> Vec<String> {
    if let Some(error) = &seen.error {
        return vec![format!("no report: {}", error.trim())];
    }
    let mut found = Vec::new();
    let conversations = expected["conversations"].as_u64().unwrap_or(1) as usize;
    if seen.conversations.len() != conversations {
        found.push(format!(
            "conversations: {} instead of {conversations}",
            seen.conversations.len()
        ));
    }
    let wanted = items(&expected["turns"]);
    let mut turns: Vec<&Value> = seen.conversations.iter().flatten().collect();
    if turns.len() != wanted.len() {
        let users = list(turns.iter().map(|turn| &turn["user_content"]));
        found.push(format!(
            "turns: {} instead of {}; their users: {users}",
            turns.len(),
            wanted.len()
        ));
    }
    if conversations > 1 {
        // Separate conversations have no particular order.
        let position =
            |turn: &Value| wanted.iter().position(|it| it["user"] == turn["user_content"]);
        turns.sort_by_key(|turn| position(turn).unwrap_or(wanted.len()));
    }
    for (number, (turn, wanted)) in turns.into_iter().zip(wanted).enumerate() {
        let turn = Turn { seen: turn, wanted };
        let mut of_turn = turn.texts();
        of_turn.extend(turn.calls());
        found.extend(of_turn.into_iter().map(|it| format!("turn {}: {it}", number + 1)));
    }
    found
}

struct Turn<'a> {
    seen: &'a Value,
    wanted: &'a Value,
}

impl Turn<'_> {
    /// True for a part that the producer did not record: it may be missing, but not be something else.
    fn is_unrecorded(&self, part: &str) -> bool {
        items(&self.wanted["unrecorded"]).iter().any(|it| it == part)
    }

    fn texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (part, key) in [("user", "user_content"), ("final", "final_response")] {
            let (seen, wanted) = (text(&self.seen[key]), text(&self.wanted[part]));
            let is_missing = self.is_unrecorded(part) && seen.is_empty();
            if !is_missing && seen.trim_end() != wanted.trim_end() {
                found.push(format!(
                    "{part}: {} instead of {wanted:?}",
                    short(&self.seen[key].to_string())
                ));
            }
        }
        found
    }

    fn calls(&self) -> Vec<String> {
        let steps = &self.seen["intermediate_steps"];
        let (calls, responses) = (items(&steps["tool_calls"]), items(&steps["tool_responses"]));
        let wanted = items(&self.wanted["calls"]);
        if self.is_unrecorded("calls") && calls.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let is_missing = self.is_unrecorded("args") && calls.iter().all(|it| is_empty(&it["args"]));
        let is_same = |one: &Value, other: &Value| {
            one["name"] == other["name"] && is_equal(&one["args"], &other["args"])
        };
        if !are_same(calls, wanted, |one, other| one["name"] == other["name"]) {
            let (seen, wanted) = (names(calls), names(wanted));
            found.push(format!("calls: {seen:?} instead of {wanted:?}"));
        } else if !(is_missing || are_same(calls, wanted, is_same)) {
            let arguments = |calls: &[Value]| list(calls.iter().map(|it| &it["args"]));
            found.push(format!("args: {} instead of {}", arguments(calls), arguments(wanted)));
        }
        found.extend(self.responses(responses));
        found.extend(ids(calls, responses));
        found
    }

    fn responses(&self, seen: &[Value]) -> Vec<String> {
        let mut found = Vec::new();
        let mut left: Vec<&Value> = seen.iter().collect();
        let wanted = items(&self.wanted["responses"]);
        for response in wanted {
            let content = text(&response["text_contains"]);
            let is_this =
                |it: &&Value| it["name"] == response["name"] && text_of(it).contains(content);
            match left.iter().position(is_this) {
                Some(position) => {
                    left.remove(position);
                }
                None if self.is_unrecorded("responses") => {}
                None => found.push(format!(
                    "responses: none of {} with {content:?} in {}",
                    response["name"],
                    list(left.iter().copied())
                )),
            }
        }
        if !left.is_empty() && seen.len() > wanted.len() {
            found.push(format!("responses: {} instead of {}", seen.len(), wanted.len()));
        }
        found
    }
}

/// Calls and their responses have the same ids, if they have any.
fn ids(calls: &[Value], responses: &[Value]) -> Option<String> {
    let sorted = |items: &[Value]| {
        let mut ids: Vec<String> = items.iter().map(|it| text(&it["id"]).to_owned()).collect();
        ids.sort();
        ids
    };
    let (of_calls, of_responses) = (sorted(calls), sorted(responses));
    let has_ids = of_calls.iter().any(|id| !id.is_empty()) && calls.len() == responses.len();
    (has_ids && of_calls != of_responses)
        .then(|| format!("ids: calls {of_calls:?}, responses {of_responses:?}"))
}

/// Compares two lists regardless of their order.
fn are_same(seen: &[Value], wanted: &[Value], is_same: impl Fn(&Value, &Value) -> bool) -> bool {
    let mut left: Vec<&Value> = seen.iter().collect();
    let all = wanted.iter().all(|item| {
        let position = left.iter().position(|it| is_same(it, item));
        position.map(|position| left.remove(position)).is_some()
    });
    all && left.is_empty()
}

/// Equality in which 3 and 3.0 are one number.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|it| is_equal(value, it)))
        }
        _ => one == other,
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// All text of a response: its result and its error.
fn text_of(response: &Value) -> String {
    let part = |key: &&str| match &response[*key] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    ["output", "response", "error"].iter().filter_map(part).collect::<Vec<_>>().join(" ")
}

fn names(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| text(&call["name"])).collect()
}

fn list<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    short(&Value::Array(values.cloned().collect()).to_string())
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}

#[test]
fn what_differs_is_reported() {
    use serde_json::json;

    let expected = json!({"conversations": 1, "turns": [{
        "user": "Oslo?",
        "final": "4 degrees.",
        "calls": [{"name": "weather", "args": {"days": 3}}],
        "responses": [{"name": "weather", "text_contains": "4C"}],
    }]});
    let turn = |user: &str, args: Value, output: &str, id: &str| {
        json!({"user_content": user, "final_response": "4 degrees.\n", "intermediate_steps": {
            "tool_calls": [{"name": "weather", "args": args, "id": "1"}],
            "tool_responses": [{"name": "weather", "output": output, "id": id}],
        }})
    };
    let found = |conversations: Vec<Vec<Value>>, expected: &Value| {
        differences(&Seen { conversations, error: None }, expected)
    };
    let right = turn("Oslo?", json!({"days": 3.0}), "Oslo: 4C", "1");
    assert!(found(vec![vec![right.clone()]], &expected).is_empty());

    let cases = [
        (vec![vec![turn("Lima?", json!({"days": 3}), "4C", "1")]], "turn 1: user: "),
        (vec![vec![turn("Oslo?", json!({"days": "3"}), "4C", "1")]], "turn 1: args: "),
        (vec![vec![turn("Oslo?", json!({"days": 3}), "5C", "1")]], "turn 1: responses: "),
        (vec![vec![turn("Oslo?", json!({"days": 3}), "4C", "2")]], "turn 1: ids: "),
        (vec![vec![right.clone()], vec![]], "conversations: 2 "),
        (vec![vec![right.clone(), right]], "turns: 2 "),
    ];
    for (conversations, difference) in cases {
        let found = found(conversations, &expected);
        assert!(found.len() == 1 && found[0].starts_with(difference), "{difference}: {found:?}");
    }

    // What was not recorded may be missing, but not be something else.
    let mut unrecorded = expected;
    unrecorded["turns"][0]["unrecorded"] = json!(["args", "user"]);
    let missing = turn("", json!({}), "4C", "1");
    assert!(found(vec![vec![missing]], &unrecorded).is_empty());
    let other = turn("Lima?", json!({"days": 4}), "4C", "1");
    assert_eq!(found(vec![vec![other]], &unrecorded).len(), 2);
}
