//! JSON Schema of replies, for servers that can be held to one.

use evaluator_json::{Value, object};

use super::Scheme;

impl Scheme {
    /// Returns the JSON Schema (2020-12) of replies. Only keywords that all servers know are in it, so a reply that matches
    /// may still be unreadable.
    pub fn schema(&self) -> Value {
        let text = || typed("string");
        match self {
            Self::Number(..) => {
                let assertion = closed([("text", text()), ("passed", typed("boolean"))]);
                let score = ("score", typed("number"));
                closed([("reasoning", text()), ("assertions", list(assertion)), score])
            }
            Self::Rubrics(items) => {
                let ids = one_of(items.iter().map(|item| item.id.as_str()));
                let verdict = if self.has_ranges() {
                    ("score", typed("integer"))
                } else {
                    ("satisfied", typed("boolean"))
                };
                let check = closed([("id", ids), ("reasoning", text()), verdict]);
                closed([("checks", list(check)), ("overall_reasoning", text())])
            }
            Self::Choices(choices) => {
                let names = one_of(choices.iter().map(|choice| choice.name.as_str()));
                closed([("reasoning", text()), ("choice", names)])
            }
        }
    }
}

impl Scheme {
    /// Returns the rubrics as a JSON list.
    pub(in crate::judge) fn items_json(&self) -> Value {
        let items = self.items().iter().map(|item| {
            let mut members = vec![
                ("id", item.id.as_str().into()),
                ("outcome", item.text.as_str().into()),
                ("weight", item.weight.into()),
                ("required", item.required.into()),
            ];
            members.extend(item.min_score.map(|least| ("min_score", least.into())));
            if !item.ranges.is_empty() {
                let ranges = item.ranges.iter().map(|range| {
                    let limits = [range.from, range.to].map(|limit| Value::Int(limit.into()));
                    object([
                        ("score_range", Value::Array(limits.to_vec())),
                        ("outcome", range.outcome.as_str().into()),
                    ])
                });
                members.push(("score_ranges", Value::Array(ranges.collect())));
            }
            object(members)
        });
        Value::Array(items.collect())
    }
}

pub(in crate::judge) fn typed(name: &str) -> Value {
    object([("type", name.into())])
}

pub(in crate::judge) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> Value {
    object([("type", "string".into()), ("enum", Value::Array(words.map(Value::from).collect()))])
}

pub(in crate::judge) fn list(items: Value) -> Value {
    object([("type", "array".into()), ("items", items)])
}

/// Returns the schema of an object with exactly these members.
pub(in crate::judge) fn closed<const N: usize>(members: [(&str, Value); N]) -> Value {
    let names = members.iter().map(|(name, _)| Value::from(*name)).collect();
    object([
        ("type", "object".into()),
        ("properties", object(members)),
        ("required", Value::Array(names)),
        ("additionalProperties", false.into()),
    ])
}
