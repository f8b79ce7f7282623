//! `CrewAI` under `OpenInference`: what a crew was asked is in the descriptions of its tasks.

use super::{Convention, Kind, SpanDraft};
use crate::{
    conversation::message::{Message, have_text, json_or_text},
    json::Value,
    trace::Span,
};

const TASKS: &str = "crew_tasks";

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

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let Some(tasks) = draft.span.attributes.get(TASKS).filter(|_| draft.needs_input()) else {
            return;
        };
        let said: Vec<Message> = json_or_text(tasks)
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(|task| task.get("description").and_then(Value::as_str))
            .map(|description| Message::text("user", description))
            .collect();
        if have_text(&said) {
            draft.set_input(said, TASKS);
        }
    }
}
