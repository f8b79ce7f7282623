//! Export documents.

use std::sync::Arc;

use super::{
    super::{
        error::LoadErrorKind,
        format::{is_document, is_otlp, is_wrapper},
        left_out::{Part, wrong_kind},
        model::Scope,
        pool::{Pool, Side},
        stray,
    },
    attributes::attributes,
    items_or_kind,
    proto_names::camel_keys,
    span::{log_record, span},
    take, take_either, take_text,
};
use crate::json::{Object, Value, take_repeated_among, take_repeated_key, to_python};

/// Members of a document that hold resources with spans.
pub(in super::super) const SPAN_LISTS: [&str; 2] = ["resourceSpans", "batches"];
/// The member of a document that holds resources with log records.
pub(in super::super) const LOG_LIST: &str = "resourceLogs";

/// Decodes a whole text: a document, a bare span, or a list of bare spans.
pub(in super::super) fn decode(value: Value, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    match value {
        Value::Object(object) if is_document(&object) => document(object, pool),
        Value::Object(object) if is_otlp(&object) => {
            bare_span(object, pool);
            Ok(())
        }
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                pool.position.move_to(0, "", index);
                leaf(item, Side::Spans, (&Arc::default(), &Arc::default()), pool);
            }
            pool.position.leave(0);
            Ok(())
        }
        _ => Err(LoadErrorKind::NotOtlp),
    }
}

/// Decodes a span that stands alone, without resource and scope.
pub(super) fn bare_span(object: Object, pool: &mut Pool) {
    span(object, &Arc::default(), &Arc::default(), pool);
}

/// Decodes an export document, which may be the member `trace` of another.
pub(super) fn document(mut document: Object, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    if is_wrapper(&document) {
        no_repeated(&mut document, &["trace", "status"], pool)?;
        reported_partial(&document, pool);
        if let Value::Object(wrapped) = take(&mut document, "trace") {
            lists(wrapped, pool)?;
        }
        return lists(document, pool).map(drop);
    }
    if !lists(document, pool)? {
        pool.leave_out(Side::Spans, Part::List, &no_list(SPAN_LISTS[0]));
    }
    Ok(())
}

/// Notes that a trace API says that its answer is only a part of the trace.
fn reported_partial(document: &Object, pool: &mut Pool) {
    if document.get("status").and_then(Value::as_str) == Some("PARTIAL") {
        let message = document.get("message").map_or_else(|| "no message".to_owned(), to_python);
        pool.leave_out(Side::Spans, Part::ReportedError, &format!("status PARTIAL: {message}"));
    }
}

/// Decodes the lists of a document. Returns whether it has one.
fn lists(mut document: Object, pool: &mut Pool) -> Result<bool, LoadErrorKind> {
    if stray::is_span(&document) {
        pool.leave_out(
            Side::Spans,
            Part::Span,
            "the object is an export document as well as a span",
        );
    }
    camel_keys(&mut document);
    no_repeated(&mut document, &[SPAN_LISTS[0], SPAN_LISTS[1], LOG_LIST], pool)?;
    let mut has_list = false;
    for (key, names) in [(SPAN_LISTS[0], &SPANS), (SPAN_LISTS[1], &SPANS), (LOG_LIST, &LOGS)] {
        let value = take(&mut document, key);
        has_list |= !value.is_null();
        resources((key, value), names, pool)?;
    }
    stray::leave_out(&document, pool);
    Ok(has_list)
}

