//! JSON Schema of mappings and values.

use std::cell::RefCell;

use serde_json::{Map, Value, json};

/// The keys that a reader takes from a mapping.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub(crate) keys: Map<String, Value>,
    pub(crate) required: RefCell<Vec<String>>,
    /// Members of the schema that follow from no key.
    pub(crate) members: Map<String, Value>,
}

impl Description {
    /// Returns the schema of mappings that have these keys and no others.
    pub(crate) fn schema(self) -> Value {
        let required = self.required.into_inner();
        let mut schema = json!({"type": "object", "properties": self.keys, "required": required, "additionalProperties": false});
        if let Value::Object(schema) = &mut schema {
            schema.extend(self.members);
            schema.retain(|key, value| key != "required" || *value != json!([]));
        }
        schema
    }
}

/// Makes `schema` accept `null`, too.
pub(crate) fn or_null(schema: &mut Value) {
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        return values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => types.push("null".into()),
        Some(one) => *one = json!([one.take(), "null"]),
        None => *schema = json!({"anyOf": [schema.take(), {"type": "null"}]}),
    }
}

/// Returns the schema of text that is not empty.
pub fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// Returns the schema of lists.
pub fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Returns the schema of one of these words.
pub fn one_of<T>(choices: &[(&'static str, T)]) -> Value {
    json!({"enum": choices.iter().map(|(name, _)| *name).collect::<Vec<_>>()})
}
