//! Spans of `LangSmith`'s client: inputs and outputs of `LangChain` as JSON text.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    keys::{TOOL_ARGUMENTS, TOOL_CALL_ID, TOOL_NAME, TOOL_RESULT},
    openinference::{unwrap_arguments, unwrap_result},
    values::{history_of, said_by_agent, said_by_user, steps_of_agent},
};
use crate::{
    conversation::message::json_or_text,
    json::{Value, parse_literal},
    trace::Span,
};

const KIND: &str = "langsmith.span.kind";
const INPUT: &str = "gen_ai.prompt";
const OUTPUT: &str = "gen_ai.completion";

/// How content is switched on.
pub(super) const SWITCH: &str = "unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS";

/// The convention `langsmith`.
#[derive(Debug)]
pub(super) struct LangSmith;

impl Convention for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        match span.attributes.get(KIND)?.as_str()? {
            "llm" => Some(Kind::Inference),
            "tool" => Some(Kind::Tool),
            _ => None,
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if !recorded.contains_key(KIND) {
            return;
        }
        let (input, output) = (recorded.get(INPUT), recorded.get(OUTPUT));
        match draft.kind {
            Kind::Inference => read_model(draft, input, output),
            Kind::Tool => read_tool(draft, input, output),
            Kind::Agent | Kind::Workflow | Kind::Plain => {
                if draft.needs_input() {
                    draft.set_input(said_by_user(input, None).unwrap_or_default(), INPUT);
                }
                if draft.needs_output() {
                    draft.set_output(said_by_agent(output, None).unwrap_or_default(), OUTPUT);
                }
                if draft.needs_steps() {
                    draft.set_steps(steps_of_agent(output, None), OUTPUT);
                }
            }
        }
    }

    fn content(&self, _span: &Span) -> Content {
        Content { arguments: INPUT, ..Content::default() }
            .in_attributes(INPUT, OUTPUT)
            .switched_by(SWITCH)
    }
}

/// Fills messages from the arguments and the generations of a model.
fn read_model(draft: &mut SpanDraft<'_>, input: Option<&Value>, output: Option<&Value>) {
    if draft.needs_input()
        && let Ok(messages) = history_of(input, "user")
    {
        draft.set_input(messages, INPUT);
    }
    if !draft.needs_output() {
        return;
    }
    let output = output.map(json_or_text);
    let first = |value: &Value, key| value.get(key)?.as_array()?.first().cloned();
    let generation = output.as_ref().and_then(|output| match first(output, "generations") {
        Some(Value::Array(batch)) => batch.into_iter().next(),
        Some(generation) => Some(generation),
        None => first(output, "choices"),
    });
    let message = generation.as_ref().and_then(|generation| generation.get("message"));
    if let Ok(messages) = history_of(message.or(output.as_ref()), "assistant") {
        draft.set_output(messages, OUTPUT);
    }
}

/// Fills what is known of a tool call: arguments in Python's notation, and the message that `LangChain` makes of the result.
fn read_tool(draft: &mut SpanDraft<'_>, input: Option<&Value>, output: Option<&Value>) {
    let name = Value::String(draft.span.name.clone());
    draft.fill(TOOL_NAME, Cow::Owned(name), "the name of the span");
    if let Some(input) = input.map(json_or_text) {
        // Older releases record the text that the tool was called with.
        let text = input.get("input").and_then(Value::as_str);
        let (arguments, id) = unwrap_arguments(text.and_then(parse_literal).unwrap_or(input));
        draft.fill(TOOL_ARGUMENTS, Cow::Owned(arguments), INPUT);
        id.into_iter().for_each(|id| draft.fill(TOOL_CALL_ID, Cow::Owned(id), INPUT));
    }
    if let Some(output) = output.map(json_or_text) {
        let (result, id) = unwrap_result(output.get("output").cloned().unwrap_or(output));
        draft.fill(TOOL_RESULT, Cow::Owned(result), OUTPUT);
        id.into_iter().for_each(|id| draft.fill(TOOL_CALL_ID, Cow::Owned(id), OUTPUT));
    }
}
