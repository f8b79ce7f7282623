//! Descriptions of the evaluators: the catalog and the OpenAPI document.

use serde_json::{Map, Value, json};

use evaluator_hosts::export::path_segment;

use super::{BasePath, Offered, Service, Settings};

/// Returns the descriptions of all evaluators as JSON, in their order.
pub(super) fn all(service: &Service) -> String {
    let evaluators: Vec<Value> = service.offered().map(entry).collect();
    json!({"evaluators": evaluators}).to_string() + "\n"
}

/// Returns the description of one evaluator as JSON.
pub(super) fn one(service: &Service, name: &str) -> Option<String> {
    let offered = service.offered().find(|offered| offered.name == name)?;
    Some(entry(offered).to_string() + "\n")
}

fn entry(offered: &Offered) -> Value {
    json!({
        "name": offered.name,
        "description": offered.description,
        "contract": offered.contract,
        "threshold": offered.threshold,
        "config_schema": offered.config_schema,
        "path": path(&offered.name),
    })
}

/// Returns the path to which documents for an evaluator are sent.
fn path(name: &str) -> String {
    format!("/evaluators/{}", path_segment(name))
}

/// The document of a server that requires a token and also refuses web pages. Its path with `{name}` stands for each
/// evaluator.
const TEMPLATE: &str = include_str!("openapi.json");

/// Returns the document that describes a server.
pub(super) fn openapi(service: &Service, settings: &Settings) -> Value {
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
    use super::{path, template};

    #[test]
    fn the_template_is_json_with_an_evaluator() {
        assert!(template()["paths"]["/evaluators/{name}"]["post"].is_object());
    }

    #[test]
    fn names_in_paths_are_escaped() {
        assert_eq!(path("is_polite-2.0"), "/evaluators/is_polite-2.0");
        assert_eq!(path("a b/é"), "/evaluators/a%20b%2F%C3%A9");
    }
}
