//! The OpenAPI document: `openapi.json`, completed with the evaluators and the settings of a server.

use serde_json::{Map, Value, json};

use super::{BasePath, Settings, catalog::path};
use crate::run::{Offered, Service};

/// The document of a server that requires a token and also refuses web pages. Its path with `{name}` stands for each
/// evaluator.
const TEMPLATE: &str = include_str!("openapi.json");

/// Returns the document that describes a server.
pub(super) fn document(service: &Service, settings: &Settings) -> Value {
    let mut document = template();
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    document["servers"][0]["url"] =
        json!(settings.base_path.as_ref().map_or("/", BasePath::as_str));
    let has_token = settings.token.is_some();
    if !has_token {
        remove(&mut document, "security");
        remove(&mut document["components"], "securitySchemes");
    }
    // A server refuses requests without its token, or, if it has none, those of web pages.
    let (status, response) = if has_token { ("403", "WebPage") } else { ("401", "Unauthorized") };
    remove(&mut document["components"]["responses"], response);
    let Some(paths) = document["paths"].as_object_mut() else { return document };
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        remove(&mut operation["responses"], status);
    }
    let evaluator = paths.remove("/evaluators/{name}").unwrap_or_default();
    for offered in service.offered() {
        let path = path(&offered.name);
        let mut about = evaluator["get"].clone();
        about["operationId"] = json!(format!("about:{}", offered.name));
        let evaluation = |kind| evaluation(&evaluator["post"], kind, offered);
        if service.offered().len() == 1 {
            paths.insert("/".to_owned(), json!({"post": evaluation("root")}));
            paths.insert("/invoke".to_owned(), json!({"post": evaluation("root_invoke")}));
        }
        paths.insert(format!("{path}/invoke"), json!({"post": evaluation("invoke")}));
        paths.insert(path, json!({"get": about, "post": evaluation("evaluate")}));
    }
    document
}

fn template() -> Value {
    serde_json::from_str(TEMPLATE).expect("openapi.json is JSON")
}

/// Returns the operation that has a document evaluated.
fn evaluation(template: &Value, kind: &str, offered: &Offered) -> Value {
    let summary = offered.description.lines().next().filter(|first| !first.is_empty());
    let mut evaluation = template.clone();
    evaluation["operationId"] = json!(format!("{kind}:{}", offered.name));
    evaluation["summary"] = json!(summary.unwrap_or(&offered.name));
    evaluation["description"] = json!(offered.description);
    if let Some(schema) = &offered.config_schema {
        evaluation["x-config-schema"] = schema.clone();
    }
    evaluation
}

fn remove(object: &mut Value, key: &str) {
    object.as_object_mut().and_then(|object| object.remove(key));
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn the_template_is_json_with_an_evaluator() {
        assert!(template()["paths"]["/evaluators/{name}"]["post"].is_object());
    }
}
