//! OTLP JSON: export documents, bare spans, and either per line.
//!
//! | file | contents |
//! |---|---|
//! | `document` | the format, documents with resources and scopes, lines |
//! | `record` | spans and log records |
//! | `attributes` | attributes and values |

mod attributes;
mod document;
mod record;

pub(in crate::trace) use attributes::{
    attributes, items_or_kind, part_items, take, take_either, take_text,
};
pub(in crate::trace) use document::{
    LOG_LIST, LOGS, Names, OtlpJson, SPAN_LISTS, SPANS, no_list, no_repeated, none_repeated,
    read_line,
};
pub(in crate::trace) use record::{
    add_span, ids, log_record, odd_trace_id, scope, span, take_repeated,
};
