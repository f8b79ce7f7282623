//! What only recordings of Jaeger have.

use super::*;

#[test]
fn jaeger_tags_become_fields_and_typed_values() {
    let trace = only("a04_jaeger_tag_types.json");
    let tokens = |key: &str| attribute(&trace, 1, key);
    assert_eq!(tokens("gen_ai.usage.input_tokens"), "77");
    assert_eq!(tokens("gen_ai.usage.output_tokens"), "8.0");
    assert_eq!(tokens("gen_ai.usage.cache_read.input_tokens"), "\"not-a-number\"");
    assert_eq!(attribute(&trace, 5, "gen_ai.tool.call.result"), "\"hello bytes\"");
    assert_eq!(attribute(&trace, 5, "gen_ai.tool.call.arguments"), "\"!!notb64\"");
    let statuses: Vec<SpanStatus> = trace.spans.iter().map(|span| span.status).collect();
    use SpanStatus::{Error, Ok, Unset};
    assert_eq!(statuses, [Unset, Unset, Error, Error, Unset, Unset, Ok]);
    assert_eq!(attribute(&trace, 2, "otel.status_code"), "absent");
    assert_eq!(attribute(&trace, 2, "otel.status_description"), "absent");
    assert_eq!(trace.spans[0].resource.get("service.name").and_then(Value::as_str), Some("svc-j"));

    let adk = loaded("a08_jaeger_adk_scope_tag.json");
    let scopes: Vec<&str> =
        adk.iter().flat_map(|trace| &trace.spans).map(|span| span.scope.name.as_str()).collect();
    assert!(scopes.contains(&"gcp.vertex.agent"), "{scopes:?}");

    let events = only("a06_jaeger_logs_as_events.json");
    let event = events.spans.iter().flat_map(|span| &span.events).next().expect("an event");
    assert!(event.name.starts_with("gen_ai."), "{}", event.name);
    assert!(!event.attributes.contains_key("event"));
}

#[test]
fn jaeger_parents_are_child_of_references() {
    let trace = only("a05_jaeger_references.json");
    assert_eq!(trace.parent, [None, None, Some(0), None, Some(0)]);
}
