//! Export documents.

use std::sync::Arc;

use super::{
    super::{
        error::LoadErrorKind,
        format::{is_document, is_otlp, is_wrapper},
        model::Scope,
        pool::Pool,
    },
    attributes::attributes,
    items,
    proto_names::camel_case,
    span::{log_record, span},
    take, take_either, take_object, take_text,
};
use crate::json::{Object, Value};

/// Decodes a whole text: a document, a bare span, or a list of bare spans.
pub(in super::super) fn decode(value: Value, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    match value {
        Value::Object(object) if is_document(&object) => document(object, pool),
        Value::Object(object) if is_otlp(&object) => {
            bare_span(object, pool);
            Ok(())
        }
        Value::Array(items) => {
            for item in items {
                if let Value::Object(object) = item {
                    bare_span(object, pool);
                }
            }
            Ok(())
        }
        _ => Err(LoadErrorKind::NotOtlp),
    }
}

/// Decodes a span that stands alone, without resource and scope.
pub(super) fn bare_span(object: Object, pool: &mut Pool) {
    span(object, &Arc::default(), &Arc::default(), pool);
}

/// Decodes an export document.
pub(super) fn document(mut document: Object, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    if is_wrapper(&document) {
        document = take_object(&mut document, "trace");
    }
    if document.contains_key("resource_spans") || document.contains_key("resource_logs") {
        camel_case(&mut document);
    }
    let (key, spans) = match take(&mut document, "resourceSpans") {
        spans if spans.is_truthy() => ("resourceSpans", spans),
        _ => ("batches", take(&mut document, "batches")),
    };
    let scopes = ["scopeSpans", "instrumentationLibrarySpans"];
    each_leaf(key, spans, scopes, "spans", pool, |object, scope, resource, pool| {
        span(object, scope, resource, pool);
    })?;
    let scopes = ["scopeLogs", "instrumentationLibraryLogs"];
    let logs = take(&mut document, "resourceLogs");
    each_leaf("resourceLogs", logs, scopes, "logRecords", pool, |object, _, _, pool| {
        log_record(object, pool);
    })
}

/// Goes through resources and their scopes to the objects in `leaves`. Items that are not objects are skipped.
fn each_leaf(
    key: &str,
    resources: Value,
    scopes: [&str; 2],
    leaves: &str,
    pool: &mut Pool,
    mut leaf: impl FnMut(Object, &Arc<Scope>, &Arc<Object>, &mut Pool),
) -> Result<(), LoadErrorKind> {
    let fail = |path: String| move |found| LoadErrorKind::NotAnArray { path, found };
    let mut odd = Vec::new();
    for (number, item) in items(resources).map_err(fail(key.to_owned()))?.into_iter().enumerate() {
        let Value::Object(mut item) = item else { continue };
        let mut resource = take_object(&mut item, "resource");
        let resource = Arc::new(attributes(take(&mut resource, "attributes"), &mut odd));
        pool.warn_file("a resource", &mut odd);

        let path = format!("{key}[{number}].{}", scopes[0]);
        let groups =
            items(take_either(&mut item, scopes[0], scopes[1])).map_err(fail(path.clone()))?;
        for (number, group) in groups.into_iter().enumerate() {
            let Value::Object(mut group) = group else { continue };
            let scope = Arc::new(scope(take_either(&mut group, "scope", "instrumentationLibrary")));
            let objects = items(take(&mut group, leaves))
                .map_err(fail(format!("{path}[{number}].{leaves}")))?;
            for object in objects {
                if let Value::Object(object) = object {
                    leaf(object, &scope, &resource, pool);
                }
            }
        }
    }
    Ok(())
}

pub(in super::super) fn scope(value: Value) -> Scope {
    match value {
        Value::Object(mut scope) => {
            Scope { name: take_text(&mut scope, "name"), version: take_text(&mut scope, "version") }
        }
        _ => Scope::default(),
    }
}
