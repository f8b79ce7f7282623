//! Mastra's exporter for OpenTelemetry: the `GenAI` conventions, with what was said to agents and workflows, and their
//! answers, in attributes of its own.

use super::{
    Content, Convention, Kind, SpanDraft,
    genai::GenAi,
    keys::FINISH_REASONS,
    values::{CutOff, said_by_agent, said_by_user},
};
use crate::{
    conversation::message::{Message, have_text},
    conversation::recorded::parse_json,
    json::Value,
    trace::Span,
};

const TYPE: &str = "mastra.span.type";
const AGENT_INPUT: &str = "mastra.agent_run.input";
const AGENT_OUTPUT: &str = "mastra.agent_run.output";
const WORKFLOW_INPUT: &str = "mastra.workflow_run.input";
const WORKFLOW_OUTPUT: &str = "mastra.workflow_run.output";

/// The convention `mastra`.
#[derive(Debug)]
pub(super) struct Mastra;

impl Convention for Mastra {
    fn name(&self) -> &'static str {
        "mastra"
    }

    fn kind(&self, span: &Span) -> Option<Kind> {
        span.attributes.contains_key(TYPE).then(|| GenAi.kind(span)).flatten()
    }

    fn read(&self, draft: &mut SpanDraft<'_>) {
        let recorded = &draft.span.attributes;
        if !recorded.contains_key(TYPE) {
            return;
        }
        // A list as JSON text.
        if let Some(Value::String(text)) = recorded.get(FINISH_REASONS)
            && let Some(reasons @ Value::Array(_)) = parse_json(text)
        {
            draft.attributes.replace(FINISH_REASONS, reasons, FINISH_REASONS);
        }
        let find = |keys: [&'static str; 2]| {
            keys.into_iter().find_map(|key| Some((key, recorded.get(key)?)))
        };
        if draft.needs_input()
            && let Some((key, value)) = find([AGENT_INPUT, WORKFLOW_INPUT])
        {
            fill(draft, key, said_by_user(Some(value), None), SpanDraft::set_input);
        }
        if draft.needs_output()
            && let Some((key, value)) = find([AGENT_OUTPUT, WORKFLOW_OUTPUT])
        {
            fill(draft, key, said_by_agent(Some(value), None), SpanDraft::set_output);
        }
    }

    fn content(&self, _span: &Span) -> Content {
        Content::default()
            .in_attributes(AGENT_INPUT, AGENT_OUTPUT)
            .switched_by("leave hideInput and hideOutput of tracingOptions off")
    }
}

/// Fills messages with text, or notes that they cannot be read.
fn fill<'a>(
    draft: &mut SpanDraft<'a>,
    source: &'static str,
    said: Result<Vec<Message>, CutOff>,
    set: fn(&mut SpanDraft<'a>, Vec<Message>, &'static str),
) {
    match said {
        Ok(messages) if have_text(&messages) => set(draft, messages, source),
        Ok(_) => {}
        Err(CutOff) => draft.fail(source, "is JSON that was cut off"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::conversation::{GroupBy, Turn, TurnPart, extract, testing::Recording};

    fn turn(recording: Recording) -> Turn {
        let mut conversation = extract(&[recording.trace()], GroupBy::Trace, false).remove(0);
        assert_eq!(conversation.turns.len(), 1);
        conversation.turns.remove(0)
    }

    fn said(turn: &Turn) -> (Option<&str>, Option<&str>) {
        (turn.user_text.as_deref(), turn.final_text.as_deref())
    }

    #[test]
    fn what_is_said_to_an_agent_or_workflow_is_in_attributes_of_its_own() {
        let messages = json!([{"role": "user", "content": "Oslo?"}]).to_string();
        let answer = json!({"text": "It is cold.", "files": []}).to_string();
        for (operation, kind, input) in [
            ("invoke_agent", "agent_run", messages.as_str()),
            ("invoke_agent", "agent_run", "Oslo?"),
            ("invoke_workflow", "workflow_run", r#"{"question": "Oslo?"}"#),
        ] {
            let mut run = json!({"gen_ai.operation.name": operation, "mastra.span.type": kind});
            run[format!("mastra.{kind}.input")] = input.into();
            run[format!("mastra.{kind}.output")] = answer.clone().into();
            let recording = Recording::default().span((1, 0), "run", (0, 90), run);
            assert_eq!(said(&turn(recording)), (Some("Oslo?"), Some("It is cold.")));
        }
    }

    #[test]
    fn an_agent_that_was_stopped_gave_no_answer() {
        let run = json!({
            "gen_ai.operation.name": "invoke_agent", "mastra.span.type": "agent_run",
            "mastra.agent_run.input": "Oslo?",
            "mastra.agent_run.output": r#"{"tripwire": {"reason": "rude", "processorId": "p"}}"#,
        });
        let recording = Recording::default().span((1, 0), "run", (0, 90), run);
        assert_eq!(said(&turn(recording)), (Some("Oslo?"), None));
    }

    #[test]
    fn hidden_content_names_the_option_and_finish_reasons_are_json_text() {
        let run = json!({"gen_ai.operation.name": "invoke_agent", "mastra.span.type": "agent_run"});
        let call = json!({
            "gen_ai.operation.name": "chat", "mastra.span.type": "model_inference",
            "gen_ai.response.finish_reasons": r#"["tool-calls"]"#,
        });
        let recording = Recording::default().span((1, 0), "run", (0, 90), run).span(
            (2, 1),
            "chat",
            (1, 9),
            call,
        );
        let turn = turn(recording);
        let unknown = |part| turn.unrecorded(part).expect("unknown");
        assert_eq!(unknown(TurnPart::User).attribute, "mastra.agent_run.input");
        assert!(unknown(TurnPart::ToolCalls).switch.is_some_and(|it| it.contains("hideOutput")));
    }

    #[test]
    fn json_that_was_cut_off_is_an_error() {
        let run = json!({
            "gen_ai.operation.name": "invoke_agent", "mastra.span.type": "agent_run",
            "mastra.agent_run.input": r#"[{"role": "us"#,
        });
        let trace = Recording::default().span((1, 0), "run", (0, 90), run).trace();
        let errors = extract(&[trace], GroupBy::Trace, false).remove(0).errors;
        assert!(errors.len() == 1 && errors[0].contains("mastra.agent_run.input"), "{errors:?}");
    }
}