/// The names by which a list of resources goes down to its leaves.
#[derive(Debug)]
pub(in super::super) struct Names {
    /// Members of a resource; the second is the older name.
    pub(in super::super) scopes: [&'static str; 2],
    /// The member of a scope.
    pub(in super::super) leaves: &'static str,
    pub(in super::super) side: Side,
}

/// Names in a list of resources with spans.
pub(in super::super) const SPANS: Names = Names {
    scopes: ["scopeSpans", "instrumentationLibrarySpans"],
    leaves: "spans",
    side: Side::Spans,
};
/// Names in a list of resources with log records.
pub(in super::super) const LOGS: Names = Names {
    scopes: ["scopeLogs", "instrumentationLibraryLogs"],
    leaves: "logRecords",
    side: Side::Logs,
};

fn resources(
    (key, value): (&'static str, Value),
    names: &Names,
    pool: &mut Pool,
) -> Result<(), LoadErrorKind> {
    if value.is_null() {
        return Ok(());
    }
    for (index, item) in list(value, key, (Part::List, names), pool)?.into_iter().enumerate() {
        pool.position.move_to(0, key, index);
        match item {
            Value::Object(item) => resource(item, names, pool)?,
            other => {
                let reason = wrong_kind("the resource", other.kind(), "an object");
                pool.leave_out(names.side, Part::Resource, &reason);
            }
        }
    }
    pool.position.leave(0);
    Ok(())
}

fn resource(mut item: Object, names: &Names, pool: &mut Pool) -> Result<(), LoadErrorKind> {
    camel_keys(&mut item);
    no_repeated(&mut item, &["resource", names.scopes[0], names.scopes[1]], pool)?;
    let mut odd = Vec::new();
    let resource = match take(&mut item, "resource") {
        Value::Object(mut resource) => {
            none_repeated(&mut resource, pool)?;
            attributes(take(&mut resource, "attributes"), &mut odd)
        }
        _ => Object::default(),
    };
    pool.warn_file("a resource", &mut odd);
    let resource = Arc::new(resource);
    let mut has_list = false;
    for key in names.scopes {
        let value = take(&mut item, key);
        if value.is_null() {
            continue;
        }
        has_list = true;
        let groups = list(value, key, (Part::Resource, names), pool)?;
        for (index, group) in groups.into_iter().enumerate() {
            pool.position.move_to(1, key, index);
            match group {
                Value::Object(group) => scope_group(group, &resource, names, pool)?,
                other => {
                    let reason = wrong_kind("the scope", other.kind(), "an object");
                    pool.leave_out(names.side, Part::Scope, &reason);
                }
            }
        }
        pool.position.leave(1);
    }
    if !has_list {
        pool.leave_out(names.side, Part::Resource, &no_list(names.scopes[0]));
    }
    stray::leave_out(&item, pool);
    Ok(())
}

fn scope_group(
    mut group: Object,
    resource: &Arc<Object>,
    names: &Names,
    pool: &mut Pool,
) -> Result<(), LoadErrorKind> {
    camel_keys(&mut group);
    no_repeated(&mut group, &["scope", "instrumentationLibrary", names.leaves], pool)?;
    let mut recorded = take_either(&mut group, "scope", "instrumentationLibrary");
    if let Value::Object(scope) = &mut recorded {
        none_repeated(scope, pool)?;
    }
    let scope = Arc::new(scope(recorded));
    let value = take(&mut group, names.leaves);
    stray::leave_out(&group, pool);
    if value.is_null() {
        pool.leave_out(names.side, Part::Scope, &no_list(names.leaves));
        return Ok(());
    }
    let items = list(value, names.leaves, (Part::Scope, names), pool)?;
    for (index, item) in items.into_iter().enumerate() {
        pool.position.move_to(2, names.leaves, index);
        leaf(item, names.side, (&scope, resource), pool);
    }
    pool.position.leave(2);
    Ok(())
}

/// Decodes a span or a log record, or notes that it is neither.
fn leaf(item: Value, side: Side, (scope, resource): (&Arc<Scope>, &Arc<Object>), pool: &mut Pool) {
    match (item, side) {
        (Value::Object(object), Side::Spans) => span(object, scope, resource, pool),
        (Value::Object(object), Side::Logs) => log_record(object, pool),
        (other, side) => {
            let (part, name) = side.part();
            pool.leave_out(side, part, &wrong_kind(name, other.kind(), "an object"));
        }
    }
}

/// Why a resource or a scope without this list is left out.
pub(in super::super) fn no_list(key: &str) -> String {
    format!("no `{key}`")
}

/// The items of a list. A text or an object in its place leaves out the part that the list belongs to.
fn list(
    value: Value,
    key: &'static str,
    (part, names): (Part, &Names),
    pool: &mut Pool,
) -> Result<Vec<Value>, LoadErrorKind> {
    let kind = value.kind();
    match items_or_kind(value) {
        Ok(Some(items)) => Ok(items),
        Ok(None) => {
            let reason = wrong_kind(&format!("`{key}`"), kind, "an array");
            pool.leave_out(names.side, part, &reason);
            Ok(Vec::new())
        }
        Err(found) => Err(LoadErrorKind::NotAnArray { path: pool.position.member(key), found }),
    }
}

/// Refuses an object that has one of these keys more than once, of which only one would be read.
pub(in super::super) fn no_repeated(
    object: &mut Object,
    keys: &[&'static str],
    pool: &Pool,
) -> Result<(), LoadErrorKind> {
    match take_repeated_among(object, keys) {
        Some(key) => Err(pool.repeated(key)),
        None => Ok(()),
    }
}

/// Refuses an object that has a repeated key, in it or in what it holds.
pub(in super::super) fn none_repeated(
    object: &mut Object,
    pool: &Pool,
) -> Result<(), LoadErrorKind> {
    match take_repeated_key(object) {
        Some(key) => Err(pool.repeated(&key)),
        None => Ok(()),
    }
}

pub(in super::super) fn scope(value: Value) -> Scope {
    match value {
        Value::Object(mut scope) => {
            Scope { name: take_text(&mut scope, "name"), version: take_text(&mut scope, "version") }
        }
        _ => Scope::default(),
    }
}
