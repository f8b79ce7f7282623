//! The conventions that are known, and their precedence.

use std::sync::{Arc, LazyLock};

use super::{
    adk::AgentDevelopmentKit,
    crewai::CrewAi,
    draft::{SpanDraft, SpanView, Wanted},
    events::MessageEvents,
    genai::GenAi,
    kind::{Classified, Kinds},
    langfuse::Langfuse,
    langsmith::LangSmith,
    mastra::Mastra,
    model::{Content, Convention},
    openinference::OpenInference,
    pydantic_ai::{LogfireAgents, PydanticAi},
    semantic_kernel::SemanticKernel,
    traceloop::Traceloop,
    vercel_ai::VercelAi,
};
use crate::trace::{LogRecord, Span, Trace};

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
        let mut kinds = Kinds::of(trace.spans.len());
        for convention in self.iter() {
            kinds.by = convention.name();
            convention.classify(trace, &mut kinds);
        }
        kinds.finish()
    }

    /// Reads a span of this kind and the log records that belong to it.
    ///
    /// Parsing messages is most of the work, so only those that are `wanted` are read.
    pub(in crate::conversation) fn read<'a>(
        &self,
        span: &'a Span,
        kind: Classified,
        logs: Vec<&'a LogRecord>,
        wanted: Wanted,
    ) -> SpanView<'a> {
        let mut draft = SpanDraft::new(span, kind, logs, wanted);
        for convention in self.iter() {
            convention.read(&mut draft);
        }
        draft.finish()
    }
}
