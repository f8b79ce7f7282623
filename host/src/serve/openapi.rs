//! The OpenAPI document.

use serde_json::{Map, Value, json};

use super::{BasePath, Settings, catalog::path};
use crate::run::{Offered, Service};

/// What the server offers, for programs and their generators.
pub(super) fn document(service: &Service, settings: &Settings) -> Value {
    let refusal = if settings.token.is_some() { UNAUTHORIZED } else { WEB_PAGE };
    let mut paths = Map::new();
    for offered in service.offered() {
        let path = path(&offered.name);
        let invoked = evaluation(offered, "invoke", &refusal);
        paths.insert(path.clone() + "/invoke", json!({"post": invoked}));
        let about = reading(
            &operation("about", offered),
            &format!("What is known of {}.", offered.name),
            &json!({"$ref": "#/components/schemas/Evaluator"}),
            Some(&refusal),
        );
        let evaluation = evaluation(offered, "evaluate", &refusal);
        paths.insert(path, json!({"get": about, "post": evaluation}));
    }
    if let (Some(only), 1) = (service.offered().next(), service.offered().len()) {
        paths.insert("/".to_owned(), json!({"post": evaluation(only, "root", &refusal)}));
        let invoked = evaluation(only, "root_invoke", &refusal);
        paths.insert("/invoke".to_owned(), json!({"post": invoked}));
    }
    let evaluators = json!({
        "type": "object",
        "required": ["evaluators"],
        "properties": {
            "evaluators": {"type": "array", "items": {"$ref": "#/components/schemas/Evaluator"}},
        },
    });
    let object = json!({"type": "object"});
    let mut health = reading("health", "Whether the server is there.", &object, None);
    let mut ready = reading("ready", "Whether documents are accepted.", &object, None);
    // No token is needed.
    health["security"] = json!([]);
    ready["security"] = json!([]);
    let metrics = metrics(&refusal);
    for (path, operation) in [
        ("/evaluators", reading("list", "What is offered.", &evaluators, Some(&refusal))),
        ("/openapi.json", reading("openapi", "This document.", &object, Some(&refusal))),
        ("/healthz", health),
        ("/readyz", ready),
        ("/metrics", metrics),
    ] {
        paths.insert(path.to_owned(), json!({"get": operation}));
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Evaluators",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Programs that score what AI agents did. Send a document of any contract, and be answered in its terms.",
        },
        "servers": [{"url": settings.base_path.as_ref().map_or("/", BasePath::as_str)}],
        "paths": paths,
        "components": {"schemas": schemas(), "responses": responses(&refusal)},
    });
    if settings.token.is_some() {
        document["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"token": []}]);
    }
    document
}

/// An operation that changes nothing and answers with this, unless it refuses.
fn reading(id: &str, summary: &str, schema: &Value, refusal: Option<&Fault>) -> Value {
    let mut responses = Map::new();
    let content = json!({"application/json": {"schema": schema}});
    responses.insert("200".to_owned(), json!({"description": summary, "content": content}));
    responses.extend(refusal.map(Fault::reference));
    json!({"operationId": id, "summary": summary, "responses": responses})
}

/// Reading the metrics, which are text.
fn metrics(refusal: &Fault) -> Value {
    let mut responses = Map::new();
    let content = json!({"text/plain": {"schema": {"type": "string"}}});
    let description = "Numbers in the text format of Prometheus.";
    responses.insert("200".to_owned(), json!({"description": description, "content": content}));
    responses.extend([Fault::reference(refusal)]);
    json!({"operationId": "metrics", "summary": description, "responses": responses})
}

/// Having a document judged.
fn evaluation(offered: &Offered, kind: &str, refusal: &Fault) -> Value {
    let summary = offered.description.lines().next().filter(|first| !first.is_empty());
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({
            "description": "The answer, in the terms of the document.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}},
        }),
    );
    responses.extend(FAULTS.iter().chain([refusal]).map(Fault::reference));
    let mut evaluation = json!({
        "operationId": operation(kind, offered),
        "summary": summary.unwrap_or(&offered.name),
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

/// What is no answer.
struct Fault {
    status: &'static str,
    name: &'static str,
    meaning: &'static str,
    /// A header that comes with it.
    header: Option<(&'static str, &'static str)>,
}

impl Fault {
    const fn new(status: &'static str, name: &'static str, meaning: &'static str) -> Self {
        Self { status, name, meaning, header: None }
    }

    const fn with(self, header: &'static str, meaning: &'static str) -> Self {
        Self { header: Some((header, meaning)), ..self }
    }

    /// The entry among the responses of an operation.
    fn reference(&self) -> (String, Value) {
        let reference = format!("#/components/responses/{}", self.name);
        (self.status.to_owned(), json!({"$ref": reference}))
    }

    fn response(&self) -> (String, Value) {
        let mut response = json!({
            "description": self.meaning,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Error"}},
                "text/plain": {"schema": {"type": "string", "description": "To Agenta."}},
            },
        });
        if let Some((header, meaning)) = self.header {
            response["headers"][header] =
                json!({"description": meaning, "schema": {"type": "string"}});
        }
        (self.name.to_owned(), response)
    }
}

/// Of these two a server knows one.
const UNAUTHORIZED: Fault = Fault::new("401", "Unauthorized", "The token is missing or wrong.")
    .with("WWW-Authenticate", "`Bearer`.");
const WEB_PAGE: Fault = Fault::new("403", "WebPage", "A web page may be asking.");

/// What may come of a document.
const FAULTS: [Fault; 9] = [
    Fault::new("400", "NotJson", "The body is not JSON."),
    Fault::new("408", "TooSlow", "The body did not come in time."),
    Fault::new("413", "TooLarge", "The body is too large."),
    Fault::new("415", "Compressed", "The body is compressed."),
    Fault::new("422", "Refused", "The document is of no contract, or refused, or not judged."),
    Fault::new("429", "Busy", "Too many documents are waiting.").with("Retry-After", RETRY_AFTER),
    Fault::new("500", "Broken", "The evaluator broke."),
    Fault::new("503", "Unavailable", "The server is going down, or the system has no resources.")
        .with("Retry-After", RETRY_AFTER),
    Fault::new("504", "TimedOut", "The evaluator took too long."),
];

const RETRY_AFTER: &str = "Seconds after which to come back.";

fn responses(refusal: &Fault) -> Value {
    Value::Object(FAULTS.iter().chain([refusal]).map(Fault::response).collect())
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
