//! The canonical attributes of a span, and its classification: model call, agent, tool.

use std::borrow::Cow;

use super::keys::{
    INPUT_MESSAGES, OPERATION, OUTPUT_MESSAGES, PROVIDER, REQUEST_MODEL, SYSTEM, TOOL_NAME,
};
use crate::{
    json::{Object, Value, parse_int, scalar_text},
    trace::Span,
};

/// Attributes under their canonical names: those the span recorded, and those found elsewhere where it recorded none.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    recorded: &'a Object,
    /// Filled attributes, which hide recorded ones. There are few, so a list is faster than a map.
    filled: Vec<(&'static str, Cow<'a, Value>)>,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(recorded: &'a Object) -> Self {
        Self { recorded, filled: Vec::new() }
    }

    /// Returns the value, which is never null.
    pub(crate) fn get(&self, key: &'static str) -> Option<&Value> {
        self.filled
            .iter()
            .find(|(filled, _)| *filled == key)
            .map(|(_, value)| value.as_ref())
            .or_else(|| self.recorded.get(key))
            .filter(|value| !value.is_null())
    }

    /// Returns true if a source may still fill this attribute: it is absent, null, `""` or `[]`.
    pub(super) fn is_missing(&self, key: &'static str) -> bool {
        self.get(key).is_none_or(Value::is_empty_like)
    }

    /// Fills an attribute that is missing. An empty text fills it, too, since it may be the arguments or the result of a tool,
    /// but later sources can replace it.
    pub(super) fn fill(&mut self, key: &'static str, value: Cow<'a, Value>) {
        let is_empty_text = value.as_str() == Some("");
        if (is_empty_text || !value.is_empty_like()) && self.is_missing(key) {
            self.filled.retain(|(filled, _)| *filled != key);
            self.filled.push((key, value));
        }
    }

    /// Removes an attribute.
    pub(super) fn remove(&mut self, key: &'static str) {
        self.filled.retain(|(filled, _)| *filled != key);
        self.filled.push((key, Cow::Owned(Value::Null)));
    }

    /// Returns the text of a string, a boolean or a number; `None` for structures.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key).and_then(scalar_text)
    }

    /// Returns [`Attributes::text`], unless it is empty.
    pub(crate) fn nonempty_text(&self, key: &'static str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// Returns an integer, a float without a fraction, or the text of an integer.
    ///
    /// # Errors
    ///
    /// The integer does not fit 64 bits.
    pub(crate) fn int(&self, key: &'static str) -> Result<Option<i64>, TooLarge> {
        let int = match self.get(key) {
            Some(int @ Value::Int(_)) => int.clone(),
            Some(big @ Value::BigInt(_)) => big.clone(),
            Some(Value::Float(float)) if float.fract() == 0.0 => {
                // Every float of this size is an integer, so its text has no fraction and no exponent.
                Value::from_digits(&format!("{float:.0}")).unwrap_or_default()
            }
            Some(Value::String(text)) => parse_int(text).unwrap_or_default(),
            _ => Value::Null,
        };
        match int {
            Value::Int(int) => Ok(Some(int)),
            Value::BigInt(_) => Err(TooLarge { key }),
            _ => Ok(None),
        }
    }
}

/// A count that does not fit 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge {
    /// The attribute.
    pub(crate) key: &'static str,
}

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
