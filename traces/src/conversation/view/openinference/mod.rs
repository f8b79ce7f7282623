//! Attributes of `OpenInference`, the convention of Phoenix and the instrumentations that go with it.
//!
//! The names are those of its specification (`spec/semantic_conventions.md`, `spec/llm_spans.md` and
//! `spec/tool_calling.md` of `github.com/Arize-ai/openinference`), which demands `openinference.span.kind` of every
//! span; a span without it is not read as one. What its instrumentations write beyond the specification is noted where
//! it is read.

mod fields;
mod kinds;
mod messages;
mod said;
mod tool;

use std::borrow::Cow;

pub(in crate::conversation) use kinds::kinds_of;

use self::{
    messages::Side,
    said::{CutOff, said_by_agent, said_by_user},
};
use super::{
    Draft, Kind,
    keys::{
        AGENT_NAME, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, CONVERSATION_ID, FINISH_REASONS,
        INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_MODEL, RESPONSE_MODEL,
    },
};
use crate::{
    conversation::message::{Message, have_text},
    json::Value,
    trace::Span,
};

/// Attributes with one value, and what they fill; a later one only where an earlier one did not.
const FACTS: [(&str, &str); 9] = [
    ("llm.request.model_name", REQUEST_MODEL),
    ("llm.response.model_name", RESPONSE_MODEL),
    ("llm.token_count.prompt", INPUT_TOKENS),
    ("llm.token_count.completion", OUTPUT_TOKENS),
    ("llm.token_count.prompt_details.cache_read", CACHE_READ_TOKENS),
    // An older name of the same count.
    ("llm.token_count.prompt_details.cache_input", CACHE_READ_TOKENS),
    ("llm.token_count.prompt_details.cache_write", CACHE_WRITE_TOKENS),
    ("agent.name", AGENT_NAME),
    ("session.id", CONVERSATION_ID),
];

/// The model, asked for or answering: the specification leaves it open.
const MODEL: &str = "llm.model_name";
const FINISH_REASON: &str = "llm.finish_reason";

/// How instrumentations write what they were told to hide.
const WITHHELD: &str = "__REDACTED__";

/// The kind a span says it is of; `None` when it does not follow the convention.
fn span_kind(span: &Span) -> Option<&str> {
    span.attributes.get("openinference.span.kind").and_then(Value::as_str)
}

/// The value of an attribute, unless it was withheld.
fn recorded<'a>(span: &'a Span, key: &str) -> Option<&'a Value> {
    span.attributes.get(key).filter(|value| !is_withheld(value))
}

fn is_withheld(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some(WITHHELD)
}

impl Draft<'_> {
    /// Fills from what the convention records, if the span follows it.
    ///
    /// `decided` says that the span's kind comes from this convention. An agent that another convention has told of
    /// keeps what that says of its input and output, even if it is nothing.
    pub(super) fn apply_openinference(&mut self, kind: Kind, decided: bool) {
        let span = self.span;
        if span_kind(span).is_none() {
            return;
        }
        for (name, key) in FACTS {
            if let Some(value) = recorded(span, name) {
                self.attributes.fill(key, Cow::Borrowed(value));
            }
        }
        if let Some(model) = recorded(span, MODEL)
            && self.attributes.is_missing(RESPONSE_MODEL)
        {
            self.attributes.fill(REQUEST_MODEL, Cow::Borrowed(model));
        }
        if let Some(reason @ Value::String(_)) = recorded(span, FINISH_REASON) {
            let reasons = Value::Array(vec![reason.clone()]);
            self.attributes.fill(FINISH_REASONS, Cow::Owned(reasons));
        }
        match kind {
            Kind::Inference => {
                self.fill_messages(
                    &[messages_in, texts_in, value_in],
                    &[messages_out, texts_out, value_out],
                );
            }
            // Instrumentations copy the first message of a history into the indexed attributes of agents and chains, so
            // the whole value comes first.
            Kind::Agent | Kind::Workflow if decided => {
                self.fill_messages(&[value_in, messages_in], &[value_out, messages_out]);
            }
            Kind::Tool => self.apply_openinference_tool(),
            Kind::Agent | Kind::Workflow | Kind::Plain => {}
        }
    }

    fn fill_messages(&mut self, input: &[Source], output: &[Source]) {
        if self.needs_input() {
            self.input = self.first_of(input);
        }
        if self.needs_output() {
            self.output = self.first_of(output);
        }
    }

    /// The messages of the first source that has some or cannot be read.
    fn first_of(&mut self, sources: &[Source]) -> Vec<Message> {
        for source in sources {
            match source(self.span) {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return messages,
                Err(name) => {
                    self.fail(name, "is JSON that was cut off");
                    return Vec::new();
                }
            }
        }
        Vec::new()
    }
}

/// A place where messages may be. The error is the name of an attribute that was cut off.
type Source = fn(&Span) -> Result<Vec<Message>, &'static str>;

fn messages_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    messages::read(&span.attributes, Side::Input)
}

fn messages_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    messages::read(&span.attributes, Side::Output)
}

fn texts_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    messages::read_texts(&span.attributes, Side::Input)
}

fn texts_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    messages::read_texts(&span.attributes, Side::Output)
}

fn value_in(span: &Span) -> Result<Vec<Message>, &'static str> {
    let said = said_by_user(recorded(span, "input.value"), recorded(span, "input.mime_type"));
    let said = said.map_err(|CutOff| "input.value")?;
    Ok(if have_text(&said) { said } else { Vec::new() })
}

fn value_out(span: &Span) -> Result<Vec<Message>, &'static str> {
    let said = said_by_agent(recorded(span, "output.value"), recorded(span, "output.mime_type"));
    let said = said.map_err(|CutOff| "output.value")?;
    Ok(if have_text(&said) { said } else { Vec::new() })
}

#[cfg(test)]
mod tests;
