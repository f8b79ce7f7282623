//! One reading of a span, whatever convention its producer followed.
//!
//! Producers put messages, models and token counts in different places. A view starts from the attributes the span
//! recorded and fills what is missing from, in this order: older attribute names, the details event of the call,
//! the deprecated event per message, attributes of Google's Agent Development Kit, and the indexed attributes of
//! `OpenLLMetry`. What is there is never replaced, and a list of messages comes whole from one source.

mod adk;
mod attributes;
mod events;
mod indexed;
pub(super) mod keys;
mod operation;

use std::{borrow::Cow, rc::Rc};

pub(super) use attributes::{Attributes, TooLarge};
use keys::{INPUT_MESSAGES, OUTPUT_MESSAGES};
pub(super) use operation::{Kind, kind_of};

use super::message::{Message, Messages, read_messages};
use crate::{
    json::Value,
    trace::{LogRecord, Span},
};

/// A span in canonical form.
#[derive(Debug)]
pub(super) struct SpanView<'a> {
    pub(super) span: &'a Span,
    pub(super) kind: Kind,
    pub(super) attributes: Attributes<'a>,
    /// Messages given to the model or agent; empty when none were recorded.
    pub(super) input: Messages,
    /// Messages it answered with; empty when none were recorded.
    pub(super) output: Messages,
}

impl<'a> SpanView<'a> {
    /// Reads a span of this kind and the log records that belong to it.
    ///
    /// `with_messages` is off for spans whose messages nobody asks about: parsing them is most of the work.
    pub(super) fn new(
        span: &'a Span,
        kind: Kind,
        logs: &[&'a LogRecord],
        with_messages: bool,
    ) -> Self {
        let mut draft = Draft {
            span,
            attributes: Attributes::new(&span.attributes),
            with_messages,
            input: Vec::new(),
            output: Vec::new(),
        };
        draft.fill_input_from(span.attributes.get(INPUT_MESSAGES));
        draft.fill_output_from(span.attributes.get(OUTPUT_MESSAGES));
        draft.apply_aliases();
        draft.apply_details(logs);
        draft.apply_message_events(logs);
        if operation::is_adk(span) {
            draft.apply_adk();
        }
        draft.apply_indexed();
        draft.remove_placeholders();
        Self {
            span,
            kind,
            attributes: draft.attributes,
            input: Rc::from(draft.input),
            output: Rc::from(draft.output),
        }
    }
}

/// A view that is being filled.
#[derive(Debug)]
struct Draft<'a> {
    span: &'a Span,
    attributes: Attributes<'a>,
    with_messages: bool,
    input: Vec<Message>,
    output: Vec<Message>,
}

impl<'a> Draft<'a> {
    fn needs_input(&self) -> bool {
        self.with_messages && self.input.is_empty()
    }

    fn needs_output(&self) -> bool {
        self.with_messages && self.output.is_empty()
    }

    fn fill_input_from(&mut self, value: Option<&Value>) {
        if let Some(value) = value.filter(|_| self.needs_input()) {
            self.input = read_messages(value);
        }
    }

    fn fill_output_from(&mut self, value: Option<&Value>) {
        if let Some(value) = value.filter(|_| self.needs_output()) {
            self.output = read_messages(value);
        }
    }

    fn apply_aliases(&mut self) {
        let recorded = &self.span.attributes;
        for (alias, key) in keys::ALIASES {
            match recorded.get(alias) {
                Some(reason @ Value::String(_)) if key == keys::FINISH_REASONS => {
                    self.attributes.fill(key, Cow::Owned(Value::Array(vec![reason.clone()])));
                }
                Some(value) => self.attributes.fill(key, Cow::Borrowed(value)),
                None => {}
            }
        }
    }

    fn remove_placeholders(&mut self) {
        for key in [keys::TOOL_NAME, keys::TOOL_CALL_ID] {
            if self.attributes.get(key).and_then(Value::as_str) == Some(keys::NOT_SPECIFIED) {
                self.attributes.remove(key);
            }
        }
    }
}
