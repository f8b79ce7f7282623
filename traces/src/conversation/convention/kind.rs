//! What spans record: the kinds of operations.

/// The operations that are read, as `gen_ai.operation.name` has them.
pub(in crate::conversation) const OPERATIONS: [(&str, Kind); 6] = [
    ("invoke_agent", Kind::Agent),
    ("invoke_workflow", Kind::Workflow),
    ("chat", Kind::Inference),
    ("generate_content", Kind::Inference),
    ("text_completion", Kind::Inference),
    ("execute_tool", Kind::Tool),
];

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
    pub(super) by: &'static str,
    kinds: Vec<Option<Classified>>,
}

impl Kinds {
    /// Returns the kinds of as many spans, before they are classified.
    pub(super) fn of(spans: usize) -> Self {
        Self { by: "", kinds: vec![None; spans] }
    }

    pub(super) fn finish(self) -> Vec<Classified> {
        self.kinds.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Returns the kind of a span; `None` if no convention has defined it yet.
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
