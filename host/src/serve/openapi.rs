//! The OpenAPI document: `openapi.json`, completed by the evaluators and the settings of the server.

use serde_json::{Map, Value, json};

use super::{BasePath, Settings, catalog::path};
use crate::run::{Offered, Service};

/// `document` without the paths of evaluators, and `operations` on an evaluator.
const TEMPLATE: &str = include_str!("openapi.json");

/// Returns the OpenAPI document of the server.
pub(super) fn document(service: &Service, settings: &Settings) -> Value {
    let mut template: Value = serde_json::from_str(TEMPLATE).unwrap_or_default();
    let mut document = template["document"].take();
    let operations = template["operations"].take();
    let mut add = |path: String, operations: Value| document["paths"][path] = operations;
    let evaluate =
        |kind: &str, offered: &Offered| evaluation(operations["evaluate"].clone(), kind, offered);
    for offered in service.offered() {
        let mut about = operations["about"].clone();
        let summary = format!("Description of {}.", offered.name);
        about["operationId"] = operation_id("about", offered);
        about["responses"]["200"]["description"] = json!(summary);
        about["summary"] = json!(summary);
        let path = path(&offered.name);
        add(path.clone() + "/invoke", json!({"post": evaluate("invoke", offered)}));
        add(path, json!({"get": about, "post": evaluate("evaluate", offered)}));
    }
    if let (Some(only), 1) = (service.offered().next(), service.offered().len()) {
        add("/".to_owned(), json!({"post": evaluate("root", only)}));
        add("/invoke".to_owned(), json!({"post": evaluate("root_invoke", only)}));
    }
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    document["servers"] =
        json!([{"url": settings.base_path.as_ref().map_or("/", BasePath::as_str)}]);
    // A server with a token refuses requests without it; one without a token refuses requests of web pages.
    let (status, response) = match settings.token {
        Some(_) => ("403", "WebPage"),
        None => ("401", "Unauthorized"),
    };
    if settings.token.is_some() {
        document["security"] = json!([{"token": []}]);
    } else {
        remove(&mut document["components"], "securitySchemes");
    }
    remove(&mut document["components"]["responses"], response);
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        remove(&mut operation["responses"], status);
    }
    document
}

/// Returns the evaluation of a document.
fn evaluation(mut operation: Value, kind: &str, offered: &Offered) -> Value {
    let summary = offered.description.lines().next().filter(|first| !first.is_empty());
    operation["operationId"] = operation_id(kind, offered);
    operation["summary"] = json!(summary.unwrap_or(&offered.name));
    operation["description"] = json!(offered.description);
    if let Some(schema) = &offered.config_schema {
        operation["x-config-schema"] = schema.clone();
    }
    operation
}

fn operation_id(kind: &str, offered: &Offered) -> Value {
    json!(format!("{kind}:{}", offered.name))
}

fn remove(object: &mut Value, key: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_json() {
        let template: Value = serde_json::from_str(TEMPLATE).unwrap();
        assert!(template["document"]["paths"].is_object());
        assert!(template["operations"]["evaluate"].is_object());
    }
}
