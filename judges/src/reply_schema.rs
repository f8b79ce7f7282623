//! JSON Schemas of the replies to prompts that ask for JSON.

use evaluator_models::JsonSchema;
use serde_json::{Value, json};

/// Returns the schema of the reply to a built-in prompt; `None` if the prompt does not ask for JSON.
pub(crate) fn of_prompt(prompt: &str) -> Option<JsonSchema> {
    let schema = match prompt {
        "final_response_match_v2" | "final_response_match_v2.swapped" => object(json!({
            "reasoning": {"type": "string"},
            "is_the_agent_response_valid": {"type": "string", "enum": ["valid", "invalid"]},
        })),
        "per_turn_user_simulator_quality_v1" => {
            let criterion = object(json!({
                "name": {"type": "string"},
                "reasoning": {"type": "string"},
                "passes": {"type": "boolean"},
            }));
            object(json!({
                "criteria": {"type": "array", "items": criterion},
                "is_valid": {"type": "boolean"},
            }))
        }
        _ => return None,
    };
    Some(JsonSchema { name: "reply".to_owned(), schema })
}

/// Servers that keep to a schema exactly want every property required, and no others.
fn object(properties: Value) -> Value {
    let names: Vec<&String> =
        properties.as_object().map(|it| it.keys().collect()).unwrap_or_default();
    json!({
        "type": "object",
        "required": names,
        "additionalProperties": false,
        "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaluator_metrics::judge::PROMPTS;

    #[test]
    fn prompts_that_ask_for_json_have_a_schema_with_the_keys_they_name() {
        let mut count = 0;
        for prompt in PROMPTS {
            let Some(schema) = of_prompt(prompt.name) else { continue };
            count += 1;
            let keys = schema.schema["properties"].as_object().unwrap();
            assert!(keys.keys().all(|key| prompt.text.contains(&format!("\"{key}\""))));
        }
        assert_eq!(count, 3);
    }
}
