//! `GenAI` semantic conventions of OpenTelemetry: attributes of spans, the details event, and older names of both.

use std::borrow::Cow;

use super::{
    Content, Convention, Kind, SpanDraft,
    adk::{self, sums_up_tools},
    keys::{
        ALIASES, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS, DETAILS, FINISH_REASONS, INPUT_MESSAGES,
        INPUT_TOKENS, OPERATION, OUTPUT_MESSAGES, OUTPUT_TOKENS, REQUEST_MODEL, RESPONSE_ID,
        RESPONSE_MODEL, SYSTEM_INSTRUCTIONS, TOOL_DEFINITIONS,
    },
    kind::OPERATIONS,
    langfuse, langsmith, openinference, pydantic_ai, semantic_kernel,
    setup::Setup,
    traceloop, vercel_ai,
};
use crate::{
    json::{Object, Value, scalar_text},
    trace::{LogRecord, Span},
};

/// Attributes of the details event that fill those of the span.
const DETAIL_KEYS: [&str; 8] = [
    REQUEST_MODEL,
    RESPONSE_MODEL,
    RESPONSE_ID,
    FINISH_REASONS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
];

/// The variable of the conventions.
const CAPTURE: &str = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true";
/// The variable of the conventions, as OpenTelemetry's own instrumentations of Python read it.
const CAPTURE_IN_SPANS: &str = "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and \
                                OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY";

/// How libraries record content, by the start of their scope; the first one counts.
const SWITCHES: [(&str, &str); 18] = [
    ("autogen", "trace the client of the model as well, since AutoGen itself records none"),
    (semantic_kernel::SCOPE, semantic_kernel::SWITCH),
    ("agent_framework", "set ENABLE_SENSITIVE_DATA=true"),
    (adk::SCOPE, adk::SWITCH),
    // The integration `OpenTelemetry` of Vercel's AI SDK 7.
    (vercel_ai::SCOPE_7, vercel_ai::SWITCH_7),
    ("opentelemetry.util.genai", CAPTURE_IN_SPANS),
    ("opentelemetry.instrumentation.openai_v2", CAPTURE_IN_SPANS),
    ("opentelemetry.instrumentation.google_genai", CAPTURE_IN_SPANS),
    (
        "opentelemetry.instrumentation.openai_agents",
        "set TRACELOOP_TRACE_CONTENT=true, or, with opentelemetry-instrumentation-openai-agents-v2, \
         OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and \
         OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
    ),
    ("opentelemetry.instrumentation.vertexai", CAPTURE_IN_SPANS),
    ("opentelemetry.instrumentation.botocore", CAPTURE),
    ("Experimental.Microsoft.Extensions.AI", CAPTURE),
    // All others with this start are Traceloop's.
    ("opentelemetry.instrumentation.", traceloop::SWITCH),
    ("openinference.instrumentation.", openinference::SWITCH),
    ("pydantic-ai", pydantic_ai::SWITCH),
    ("langsmith", langsmith::SWITCH),
    ("langfuse", langfuse::SWITCH),
    ("litellm", "leave litellm.turn_off_message_logging off"),
];

/// The name of the convention.
pub(in crate::conversation) const NAME: &str = "genai";

/// The convention `genai`.
#[derive(Debug)]
pub(super) struct GenAi;

impl Convention for GenAi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        if sums_up_tools(span) {
            return Some(Kind::Plain);
        }
        let operation = span.attributes.get(OPERATION).filter(|operation| !operation.is_null());
        let operation = operation.and_then(scalar_text).filter(|text| !text.is_empty())?;
        let known = OPERATIONS.iter().find(|(name, _)| *name == operation);
        Some(known.map_or(Kind::Plain, |(_, kind)| *kind))
    }

    fn content(&self, span: &Span) -> Content {
        let content = Content::default();
        let own = SWITCHES.iter().find(|(scope, _)| span.scope.name.starts_with(scope));
        own.map_or(content, |(_, switch)| content.switched_by(switch))
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        draft.read_input(recorded.get(INPUT_MESSAGES), INPUT_MESSAGES);
        draft.read_output(recorded.get(OUTPUT_MESSAGES), OUTPUT_MESSAGES);
        for (alias, key) in ALIASES {
            match recorded.get(alias) {
                Some(reason @ Value::String(_)) if key == FINISH_REASONS => {
                    draft.fill(key, Cow::Owned(Value::Array(vec![reason.clone()])), alias);
                }
                Some(value) => draft.fill(key, Cow::Borrowed(value), alias),
                None => {}
            }
        }
        read_details(draft);
    }

    fn read_setup(&self, span: &Span, logs: &[&LogRecord], setup: &mut Setup) {
        for recorded in std::iter::once(&span.attributes).chain(details(span, logs)) {
            for (key, fill) in [
                (SYSTEM_INSTRUCTIONS, Setup::fill_instructions as fn(&mut Setup, _, _)),
                (TOOL_DEFINITIONS, Setup::fill_tools),
            ] {
                fill(setup, recorded.get(key), key);
            }
        }
        // Names only.
        setup.fill_tools(span.attributes.get(AGENT_TOOLS), AGENT_TOOLS);
    }
}

/// Names of the tools of an agent, as Strands records them.
const AGENT_TOOLS: &str = "gen_ai.agent.tools";

/// Returns the details events, those of the span before those of its log records.
fn details<'a>(span: &'a Span, logs: &[&'a LogRecord]) -> impl Iterator<Item = &'a Object> {
    let events = span.events.iter().map(|event| (event.name.as_str(), &event.attributes));
    let logs = logs.iter().map(|log| (log.event_name.as_str(), &log.attributes));
    events.chain(logs).filter(|(name, _)| *name == DETAILS).map(|(_, details)| details)
}

fn read_details(draft: &mut SpanDraft<'_>) {
    let logs = draft.logs.clone();
    for details in details(draft.span, &logs) {
        draft.read_input(details.get(INPUT_MESSAGES), DETAILS);
        draft.read_output(details.get(OUTPUT_MESSAGES), DETAILS);
        for key in DETAIL_KEYS {
            if let Some(value) = details.get(key) {
                draft.fill(key, Cow::Borrowed(value), DETAILS);
            }
        }
    }
}
