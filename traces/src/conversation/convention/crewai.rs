//! `CrewAI`: the request to a crew is in the descriptions of its tasks.

use super::{Convention, Kind, Setup, SpanDraft};
use crate::{
    conversation::message::{Message, have_text, json_or_text},
    json::Value,
    trace::{LogRecord, Span},
};

/// Tasks of a crew, as `OpenInference` and as Traceloop record them.
const TASKS: [&str; 2] = ["crew_tasks", "crewai.crew.tasks"];
const RESULT: &str = "crewai.crew.result";

const TOOLS: &str = "crewai.agent.tools";

/// The convention `crewai`.
#[derive(Debug)]
pub(super) struct CrewAi;

impl Convention for CrewAi {
    fn name(&self) -> &'static str {
        "crewai"
    }

    fn kind(&self, _span: &Span) -> Option<Kind> {
        None
    }

    fn read_setup(&self, span: &Span, _logs: &[&LogRecord], setup: &mut Setup) {
        setup.fill_tools(span.attributes.get(TOOLS), TOOLS);
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        let tasks = TASKS.into_iter().find_map(|key| Some((key, recorded.get(key)?)));
        let Some((key, tasks)) = tasks else { return };
        if let Some(Value::String(result)) = recorded.get(RESULT) {
            draft.set_output(vec![Message::text("assistant", result)], RESULT);
        }
        if !draft.needs_input() {
            return;
        }
        let said: Vec<Message> = json_or_text(tasks)
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(|task| task.get("description").and_then(Value::as_str))
            .map(|description| Message::text("user", description))
            .collect();
        if have_text(&said) {
            draft.set_input(said, key);
        }
    }
}
