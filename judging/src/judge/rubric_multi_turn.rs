//! `rubric_based_multi_turn_trajectory_quality_v1`: whether a whole conversation fulfils rubrics.

use evaluator_json::{Value, object, to_pretty};
use evaluator_traces::conversation::TurnPart;

use super::{
    Asked, Case, Judge, Question, Refusal, Rubric, Scores, Tally, Vote,
    material::{agent_definitions, agent_instructions, dialogue},
    prompt::MULTI_TURN,
    rubrics::{effective, questions, read, score, tally},
};

/// Kind of the rubrics of turns that the metric uses.
const KIND: &str = "TRAJECTORY_QUALITY";

/// The metric. It asks one question, about the last turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct MultiTurn;

impl Judge for MultiTurn {
    fn name(&self) -> &str {
        MULTI_TURN
    }

    fn parts(&self) -> &[TurnPart] {
        &[TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls, TurnPart::Arguments]
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        case.golden_turns()?;
        case.check_samples()?;
        let Some(last) = case.actual.len().checked_sub(1) else { return Ok(Vec::new()) };
        questions(case, last, MULTI_TURN, &effective(case, &case.actual[last], KIND)?, |rubrics| {
            vec![
                ("user_agent_dialogue", dialogue(case.actual)),
                ("properties", properties(rubrics)),
                ("agent_instructions", agent_instructions(case.actual)),
                ("agent_tool_definitions", agent_definitions(case.actual)),
            ]
        })
    }

    fn read(&self, case: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        read(case, question, reply, KIND)
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        tally(case, planned, asked, KIND)
    }

    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores {
        let turns = case.actual.len();
        score(case, tally, values, turns.saturating_sub(1)..turns)
    }
}

/// Returns the rubrics as JSON.
fn properties(rubrics: &[&Rubric]) -> String {
    let optional = |text: &Option<String>| text.clone().map_or(Value::Null, Value::String);
    let rubrics = rubrics.iter().map(|rubric| {
        let mut members =
            vec![("id", rubric.id.as_str().into()), ("property", optional(&rubric.text))];
        if rubric.kind.is_some() {
            members.push(("type", optional(&rubric.kind)));
        }
        object(members)
    });
    to_pretty(&Value::Array(rubrics.collect()))
}
