//! The OpenAPI document.

use serde_json::{Map, Value, json};

use super::{Settings, catalog::path};
use crate::run::{Offered, Service};

/// What the server offers, for programs and their generators.
pub(super) fn document(service: &Service, settings: &Settings) -> Value {
    let mut paths = Map::new();
    for offered in service.offered() {
        let path = path(&offered.name);
        paths.insert(path.clone() + "/invoke", json!({"post": evaluation(offered, "invoke")}));
        paths.insert(path, json!({"get": about(offered), "post": evaluation(offered, "evaluate")}));
    }
    if let (Some(only), 1) = (service.offered().next(), service.offered().len()) {
        paths.insert("/".to_owned(), json!({"post": evaluation(only, "root")}));
        paths.insert("/invoke".to_owned(), json!({"post": evaluation(only, "root_invoke")}));
    }
    paths.insert("/evaluators".to_owned(), json!({"get": {
        "operationId": "list",
        "summary": "What is offered.",
        "responses": {"200": {"description": "All evaluators.", "content": {"application/json": {"schema": {
            "type": "object",
            "required": ["evaluators"],
            "properties": {"evaluators": {"type": "array", "items": {"$ref": "#/components/schemas/Evaluator"}}},
        }}}}},
    }}));
    paths.insert("/openapi.json".to_owned(), json!({"get": {
        "operationId": "openapi",
        "summary": "This document.",
        "responses": {"200": {"description": "An OpenAPI document.", "content": {"application/json": {"schema": {"type": "object"}}}}},
    }}));
    paths.insert("/healthz".to_owned(), json!({"get": {
        "operationId": "health",
        "summary": "Whether the server is there.",
        "security": [],
        "responses": {"200": {"description": "It is.", "content": {"application/json": {"schema": {"type": "object"}}}}},
    }}));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Evaluators",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Programs that score what AI agents did. Send a document of any contract, and be answered in its terms.",
        },
        "paths": paths,
        "components": {"schemas": schemas(), "responses": responses()},
    });
    if settings.token.is_some() {
        document["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"token": []}]);
    }
    document
}

fn about(offered: &Offered) -> Value {
    json!({
        "operationId": operation("about", offered),
        "summary": format!("What is known of {}.", offered.name),
        "responses": {
            "200": {
                "description": "The evaluator.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Evaluator"}}},
            },
        },
    })
}

fn evaluation(offered: &Offered, kind: &str) -> Value {
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({
            "description": "The answer, in the terms of the document.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}},
        }),
    );
    for (status, name, _) in FAULTS {
        let name = format!("#/components/responses/{name}");
        responses.insert(status.to_owned(), json!({"$ref": name}));
    }
    let summary = offered.description.lines().next().unwrap_or_default();
    let mut evaluation = json!({
        "operationId": operation(kind, offered),
        "summary": if summary.is_empty() { offered.name.as_str() } else { summary },
        "description": offered.description,
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Document"}}},
        },
        "responses": responses,
    });
    if let Some(schema) = &offered.config_schema {
        evaluation["x-config-schema"] = schema.clone();
    }
    evaluation
}

fn operation(kind: &str, offered: &Offered) -> String {
    format!("{kind}:{}", offered.name)
}

/// What is no answer: status, name and meaning.
const FAULTS: [(&str, &str, &str); 11] = [
    ("400", "NotJson", "The body is not JSON."),
    ("401", "Unauthorized", "The token is missing or wrong."),
    ("404", "UnknownEvaluator", "There is no such evaluator."),
    ("408", "TooSlow", "The body did not come in time."),
    ("413", "TooLarge", "The body is too large."),
    ("415", "Compressed", "The body is compressed."),
    ("422", "Refused", "The document is of no contract, or refused, or not judged."),
    ("429", "Busy", "Too many documents are waiting; `Retry-After` says when to come back."),
    ("500", "Broken", "The evaluator broke."),
    ("503", "Unavailable", "The server is going down, or the system has no resources."),
    ("504", "TimedOut", "The evaluator took too long."),
];

fn responses() -> Value {
    let responses: Map<String, Value> = FAULTS
        .iter()
        .map(|(_, name, meaning)| {
            let content = json!({
                "application/json": {"schema": {"$ref": "#/components/schemas/Error"}},
                "text/plain": {"schema": {"type": "string", "description": "To documents of Agenta."}},
            });
            ((*name).to_owned(), json!({"description": meaning, "content": content}))
        })
        .collect();
    Value::Object(responses)
}

/// The documents by the keys that tell them, and what is looked at first of the answers. What else they hold is the matter
/// of their contracts.
fn schemas() -> Value {
    let score = json!({"type": "number", "minimum": 0, "maximum": 1});
    let object = |required: &[&str]| json!({"type": "object", "required": required});
    json!({
        "Document": {
            "description": "A document of any contract, told by its keys.",
            "anyOf": [
                {"$ref": "#/components/schemas/AgentevalsInput"},
                {"$ref": "#/components/schemas/AgentVInput"},
                {"$ref": "#/components/schemas/AdkInput"},
                {"$ref": "#/components/schemas/AgentaInput"},
            ],
        },
        "AgentevalsInput": {
            "type": "object",
            "required": ["metric_name"],
            "properties": {
                "protocol_version": {"type": "string"},
                "metric_name": {"type": "string"},
                "threshold": {"type": "number"},
                "config": {"type": "object"},
                "invocations": {"type": "array", "items": {"type": "object"}},
                "expected_invocations": {"type": ["array", "null"], "items": {"type": "object"}},
            },
        },
        "AgentVInput": {"description": "What AgentV gives code judges, code graders and script graders.", "type": "object"},
        "AdkInput": object(&["eval_metric", "actual_invocations"]),
        "AgentaInput": {
            "description": "What Agenta sends to webhooks and remote workflows.",
            "type": "object",
            "required": ["inputs"],
            "properties": {"inputs": {"type": ["object", "null"]}, "output": {}, "outputs": {}, "parameters": {"type": ["object", "null"]}},
        },
        "Answer": {
            "anyOf": [
                {
                    "description": "To documents of agentevals.",
                    "type": "object",
                    "required": ["score"],
                    "properties": {
                        "score": score,
                        "status": {"enum": ["PASSED", "FAILED", "NOT_EVALUATED", null]},
                        "per_invocation_scores": {"type": "array", "items": {"type": ["number", "null"]}},
                        "details": {"type": ["object", "null"]},
                    },
                },
                {
                    "description": "To documents of AgentV.",
                    "type": "object",
                    "required": ["score"],
                    "properties": {"score": score},
                },
                {
                    "description": "To documents of ADK.",
                    "type": "object",
                    "required": ["overall_eval_status"],
                    "properties": {"overall_score": {"type": ["number", "null"]}, "overall_eval_status": {}},
                },
                {
                    "description": "To documents of Agenta.",
                    "type": "object",
                    "required": ["score", "success"],
                    "properties": {"score": score, "success": {"type": "boolean"}},
                },
            ],
        },
        "Evaluator": {
            "type": "object",
            "required": ["name", "contract", "path"],
            "properties": {
                "name": {"type": "string"},
                "description": {"type": "string"},
                "contract": {"type": "string"},
                "threshold": {"type": ["number", "null"]},
                "config_schema": {"description": "JSON Schema of its config."},
                "path": {"type": "string"},
            },
        },
        "Error": {
            "type": "object",
            "required": ["error"],
            "properties": {"error": {
                "type": "object",
                "required": ["kind", "message"],
                "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
            }},
        },
    })
}
