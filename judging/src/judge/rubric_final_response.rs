//! `rubric_based_final_response_quality_v1`: whether each answer fulfils rubrics.

use evaluator_traces::conversation::TurnPart;

use super::{
    Case, JudgedTurn, Refusal, Variables,
    material::{developer_instructions, grounding, response, steps, tool_declarations},
    prompt,
    rubrics::PerTurn,
};

/// The metric.
pub(super) const FINAL_RESPONSE: PerTurn = PerTurn {
    name: prompt::FINAL_RESPONSE,
    kind: "FINAL_RESPONSE_QUALITY",
    parts: &[TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls, TurnPart::Arguments],
    variables,
};

fn variables(case: &Case<'_>, turn: &JudgedTurn) -> Result<Variables, Refusal> {
    Ok(vec![
        ("developer_instructions", developer_instructions(turn).map_err(Refusal::Failed)?),
        ("tool_declarations", tool_declarations(turn.agents.as_deref())),
        ("user_input", turn.user_text().unwrap_or_else(|| "None".to_owned())),
        ("response_steps", steps(turn)),
        ("grounding_metadata", grounding(turn.steps.events())),
        ("final_response", response(turn, case.criterion.include_intermediate)),
    ])
}
