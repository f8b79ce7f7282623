//! Classification of spans: model call, agent, tool.

use super::keys::{
    INPUT_MESSAGES, OPERATION, OUTPUT_MESSAGES, PROVIDER, REQUEST_MODEL, SYSTEM, TOOL_NAME,
};
use crate::{
    json::scalar_text,
    json::{Object, Value},
    trace::Span,
};

/// The instrumentation scope of Google's Agent Development Kit.
const ADK_SCOPE: &str = "gcp.vertex.agent";
/// The start of its attribute names.
const ADK_PREFIX: &str = "gcp.vertex.agent.";

/// The operation that a span records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A model call.
    Inference,
    /// A run of an agent.
    Agent,
    /// A run of a workflow of agents.
    Workflow,
    /// A tool call.
    Tool,
    /// Anything else; it has no influence on the spans below it.
    Plain,
}

impl Kind {
    /// Returns true for an agent and a workflow.
    pub(crate) fn is_agentic(self) -> bool {
        matches!(self, Self::Agent | Self::Workflow)
    }
}

/// The operation that a span records, and the convention that defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Classified {
    pub(crate) kind: Kind,
    /// Whether only attributes of `OpenInference` define it.
    pub(crate) by_openinference: bool,
}

/// Returns true for a span of Google's Agent Development Kit.
pub(super) fn is_adk(span: &Span) -> bool {
    span.scope.name == ADK_SCOPE || span.attributes.keys().any(|key| key.starts_with(ADK_PREFIX))
}

/// Returns the kind of a span by the `GenAI` conventions, from its own attributes alone; `None` if they do not define it.
pub(super) fn kind_of(span: &Span) -> Option<Kind> {
    if sums_up_tools(span) {
        return Some(Kind::Plain);
    }
    let named = span.attributes.get(OPERATION).and_then(scalar_text_of_attribute);
    if let Some(operation) = named.filter(|operation| !operation.is_empty()) {
        return Some(match operation.as_str() {
            "chat" | "generate_content" | "text_completion" => Kind::Inference,
            "invoke_agent" => Kind::Agent,
            "invoke_workflow" => Kind::Workflow,
            "execute_tool" => Kind::Tool,
            _ => Kind::Plain,
        });
    }
    Some(match span.name.as_str() {
        "call_llm" if is_adk(span) => Kind::Inference,
        "invocation" if is_adk(span) => Kind::Workflow,
        _ if records_a_call(&span.attributes) => Kind::Inference,
        _ => return None,
    })
}

fn scalar_text_of_attribute(value: &Value) -> Option<String> {
    if value.is_null() { None } else { scalar_text(value) }
}

/// The Agent Development Kit adds a span that repeats the results of tools called at the same time.
fn sums_up_tools(span: &Span) -> bool {
    span.name == "execute_tool (merged)"
        || span.attributes.get(TOOL_NAME).and_then(Value::as_str) == Some("(merged tools)")
}

/// Older producers name no operation. A span that names a model and a provider may just as well wrap the call, so it
/// must also carry something only the call knows.
fn records_a_call(attributes: &Object) -> bool {
    let says = |key| attributes.get(key).is_some_and(Value::is_truthy);
    says(REQUEST_MODEL)
        && (says(SYSTEM) || says(PROVIDER))
        && attributes.keys().any(|key| {
            ["gen_ai.usage.", "gen_ai.prompt.", "gen_ai.completion."]
                .iter()
                .any(|prefix| key.starts_with(prefix))
                || key == INPUT_MESSAGES
                || key == OUTPUT_MESSAGES
        })
}
