//! `rubric_based_tool_use_quality_v1`: whether the tool calls of each turn fulfil rubrics.

use evaluator_traces::conversation::TurnPart;

use super::{
    Case, JudgedTurn, Refusal, Variables,
    material::{steps, tool_declarations},
    prompt,
    rubrics::PerTurn,
};

/// The metric.
pub(super) const TOOL_USE: PerTurn = PerTurn {
    name: prompt::TOOL_USE,
    kind: "TOOL_USE_QUALITY",
    parts: &[TurnPart::User, TurnPart::ToolCalls, TurnPart::Arguments],
    variables,
};

#[expect(clippy::unnecessary_wraps, reason = "other metrics can fail here")]
fn variables(_: &Case<'_>, turn: &JudgedTurn) -> Result<Variables, Refusal> {
    Ok(vec![
        ("tool_declarations", tool_declarations(turn.agents.as_deref())),
        ("user_input", turn.user_text().unwrap_or_else(|| "None".to_owned())),
        ("tool_usage", steps(turn)),
    ])
}
