//! Turns and settings for tests of judges and graders.

use std::path::Path;

use evaluator_document::Fields;
use evaluator_json::Object;
use evaluator_metrics::{Outcome, Scored};
use evaluator_traces::conversation::{ToolCall, Turn};

/// Creates a turn with these tool calls.
pub(crate) fn turn(tool_calls: Vec<ToolCall>) -> Turn {
    Turn {
        trace_id: "t".into(),
        span_id: "s".to_owned(),
        root_anchored: true,
        tool_calls,
        ..Turn::default()
    }
}

/// Takes settings from a YAML mapping without problems.
pub(crate) fn configured<T>(yaml: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> T {
    evaluator_document::parse(yaml, Path::new("settings.yaml"), |root, problems| {
        let mut fields = root?.field("settings", problems).fields("the settings")?;
        let value = read(&mut fields);
        fields.finish();
        Some(value)
    })
    .unwrap()
}

pub(crate) fn scored(outcome: Outcome) -> Scored {
    match outcome {
        Outcome::Scored(scored) => scored,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn not_evaluated(outcome: Outcome) -> Object {
    match outcome {
        Outcome::NotEvaluated { details } => details,
        other => panic!("{other:?}"),
    }
}
