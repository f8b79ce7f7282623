//! OTLP JSON: export documents, bare spans, and either per line.
//!
//! | file | contents |
//! |---|---|
//! | `document` | the grammar of documents with resources and scopes |
//! | `record` | spans and log records |
//! | `attributes` | attributes and values |

mod attributes;
mod document;
mod record;

pub(in crate::trace) use attributes::{attributes, items_or_kind, part_items, take, take_text};
pub(in crate::trace) use document::{
    Lists, SPAN_LISTS, SPAN_MEMBERS, no_list, span_list, span_member,
};
pub(in crate::trace) use record::{add_span, ids, log_record, odd_trace_id, span, take_repeated};
