//! The settings of a judge, which commands of AgentV write in different ways.

use serde_json::Value;

use super::wire::Wire;
use crate::JsonObject;

/// The config as later versions write it, if this one is different: a block `config`, which 2.5 leaves where it is, is put
/// over the rest, and names are in snake_case, which `pipeline grade` leaves to us.
pub(super) fn unified(wire: &Wire, config: &JsonObject) -> Option<JsonObject> {
    let is_old = wire.candidate_answer.is_some()
        || wire.expected_outcome.is_some()
        || wire.output_messages.is_some();
    let inner = config.get("config").and_then(Value::as_object).filter(|_| is_old);
    if inner.is_none() && !has_camel_case(config) {
        return None;
    }
    let mut merged = config.clone();
    if let Some(inner) = inner {
        merged.remove("config");
        merged.extend(inner.clone());
    }
    Some(in_snake_case(merged))
}

fn has_camel_case(object: &JsonObject) -> bool {
    fn inside(value: &Value) -> bool {
        match value {
            Value::Object(object) => has_camel_case(object),
            Value::Array(items) => items.iter().any(inside),
            _ => false,
        }
    }
    object.iter().any(|(key, value)| is_camel_case(key) || inside(value))
}

fn is_camel_case(key: &str) -> bool {
    let is_upper = |letter: char| letter.is_ascii_uppercase();
    !key.starts_with(is_upper) && key.contains(is_upper)
}

/// The rule of AgentV. Of two names that become the same, the one that was in snake_case stays.
fn in_snake_case(object: JsonObject) -> JsonObject {
    fn inside(value: Value) -> Value {
        match value {
            Value::Object(object) => Value::Object(in_snake_case(object)),
            Value::Array(items) => items.into_iter().map(inside).collect(),
            other => other,
        }
    }
    let (camel, mut snake): (JsonObject, JsonObject) = object
        .into_iter()
        .map(|(key, value)| (key, inside(value)))
        .partition(|(key, _)| is_camel_case(key));
    for (key, value) in camel {
        let letters = key.chars().flat_map(|letter| {
            let underscore = letter.is_ascii_uppercase().then_some('_');
            underscore.into_iter().chain([letter.to_ascii_lowercase()])
        });
        snake.entry(letters.collect::<String>()).or_insert(value);
    }
    snake
}
