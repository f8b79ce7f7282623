//! Settings of the evaluator, put into documents where each host has them.

use crate::json::{NonFinite, Object, Value, to_string};

// Where settings stand in the documents, which have none.
const AGENTEVALS: &str = r#""config":{}"#;
const AGENTV: &str = r#""config": null"#;
const AGENTV_PIPELINE: &str = r#""config":null"#;
const ADK: [&str; 2] = [
    r#""include_intermediate_responses_in_final":false"#,
    r#""includeIntermediateResponsesInFinal":false"#,
];

/// A document with these settings: as `config` for agentevals and AgentV, as keys of the criterion for ADK. Agenta sends none.
pub(super) fn put_into(text: &str, settings: &Object) -> String {
    if settings.is_empty() {
        return text.to_owned();
    }
    let written = |value: &Value| to_string(value, NonFinite::Null);
    let whole = Value::Object(settings.clone());
    let config = format!("\"config\": {}", written(&whole));
    let mut text = text
        .replacen(AGENTEVALS, &config, 1)
        .replacen(AGENTV_PIPELINE, &config, 1)
        .replacen(AGENTV, &format!("\"config\": {}", written(&snake_case(&whole))), 1);
    let inside = written(&whole);
    // Settings are not empty, so there is a key between the outermost braces.
    let keys = inside.get(1..inside.len() - 1).unwrap_or_default();
    for place in ADK {
        text = text.replacen(place, &format!("{place},{keys}"), 1);
    }
    text
}

/// AgentV rewrites all keys but those that begin with a capital letter.
fn snake_case(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let entry = |(key, value): (&String, &Value)| (snake_case_key(key), snake_case(value));
            Value::Object(object.iter().map(entry).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(snake_case).collect()),
        other => other.clone(),
    }
}

fn snake_case_key(key: &str) -> String {
    if key.starts_with(|c: char| c.is_ascii_uppercase()) {
        return key.to_owned();
    }
    let mut snake = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{conform::documents, json::parse_python};

    #[test]
    fn every_document_of_a_host_with_settings_has_them_in_its_place() {
        let Some(Value::Object(settings)) = parse_python(r#"{"minLength": 3, "Tags": {"aB": []}}"#)
        else {
            panic!("it is an object");
        };
        let as_given = json!({"minLength": 3, "Tags": {"aB": []}});
        let mut seen = 0;
        for case in documents::all() {
            let text = put_into(&case.body.text, &settings);
            let document: serde_json::Value = serde_json::from_str(&text).unwrap();
            let name = format!("{:?} {}", case.hosts, case.name);
            let metric = document.get("eval_metric").or(document.get("evalMetric"));
            let (config, wanted) = match (metric, case.hosts[0].system()) {
                (Some(metric), _) => {
                    let criterion = &metric["criterion"];
                    assert_eq!(criterion["threshold"], 0.5);
                    (
                        json!({"minLength": criterion["minLength"], "Tags": criterion["Tags"]}),
                        &as_given,
                    )
                }
                (None, "agentv") if case.name.contains("pipeline") => {
                    (document["config"].clone(), &as_given)
                }
                // What somebody writes by hand.
                (None, "agentv") if case.name == "few keys" => continue,
                (None, "agentv") => {
                    let wanted = json!({"min_length": 3, "Tags": {"a_b": []}});
                    assert_eq!(document["config"], wanted, "{name}");
                    seen += 1;
                    continue;
                }
                (None, "agentevals") => (document["config"].clone(), &as_given),
                (None, _) => {
                    assert_eq!(text, case.body.text);
                    continue;
                }
            };
            assert_eq!(config, *wanted, "{name}");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }
}
