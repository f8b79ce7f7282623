//! Observations of Langfuse: functions under `observe()`, and the client libraries that Langfuse wraps.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    keys::{INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_MODEL, TOOL_ARGUMENTS, TOOL_NAME, TOOL_RESULT},
    setup::Setup,
    values::{CutOff, history_of, said_by_agent, said_by_user, unwrap_call},
};
use crate::{
    conversation::message::{Message, json_or_text},
    conversation::recorded::parse_json,
    json::Value,
    trace::{LogRecord, Span},
};

const TYPE: &str = "langfuse.observation.type";
const INPUT: &str = "langfuse.observation.input";
const OUTPUT: &str = "langfuse.observation.output";
const MODEL: &str = "langfuse.observation.model.name";
const USAGE: &str = "langfuse.observation.usage_details";

/// Counts in the details of usage, in the spellings of providers.
const COUNTS: [(&str, &str); 6] = [
    ("input", INPUT_TOKENS),
    ("prompt_tokens", INPUT_TOKENS),
    ("input_tokens", INPUT_TOKENS),
    ("output", OUTPUT_TOKENS),
    ("completion_tokens", OUTPUT_TOKENS),
    ("output_tokens", OUTPUT_TOKENS),
];

/// How content is switched on.
pub(super) const SWITCH: &str = "leave capture_input and capture_output of observe() on";

/// The convention `langfuse`.
#[derive(Debug)]
pub(super) struct Langfuse;

impl Convention for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        match span.attributes.get(TYPE)?.as_str()? {
            "generation" => Some(Kind::Inference),
            "agent" => Some(Kind::Agent),
            "tool" => Some(Kind::Tool),
            _ => None,
        }
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if !recorded.contains_key(TYPE) {
            return;
        }
        let (input, output) = (recorded.get(INPUT), recorded.get(OUTPUT));
        match draft.kind {
            Kind::Inference => {
                read_generation(draft, input, output);
            }
            Kind::Tool => {
                let name = Value::String(draft.span.name.clone());
                draft.fill(TOOL_NAME, Cow::Owned(name), "the name of the span");
                if let Some(arguments) = input.map(json_or_text) {
                    draft.fill(TOOL_ARGUMENTS, Cow::Owned(unwrap_call(arguments)), INPUT);
                }
                if let Some(result) = output {
                    draft.fill(TOOL_RESULT, Cow::Borrowed(result), OUTPUT);
                }
            }
            Kind::Agent | Kind::Workflow | Kind::Plain => {
                if draft.needs_input() {
                    let said = said_by_user(input, None);
                    fill(draft, said, SpanDraft::set_input, INPUT);
                }
                if draft.needs_output() {
                    let said = said_by_agent(output, None);
                    fill(draft, said, SpanDraft::set_output, OUTPUT);
                }
            }
        }
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        let input = span.attributes.get(INPUT).filter(|_| span.attributes.contains_key(TYPE));
        let input = input.map(json_or_text);
        setup.fill_tools(input.as_ref().and_then(|input| input.get("tools")), INPUT);
    }

    fn content(&self, _span: &Span) -> Content {
        Content { arguments: INPUT, ..Content::default() }
            .in_attributes(INPUT, OUTPUT)
            .switched_by(SWITCH)
    }
}

/// Fills messages, or notes that they cannot be read.
fn fill<'a>(
    draft: &mut SpanDraft<'a>,
    said: Result<Vec<Message>, CutOff>,
    set: fn(&mut SpanDraft<'a>, Vec<Message>, &'static str),
    source: &'static str,
) {
    match said {
        Ok(messages) => set(draft, messages, source),
        Err(CutOff) => draft.fail(source, "is JSON that was cut off"),
    }
}

fn read_generation(draft: &mut SpanDraft<'_>, input: Option<&Value>, output: Option<&Value>) {
    let span = draft.span;
    if draft.needs_input() {
        fill(draft, history_of(input, "user"), SpanDraft::set_input, INPUT);
    }
    if draft.needs_output() {
        fill(draft, history_of(output, "assistant"), SpanDraft::set_output, OUTPUT);
    }
    if let Some(model) = span.attributes.get(MODEL) {
        draft.fill(REQUEST_MODEL, Cow::Borrowed(model), MODEL);
    }
    let usage = match span.attributes.get(USAGE) {
        Some(Value::String(text)) => parse_json(text),
        other => other.cloned(),
    };
    for (name, key) in COUNTS {
        if let Some(count) = usage.as_ref().and_then(|usage| usage.get(name)) {
            draft.fill(key, Cow::Owned(count.clone()), USAGE);
        }
    }
}
