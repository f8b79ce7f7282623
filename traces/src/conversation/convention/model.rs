//! The trait that each convention implements.

use std::fmt;

use super::{
    draft::SpanDraft,
    keys::{INPUT_MESSAGES, OUTPUT_MESSAGES, TOOL_ARGUMENTS},
    kind::{Kind, Kinds},
    setup::Setup,
};
use crate::trace::{LogRecord, Span, Trace};

/// A convention: a way in which a family of instrumentations records agents.
///
/// To add a convention, implement this trait in a file of its own and add a row to [`Conventions::default`]; a program that
/// embeds this crate calls [`Conventions::register`] instead.
///
/// [`Conventions::default`]: crate::conversation::Conventions::default
/// [`Conventions::register`]: crate::conversation::Conventions::register
pub trait Convention: fmt::Debug + Send + Sync {
    /// Returns the name: lower case, words separated by `-`.
    fn name(&self) -> &'static str;

    /// Returns the kind of a span, from the span alone; `None` if the convention does not define it.
    fn kind(&self, span: &Span) -> Option<Kind>;

    /// Classifies the spans of a trace that no earlier convention has classified. Default: each by [`Convention::kind`].
    fn classify(&self, trace: &Trace, kinds: &mut Kinds) {
        for (index, span) in trace.spans.iter().enumerate() {
            if kinds.get(index).is_none()
                && let Some(kind) = self.kind(span)
            {
                kinds.set(index, kind);
            }
        }
    }

    /// Fills what the convention records of a span, and nothing if the span does not follow it.
    fn read(&self, draft: &mut SpanDraft<'_>);

    /// Fills the instructions and the tools of an agent from a span of the agent or of a model call, and from the log records
    /// that belong to it. Default: nothing.
    ///
    /// System messages of the input are read without this method.
    fn read_setup(&self, _span: &Span, _logs: &[&LogRecord], _setup: &mut Setup) {}

    /// Returns where the producer of a span records content, and how that is switched on. Default: as in the `GenAI`
    /// conventions.
    fn content(&self, _span: &Span) -> Content {
        Content::default()
    }
}

/// Where a convention records content, for messages about content that is missing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Content {
    /// Attribute of messages given to a model or agent.
    pub input: &'static str,
    /// Attribute of messages it answered with.
    pub output: &'static str,
    /// Attribute of the arguments of a tool.
    pub arguments: &'static str,
    /// How to have them recorded, as a clause that follows "to record content,"; `None` if the library is not known.
    pub switch: Option<&'static str>,
}

impl Default for Content {
    fn default() -> Self {
        Self {
            input: INPUT_MESSAGES,
            output: OUTPUT_MESSAGES,
            arguments: TOOL_ARGUMENTS,
            switch: None,
        }
    }
}

impl Content {
    /// Sets how content is switched on.
    #[must_use]
    pub const fn switched_by(self, switch: &'static str) -> Self {
        Self { switch: Some(switch), ..self }
    }

    /// Sets the attributes of messages.
    #[must_use]
    pub const fn in_attributes(self, input: &'static str, output: &'static str) -> Self {
        Self { input, output, ..self }
    }
}
