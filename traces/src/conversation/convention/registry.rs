//! The trait that each convention implements, and the registry of those that are known.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use super::{
    adk::{AgentDevelopmentKit, LLM_REQUEST, LLM_RESPONSE},
    crewai::CrewAi,
    draft::SpanDraft,
    events::{ASSISTANT_MESSAGE, CHOICE, MessageEvents, TOOL_MESSAGE, USER_MESSAGE},
    genai::{DETAILS, GenAi},
    keys::{INPUT_MESSAGES, OUTPUT_MESSAGES, TOOL_ARGUMENTS},
    langfuse::Langfuse,
    langsmith::LangSmith,
    mastra::Mastra,
    openinference::OpenInference,
    pydantic_ai::{EVENTS, LogfireAgents, PydanticAi, REQUEST_DATA},
    semantic_kernel::SemanticKernel,
    setup::Setup,
    traceloop::{COMPLETION, PROMPT, Traceloop},
    vercel_ai::{self, VercelAi},
};
use crate::{
    conversation::message::is_placeholder,
    json::Value,
    trace::{LogRecord, Span, Trace},
};

/// A convention: a way in which a family of instrumentations records agents.
///
/// To add a convention, implement this trait in a file of its own and add a row to [`Conventions::default`]; a program that
/// embeds this crate calls [`Conventions::register`] instead.
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

/// The known conventions in order of precedence.
#[derive(Clone, Debug)]
pub struct Conventions(Vec<Arc<dyn Convention>>);

impl Default for Conventions {
    fn default() -> Self {
        Self(vec![
            Arc::new(SemanticKernel),
            Arc::new(Mastra),
            Arc::new(VercelAi),
            Arc::new(GenAi),
            Arc::new(MessageEvents),
            Arc::new(AgentDevelopmentKit),
            Arc::new(PydanticAi),
            Arc::new(LogfireAgents),
            Arc::new(Traceloop),
            Arc::new(CrewAi),
            Arc::new(OpenInference),
            Arc::new(Langfuse),
            Arc::new(LangSmith),
        ])
    }
}

impl Conventions {
    /// Adds a convention, which takes precedence over all known ones. It replaces a known convention with the same name.
    pub fn register(&mut self, convention: impl Convention + 'static) {
        self.0.retain(|known| known.name() != convention.name());
        self.0.insert(0, Arc::new(convention));
    }

    /// Returns the conventions that are built in.
    pub(crate) fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Conventions> = LazyLock::new(Conventions::default);
        &BUILT_IN
    }

    /// Returns the conventions in order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Convention> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Returns where the producer of a span records content; `name` is that of the convention.
    pub(in crate::conversation) fn content(&self, name: &str, span: &Span) -> Content {
        let found = self.iter().find(|convention| convention.name() == name);
        found.map(|convention| convention.content(span)).unwrap_or_default()
    }

    /// Returns the kinds of the spans of a trace.
    pub(in crate::conversation) fn kinds_of(&self, trace: &Trace) -> Vec<Classified> {
        let mut kinds = Kinds { by: "", kinds: vec![None; trace.spans.len()] };
        for convention in self.iter() {
            kinds.by = convention.name();
            convention.classify(trace, &mut kinds);
        }
        kinds.kinds.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// Returns true if a span records messages, in whatever convention; what they hold is not parsed.
pub(super) fn records_messages(trace: &Trace, index: usize) -> bool {
    const KEYS: [&str; 10] = [
        INPUT_MESSAGES,
        OUTPUT_MESSAGES,
        LLM_REQUEST,
        LLM_RESPONSE,
        EVENTS,
        REQUEST_DATA,
        vercel_ai::MESSAGES,
        vercel_ai::TEXT,
        vercel_ai::TOOL_CALLS,
        vercel_ai::OBJECT,
    ];
    const EVENT_NAMES: [&str; 5] = [DETAILS, USER_MESSAGE, ASSISTANT_MESSAGE, TOOL_MESSAGE, CHOICE];
    let is_something = |value: &Value| match value {
        Value::String(text) => !is_placeholder(text) && text != "[]",
        other => !other.is_empty_like(),
    };
    let span = &trace.spans[index];
    let mut attributes = span.attributes.iter();
    attributes.any(|(key, value)| {
        (KEYS.contains(&key.as_str()) || key.starts_with(PROMPT) || key.starts_with(COMPLETION))
            && is_something(value)
    }) || {
        let names = span.events.iter().map(|event| &event.name);
        let mut names = names.chain(trace.logs[index].iter().map(|log| &log.event_name));
        names.any(|name| EVENT_NAMES.contains(&name.as_str()))
    }
}

/// The operation that a span records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A model call.
    Inference,
    /// A run of an agent.
    Agent,
    /// A run of a workflow of agents.
    Workflow,
    /// A tool call.
    Tool,
    /// Anything else; it has no influence on the spans below it.
    #[default]
    Plain,
}

impl Kind {
    /// Returns true for an agent and a workflow.
    #[must_use]
    pub fn is_agentic(self) -> bool {
        matches!(self, Self::Agent | Self::Workflow)
    }
}

/// The kind of a span, and the name of the convention that defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::conversation) struct Classified {
    pub(in crate::conversation) kind: Kind,
    /// Empty if none defines it.
    pub(in crate::conversation) by: &'static str,
}

/// The kinds of the spans of a trace, while they are classified.
#[derive(Debug)]
pub struct Kinds {
    /// The convention that classifies.
    by: &'static str,
    kinds: Vec<Option<Classified>>,
}

impl Kinds {
    /// Returns the kind of a span; `None` if no convention has defined it yet.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Kind> {
        self.kinds.get(index).copied().flatten().map(|classified| classified.kind)
    }

    /// Defines the kind of a span.
    pub fn set(&mut self, index: usize, kind: Kind) {
        if let Some(classified) = self.kinds.get_mut(index) {
            *classified = Some(Classified { kind, by: self.by });
        }
    }

    /// Returns true if a span has a kind like this.
    pub fn any(&self, is: impl Fn(Kind) -> bool) -> bool {
        self.kinds.iter().flatten().any(|classified| is(classified.kind))
    }
}
