//! Semantic Kernel before it followed the `GenAI` semantic conventions: names of operations and attributes of agents.

use super::{Content, Convention, Kind, SpanDraft, keys::OPERATION};
use crate::{json::Value, trace::Span};

/// The start of its instrumentation scopes.
pub(super) const SCOPE: &str = "semantic_kernel";
const INPUT: &str = "gen_ai.agent.invocation_input";
const OUTPUT: &str = "gen_ai.agent.invocation_output";

/// The convention `semantic-kernel`.
#[derive(Debug)]
pub(super) struct SemanticKernel;

impl Convention for SemanticKernel {
    fn name(&self) -> &'static str {
        "semantic-kernel"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        if !span.scope.name.starts_with(SCOPE) {
            return None;
        }
        // With a dot, and with `streaming_` behind it for streams.
        let operation = span.attributes.get(OPERATION)?.as_str()?;
        let is_call = operation.ends_with("completions")
            && ["chat", "text"].iter().any(|start| operation.starts_with(start));
        is_call.then_some(Kind::Inference)
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if recorded.get(OUTPUT).and_then(Value::as_str).is_some() {
            draft.read_input(recorded.get(INPUT), INPUT);
            draft.read_output(recorded.get(OUTPUT), OUTPUT);
        }
    }

    fn content(&self, _span: &Span) -> Content {
        Content::default().switched_by(SWITCH)
    }
}

/// How content is switched on.
pub(super) const SWITCH: &str =
    "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true";
