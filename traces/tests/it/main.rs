//! Tests of the traces library over recorded files.

mod attachments;
mod eval_sets;
mod properties;
mod trace_attributes;
mod trace_loading;
