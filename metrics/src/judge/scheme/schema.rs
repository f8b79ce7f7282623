//! JSON Schema of replies, for servers that can be held to one.

use evaluator_json::Value;

use super::Scheme;
use crate::turns::object;

impl Scheme {
    /// Returns the JSON Schema (2020-12) of replies. Only keywords that all servers know are in it, so a reply that matches
    /// may still be unreadable.
    #[must_use]
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
